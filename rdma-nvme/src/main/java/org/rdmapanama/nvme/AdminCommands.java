package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.ControllerData;
import org.rdmapanama.nvme.wire.DiscoveryLog;
import org.rdmapanama.nvme.wire.Fields;
import org.rdmapanama.nvme.wire.NvmLimits;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.Property;

/**
 * Executes the commands of an Admin queue that need no data of the host (Base 2.0, 5). The queue asks first how much data a
 * command returns, and then for the data.
 */
final class AdminCommands {
    /** Features. */
    private static final int VOLATILE_WRITE_CACHE = 0x06;

    private static final int NUMBER_OF_QUEUES = 0x07;
    private static final int ASYNC_EVENTS = 0x0b;
    private static final int KEEP_ALIVE_TIMER = 0x0f;

    private static final int ERROR_LOG = 0x01;
    private static final int HEALTH_LOG = 0x02;
    private static final int FIRMWARE_LOG = 0x03;
    static final int CHANGED_NAMESPACES_LOG = 0x04;

    /** Get Log Page: the event of the page is not over with this. */
    private static final int RETAIN_EVENT = 1 << 15;

    private static final int EFFECTS_LOG = 0x05;

    private static final int IDENTIFY_BYTES = ControllerData.BYTES;

    private final NvmeTarget target;
    private final NvmeTargetOptions options;
    private final InetSocketAddress local;

    private int eventConfiguration;

    /** The result of the last command. */
    private long result;

    AdminCommands(NvmeTarget target, InetSocketAddress local) {
        this.target = target;
        this.options = target.options();
        this.local = local;
    }

    /** Whether the host wants to know of changes of namespaces. */
    boolean reportsNamespaces() {
        return (eventConfiguration & IdentifyPages.NAMESPACE_EVENTS) != 0;
    }

    long result() {
        return result;
    }

    /** Returns how many bytes a command returns, at most 2^34; 0 for none. */
    static long returned(MemorySegment entry) {
        return switch (Command.opcode(entry)) {
            case Opcode.IDENTIFY -> IDENTIFY_BYTES;
            case Opcode.GET_LOG_PAGE -> 4 * (dwords(entry) + 1);
            default -> 0;
        };
    }

    private static long dwords(MemorySegment entry) {
        return Command.dword(entry, 10) >>> 16 | (Command.dword(entry, 11) & 0xffffL) << 16;
    }

    /** Executes a command of Fabrics. */
    NvmeStatus fabrics(TargetController controller, MemorySegment entry) {
        result = 0;
        int offset = Command.propertyOffset(entry);
        boolean eightBytes = Command.propertySize(entry) == 1;
        switch (Command.fabricsType(entry)) {
            case Opcode.PROPERTY_GET -> {
                if (eightBytes) {
                    if (offset != Property.CAP) {
                        return NvmeStatus.INVALID_FIELD;
                    }
                    result = Property.capabilities(options.queueSize(), 7500);
                    return NvmeStatus.SUCCESS;
                }
                switch (offset) {
                    case Property.VS -> result = IdentifyPages.VERSION;
                    case Property.CC -> result = Integer.toUnsignedLong(controller.configuration());
                    case Property.CSTS -> result = Integer.toUnsignedLong(controller.status());
                    default -> {
                        return NvmeStatus.INVALID_FIELD;
                    }
                }
                return NvmeStatus.SUCCESS;
            }
            case Opcode.PROPERTY_SET -> {
                if (eightBytes || offset != Property.CC) {
                    return NvmeStatus.INVALID_FIELD;
                }
                controller.configure((int) Command.propertyValue(entry));
                return NvmeStatus.SUCCESS;
            }
            default -> {
                return NvmeStatus.INVALID_OPCODE;
            }
        }
    }

    /**
     * Executes a command.
     *
     * @param data where what it returns goes, as long as {@link #returned} says, filled with zeros; null if it returns nothing
     */
    NvmeStatus execute(TargetController controller, MemorySegment entry, @Nullable MemorySegment data) {
        result = 0;
        return switch (Command.opcode(entry)) {
            case Opcode.IDENTIFY -> identify(controller, entry, Objects.requireNonNull(data));
            case Opcode.GET_LOG_PAGE -> log(controller, entry, Objects.requireNonNull(data));
            case Opcode.KEEP_ALIVE -> NvmeStatus.SUCCESS;
            case Opcode.SET_FEATURES -> setFeature(controller, entry);
            case Opcode.GET_FEATURES -> getFeature(controller, entry);
            default -> NvmeStatus.INVALID_OPCODE;
        };
    }

    private NvmeStatus identify(TargetController controller, MemorySegment entry, MemorySegment data) {
        int what = Command.dword(entry, 10) & 0xff;
        int id = Command.namespace(entry);
        if (what == 1) {
            IdentifyPages.controller(data, options, controller);
            return NvmeStatus.SUCCESS;
        }
        if (controller.isDiscovery()) {
            return NvmeStatus.INVALID_FIELD;
        }
        switch (what) {
            case 0, 3 -> {
                NvmeTargetOptions.Served namespace = target.namespaces().get(id);
                if (namespace == null) {
                    // One that could be there, and is not, is all zeros.
                    boolean isValid = what == 0 && id > 0 && id <= NvmeTargetOptions.MAX_NAMESPACES;
                    return isValid ? NvmeStatus.SUCCESS : NvmeStatus.INVALID_NAMESPACE;
                }
                if (what == 0) {
                    IdentifyPages.namespace(data, namespace, options.subsystem());
                } else {
                    IdentifyPages.descriptors(data, namespace, options.subsystem());
                }
                return NvmeStatus.SUCCESS;
            }
            case 2 -> {
                if (Integer.compareUnsigned(id, 0xffff_fffe) >= 0) {
                    return NvmeStatus.INVALID_NAMESPACE;
                }
                IdentifyPages.activeNamespaces(data, target.namespaces().keySet(), id);
                return NvmeStatus.SUCCESS;
            }
            case 5, 6 -> {
                // What the NVM command set adds, of a namespace or a controller. Zeros mean no limit.
                if (Command.dword(entry, 11) >>> 24 != 0) {
                    return NvmeStatus.INVALID_FIELD;
                }
                if (what == 6) {
                    NvmLimits.write(data, options.maxWriteZeroes(), IdentifyPages.PAGE);
                }
                return NvmeStatus.SUCCESS;
            }
            default -> {
                return NvmeStatus.INVALID_FIELD;
            }
        }
    }

