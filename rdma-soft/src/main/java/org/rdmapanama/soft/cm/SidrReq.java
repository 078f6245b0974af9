package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.memory.Memory;

/** The SIDR_REQ datagram, which asks for the queue pair of a datagram service. (Section 12.11.1.) */
public final class SidrReq {
    public static final int PRIVATE_BYTES = 216;

    /** The offset of the private data. */
    public static final int PRIVATE = 40;

    private static final int PKEY = 28;
    private static final int SERVICE = 32;

    private SidrReq() {}

    public static void write(long mad, long transaction, int requestId, long service) {
        Mad.begin(mad, Mad.SIDR_REQ, transaction, requestId, 0);
        Memory.putNetShort(mad + PKEY, (short) 0xffff);
        Memory.putNetLong(mad + SERVICE, service);
    }

    public static long service(long mad) {
        return Memory.getNetLong(mad + SERVICE);
    }
}
