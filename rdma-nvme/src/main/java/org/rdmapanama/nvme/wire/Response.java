package org.rdmapanama.nvme.wire;

import java.lang.foreign.MemorySegment;

/** A completion queue entry of 16 bytes, which is a response capsule (Base 2.0, 3.3.3.2). */
public final class Response {
    public static final int BYTES = 16;

    private Response() {}

    /**
     * Writes a response.
     *
     * @param status the status with its phase bit 0: code in bits 8:1, type in bits 11:9, do not retry in bit 15
     */
    public static void write(MemorySegment entry, long result, int head, int queue, int id, int status) {
        Fields.set64(entry, 0, result);
        Fields.set16(entry, 8, head);
        Fields.set16(entry, 10, queue);
        Fields.set16(entry, 12, id);
        Fields.set16(entry, 14, status);
    }

    public static long result(MemorySegment entry) {
        return Fields.get64(entry, 0);
    }

    /** How far the controller has taken entries of the submission queue. */
    public static int head(MemorySegment entry) {
        return Fields.get16(entry, 8);
    }

    public static int queue(MemorySegment entry) {
        return Fields.get16(entry, 10);
    }

    public static int id(MemorySegment entry) {
        return Fields.get16(entry, 12);
    }

    public static int status(MemorySegment entry) {
        return Fields.get16(entry, 14);
    }
}
