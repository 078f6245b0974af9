package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.wire.Memory;

/** A request for the queue pair that takes the datagrams of a service. (Section 12.11.1.) */
public final class SidrReq {
    public static final int PRIVATE_BYTES = 216;

    /** Where the bytes of who asks are. */
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
