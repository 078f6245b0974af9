package org.rdmapanama.nvme.wire;

import java.lang.foreign.MemorySegment;

/** The list of Namespace Identification Descriptors, 4096 bytes (Base 2.0, figure 277). */
public final class NamespaceIdentifiers {
    public static final int BYTES = 4096;

    private static final int NGUID = 2;
    private static final int UUID = 3;
    private static final int HEADER = 4;
    private static final int LENGTH = 16;

    private NamespaceIdentifiers() {}

    /** Writes a list with an NGUID of 16 bytes; the memory must be zero. */
    public static void writeGuid(MemorySegment data, byte[] guid) {
        Fields.set8(data, 0, NGUID);
        Fields.set8(data, 1, LENGTH);
        for (int i = 0; i < LENGTH; i++) {
            Fields.set8(data, HEADER + i, guid[i]);
        }
    }

    /** Returns the 16 bytes of the UUID in the list; zeros if there is none. */
    public static byte[] uuid(MemorySegment data) {
        long at = 0;
        while (at + HEADER <= data.byteSize()) {
            int length = Fields.get8(data, at + 1);
            if (length == 0 || at + HEADER + length > data.byteSize()) {
                break;
            }
            if (Fields.get8(data, at) == UUID && length == LENGTH) {
                return Fields.bytes(data, at + HEADER, LENGTH);
            }
            at += HEADER + length;
        }
        return new byte[LENGTH];
    }
}