    private NvmeStatus log(TargetController controller, MemorySegment entry, MemorySegment data) {
        int page = Command.dword(entry, 10) & 0xff;
        long offset = Integer.toUnsignedLong(Command.dword(entry, 12)) | (long) Command.dword(entry, 13) << 32;
        byte[] bytes;
        if (controller.isDiscovery()) {
            if (page != DiscoveryLog.PAGE) {
                return NvmeStatus.INVALID_LOG_PAGE;
            }
            bytes = new byte[DiscoveryLog.HEADER_BYTES + 2 * DiscoveryLog.ENTRY_BYTES];
            target.discoveryLog(MemorySegment.ofArray(bytes), local);
        } else {
            switch (page) {
                case ERROR_LOG -> bytes = new byte[64];
                case HEALTH_LOG, FIRMWARE_LOG -> bytes = new byte[512];
                case CHANGED_NAMESPACES_LOG -> {
                    int size = TargetController.CHANGES_BYTES;
                    if (offset < 0 || offset > size || (offset & 3) != 0) {
                        return NvmeStatus.INVALID_FIELD;
                    }
                    boolean isEnd = data.byteSize() >= size - offset;
                    bytes = controller.changes(isEnd, (Command.dword(entry, 10) & RETAIN_EVENT) == 0);
                }
                case EFFECTS_LOG -> bytes = effects();
                default -> {
                    return NvmeStatus.INVALID_LOG_PAGE;
                }
            }
        }
        if (offset < 0 || offset > bytes.length || (offset & 3) != 0) {
            return NvmeStatus.INVALID_FIELD;
        }
        // What is asked for beyond the end stays zero.
        long count = Math.min(data.byteSize(), bytes.length - offset);
        MemorySegment.copy(MemorySegment.ofArray(bytes), offset, data, 0, count);
        return NvmeStatus.SUCCESS;
    }

    /** Which commands there are, and that only writes change data (Base 2.0, figure 210). */
    private static byte[] effects() {
        byte[] bytes = new byte[4096];
        MemorySegment log = MemorySegment.ofArray(bytes);
        int[] admin = {
            Opcode.GET_LOG_PAGE,
            Opcode.IDENTIFY,
            Opcode.ABORT,
            Opcode.SET_FEATURES,
            Opcode.GET_FEATURES,
            Opcode.ASYNC_EVENT_REQUEST,
            Opcode.KEEP_ALIVE
        };
        for (int opcode : admin) {
            Fields.set32(log, 4L * opcode, 1);
        }
        long io = 1024;
        Fields.set32(log, io + 4L * Opcode.READ, 1);
        Fields.set32(log, io + 4L * Opcode.FLUSH, 1);
        Fields.set32(log, io + 4L * Opcode.COMPARE, 1);
        for (int opcode : new int[] {Opcode.WRITE, Opcode.WRITE_ZEROES, Opcode.DATASET_MANAGEMENT}) {
            Fields.set32(log, io + 4L * opcode, 1 | 1 << 1);
        }
        return bytes;
    }

    private NvmeStatus setFeature(TargetController controller, MemorySegment entry) {
        int feature = Command.dword(entry, 10);
        int value = Command.dword(entry, 11);
        if (feature < 0) {
            // Bit 31 asks to save it.
            return NvmeStatus.INVALID_FIELD;
        }
        switch (feature & 0xff) {
            case NUMBER_OF_QUEUES -> {
                if (controller.isDiscovery() || (value & 0xffff) == 0xffff || value >>> 16 == 0xffff) {
                    return NvmeStatus.INVALID_FIELD;
                }
                result = queues(controller);
                return NvmeStatus.SUCCESS;
            }
            case ASYNC_EVENTS -> {
                eventConfiguration = value;
                return NvmeStatus.SUCCESS;
            }
            case KEEP_ALIVE_TIMER -> {
                controller.keepAlive(value);
                return NvmeStatus.SUCCESS;
            }
            default -> {
                return NvmeStatus.INVALID_FIELD;
            }
        }
    }

    /** As many submission as completion queues, both less one. */
    private static long queues(TargetController controller) {
        long last = controller.ioQueues() - 1L;
        return last | last << 16;
    }

    private NvmeStatus getFeature(TargetController controller, MemorySegment entry) {
        switch (Command.dword(entry, 10) & 0xff) {
            case VOLATILE_WRITE_CACHE -> result = 1;
            case NUMBER_OF_QUEUES -> result = controller.isDiscovery() ? 0 : queues(controller);
            case ASYNC_EVENTS -> result = Integer.toUnsignedLong(eventConfiguration);
            case KEEP_ALIVE_TIMER -> result = Integer.toUnsignedLong(controller.keepAliveMillis());
            default -> {
                return NvmeStatus.INVALID_FIELD;
            }
        }
        return NvmeStatus.SUCCESS;
    }
}
