package org.rdmapanama.nvme.wire;

/** The properties of a controller: what are registers of a PCI Express device (Base 2.0, 3.1.3). */
public final class Property {
    /** Capabilities, eight bytes. */
    public static final int CAP = 0x00;

    /** Version. */
    public static final int VS = 0x08;

    /** Configuration. */
    public static final int CC = 0x14;

    /** Status. */
    public static final int CSTS = 0x1c;

    /** CC: enable. */
    public static final int ENABLE = 1;

    /** CC: entries of 64 and of 16 bytes, as powers of two. */
    public static final int ENTRY_SIZES = 6 << 16 | 4 << 20;

    /** CC: a normal shutdown, in bits 15:14. */
    public static final int SHUTDOWN = 1 << 14;

    public static final int SHUTDOWN_MASK = 3 << 14;

    /** CSTS: ready, and a fatal error. */
    public static final int READY = 1;

    public static final int FATAL = 2;

    /** CSTS: the shutdown is complete, in bits 3:2. */
    public static final int SHUTDOWN_COMPLETE = 2 << 2;

    public static final int SHUTDOWN_STATUS_MASK = 3 << 2;

    private Property() {}

    /** The most entries that a queue may have, 2 to 65536: CAP.MQES is that less one. */
    public static int maxEntries(long capabilities) {
        return (int) (capabilities & 0xffff) + 1;
    }

    /** How long enabling may take, in milliseconds: CAP.TO is in units of 500 ms. */
    public static int timeoutMillis(long capabilities) {
        return (int) (capabilities >>> 24 & 0xff) * 500;
    }

    /** The smallest memory page in bytes, the unit of the maximum data transfer size: CAP.MPSMIN. */
    public static int minPage(long capabilities) {
        return 1 << (12 + (int) (capabilities >>> 48 & 0xf));
    }

    /** Whether the NVM command set is there: bit 0 of CAP.CSS. */
    public static boolean hasNvm(long capabilities) {
        return (capabilities & 1L << 37) != 0;
    }

    /** The capabilities of a controller with the NVM command set and contiguous queues. */
    public static long capabilities(int maxEntries, int timeoutMillis) {
        return maxEntries - 1 | 1L << 16 | (long) (timeoutMillis / 500) << 24 | 1L << 37;
    }
}
