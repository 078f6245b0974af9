package org.rdmapanama.nvme.wire;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The data of the Connect command: who connects to what (Fabrics 1.1, figure 20). */
public final class ConnectData {
    public static final int BYTES = 1024;

    /** Asks for any controller, which is the only kind that this target has. */
    public static final int ANY_CONTROLLER = 0xffff;

    private static final int SUBSYSTEM = 256;
    private static final int HOST = 512;

    private ConnectData() {}

    /** Writes all fields; the id of the host has 16 bytes. */
    public static void write(MemorySegment data, byte[] hostId, int controller, String subsystemName, String hostName) {
        data.asSlice(0, BYTES).fill((byte) 0);
        MemorySegment.copy(hostId, 0, data, ValueLayout.JAVA_BYTE, 0, 16);
        Fields.set16(data, 16, controller);
        Fields.text(data, SUBSYSTEM, Fields.NAME_BYTES, subsystemName, '\0');
        Fields.text(data, HOST, Fields.NAME_BYTES, hostName, '\0');
    }

    public static byte[] hostId(MemorySegment data) {
        return Fields.bytes(data, 0, 16);
    }

    public static int controller(MemorySegment data) {
        return Fields.get16(data, 16);
    }

    public static String subsystemName(MemorySegment data) {
        return Fields.text(data, SUBSYSTEM, Fields.NAME_BYTES);
    }

    public static String hostName(MemorySegment data) {
        return Fields.text(data, HOST, Fields.NAME_BYTES);
    }
}
