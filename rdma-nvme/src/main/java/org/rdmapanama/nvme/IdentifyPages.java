package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.UUID;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.ControllerData;
import org.rdmapanama.nvme.wire.DiscoveryLog;
import org.rdmapanama.nvme.wire.Fields;
import org.rdmapanama.nvme.wire.NamespaceData;
import org.rdmapanama.nvme.wire.NamespaceIdentifiers;
import org.rdmapanama.nvme.wire.Response;

/** Writes the data that a target returns for Identify. The memory must be zero. */
final class IdentifyPages {
    /** Version 1.4.0, whose fields the target fills. */
    static final int VERSION = 1 << 16 | 4 << 8;

    /** The smallest page, the unit of the largest transfer. */
    static final int PAGE = 4096;

    /** How many requests for events there may be, less one. */
    static final int EVENT_REQUESTS = 3;

    /** How many Aborts there may be, less one. */
    static final int ABORTS = 3;

    /** The bit of OAES, and of the feature for events, for changes of namespaces. */
    static final int NAMESPACE_EVENTS = 1 << 8;

    /** Keep-alive is counted in units of 100 ms. */
    private static final int KEEP_ALIVE_UNITS = 1;

    private IdentifyPages() {}

    static void controller(MemorySegment data, NvmeTargetOptions options, TargetController controller) {
        Fields.text(data, ControllerData.SERIAL, ControllerData.SERIAL_BYTES, options.serial(), ' ');
        Fields.text(data, ControllerData.MODEL, ControllerData.MODEL_BYTES, "rdma-panama", ' ');
        Fields.text(data, ControllerData.FIRMWARE, ControllerData.FIRMWARE_BYTES, "0.1", ' ');
        // Several controllers, for several hosts.
        Fields.set8(data, ControllerData.CMIC, 1 << 1);
        Fields.set8(data, ControllerData.MDTS, Integer.numberOfTrailingZeros(options.maxTransfer() / PAGE));
        Fields.set16(data, ControllerData.CNTLID, controller.id());
        Fields.set32(data, ControllerData.VER, VERSION);
        // A host id of 128 bits, and any command keeps the association alive.
        Fields.set32(data, ControllerData.CTRATT, 1 | 1 << 6);
        Fields.set8(data, ControllerData.CNTRLTYPE, controller.isDiscovery() ? 2 : 1);
        Fields.set8(data, ControllerData.ACL, ABORTS);
        Fields.set8(data, ControllerData.AERL, EVENT_REQUESTS);
        // One slot of firmware, which cannot be changed.
        Fields.set8(data, ControllerData.FRMW, 1 | 1 << 1);
        // There is a log of effects, and log pages may be read from an offset.
        Fields.set8(data, ControllerData.LPA, 1 << 1 | 1 << 2);
        Fields.set16(data, ControllerData.KAS, KEEP_ALIVE_UNITS);
        Fields.set16(data, ControllerData.MAXCMD, options.queueSize());
        Fields.set32(
                data,
                ControllerData.SGLS,
                ControllerData.HAS_SGLS
                        | ControllerData.HAS_KEYED_SGLS
                        | (options.inCapsuleData() > 0 ? ControllerData.HAS_CAPSULE_OFFSETS : 0));
        String name = controller.isDiscovery() ? DiscoveryLog.NAME : options.subsystem();
        Fields.text(data, ControllerData.SUBNQN, Fields.NAME_BYTES, name, '\0');
        Fields.set8(data, ControllerData.MSDBD, 1);
        if (!controller.isDiscovery()) {
            Fields.set8(data, ControllerData.SQES, 0x66);
            Fields.set8(data, ControllerData.CQES, 0x44);
            Fields.set32(data, ControllerData.OAES, NAMESPACE_EVENTS);
            Fields.set32(data, ControllerData.NN, NvmeTargetOptions.MAX_NAMESPACES);
            Fields.set32(data, ControllerData.MNAN, NvmeTargetOptions.MAX_NAMESPACES);
            Fields.set16(
                    data,
                    ControllerData.ONCS,
                    ControllerData.HAS_COMPARE
                            | ControllerData.HAS_DATASET_MANAGEMENT
                            | ControllerData.HAS_WRITE_ZEROES);
            // A volatile write cache: Flush is needed.
            Fields.set8(data, ControllerData.VWC, 1);
            int capsule = (Command.BYTES + options.inCapsuleData()) / ControllerData.CAPSULE_UNIT;
            Fields.set32(data, ControllerData.IOCCSZ, capsule);
            Fields.set32(data, ControllerData.IORCSZ, Response.BYTES / ControllerData.CAPSULE_UNIT);
            Fields.set16(data, ControllerData.OFCS, ControllerData.HAS_DISCONNECT);
            // 25 watts in the only power state, for hosts that look.
            Fields.set16(data, ControllerData.POWER_STATE_0, 2500);
        }
    }

    static void namespace(MemorySegment data, NvmeTargetOptions.Served namespace, String subsystem) {
        NamespaceData.write(data, namespace.blocks(), namespace.blockShift(), guid(namespace, subsystem));
    }

    /** The list of the ids above one, in ascending order. */
    static void activeNamespaces(MemorySegment data, Collection<Integer> ids, int above) {
        int at = 0;
        for (int id : ids) {
            if (Integer.compareUnsigned(id, above) > 0 && at < NamespaceData.BYTES) {
                Fields.set32(data, at, id);
                at += 4;
            }
        }
    }

    /** The descriptors of a namespace: its NGUID (Base 2.0, figure 277). */
    static void descriptors(MemorySegment data, NvmeTargetOptions.Served namespace, String subsystem) {
        NamespaceIdentifiers.writeGuid(data, guid(namespace, subsystem));
    }

    /** Made from the names, so that it stays when the target is started again. */
    private static byte[] guid(NvmeTargetOptions.Served namespace, String subsystem) {
        UUID uuid = UUID.nameUUIDFromBytes((subsystem + "/" + namespace.id()).getBytes(StandardCharsets.UTF_8));
        return ByteBuffer.allocate(16)
                .putLong(uuid.getMostSignificantBits())
                .putLong(uuid.getLeastSignificantBits())
                .array();
    }
}
