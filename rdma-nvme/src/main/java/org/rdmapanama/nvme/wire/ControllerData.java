package org.rdmapanama.nvme.wire;

import java.lang.foreign.MemorySegment;

/** Identify Controller, 4096 bytes (Base 2.0, figure 275): offsets of the fields that this library reads or writes. */
public final class ControllerData {
    public static final int BYTES = 4096;

    public static final int SERIAL = 4;
    public static final int SERIAL_BYTES = 20;
    public static final int MODEL = 24;
    public static final int MODEL_BYTES = 40;
    public static final int FIRMWARE = 64;
    public static final int FIRMWARE_BYTES = 8;
    public static final int CMIC = 76;
    public static final int MDTS = 77;
    public static final int CNTLID = 78;
    public static final int VER = 80;
    public static final int OAES = 92;
    public static final int CTRATT = 96;
    public static final int CNTRLTYPE = 111;
    public static final int ACL = 258;
    public static final int AERL = 259;
    public static final int FRMW = 260;
    public static final int LPA = 261;
    public static final int KAS = 320;
    public static final int SQES = 512;
    public static final int CQES = 513;
    public static final int MAXCMD = 514;
    public static final int NN = 516;
    public static final int ONCS = 520;
    public static final int VWC = 525;
    public static final int SGLS = 536;
    public static final int MNAN = 540;
    public static final int SUBNQN = 768;
    public static final int IOCCSZ = 1792;
    public static final int IORCSZ = 1796;
    public static final int ICDOFF = 1800;
    public static final int MSDBD = 1803;
    public static final int OFCS = 1804;
    public static final int POWER_STATE_0 = 2048;

    /** ONCS: which optional commands there are. */
    public static final int HAS_COMPARE = 1;

    public static final int HAS_DATASET_MANAGEMENT = 1 << 2;
    public static final int HAS_WRITE_ZEROES = 1 << 3;

    /** SGLS: SGLs, keyed descriptors, and data at an offset of the capsule. */
    public static final int HAS_SGLS = 1;

    public static final int HAS_KEYED_SGLS = 1 << 2;
    public static final int HAS_CAPSULE_OFFSETS = 1 << 20;

    /** OFCS: the Disconnect command. */
    public static final int HAS_DISCONNECT = 1;

    /** The unit of IOCCSZ and IORCSZ in bytes. */
    public static final int CAPSULE_UNIT = 16;

    private ControllerData() {}

    public static String serial(MemorySegment data) {
        return Fields.text(data, SERIAL, SERIAL_BYTES);
    }

    public static String model(MemorySegment data) {
        return Fields.text(data, MODEL, MODEL_BYTES);
    }

    public static String firmware(MemorySegment data) {
        return Fields.text(data, FIRMWARE, FIRMWARE_BYTES);
    }

    /** Returns how many Aborts may be under way: ACL is one less. */
    public static int abortLimit(MemorySegment data) {
        return Fields.get8(data, ACL) + 1;
    }

    /**
     * Returns how many bytes one command may transfer: MDTS is a power of two, in units of the smallest page.
     *
     * @return at most what a keyed descriptor can say, rounded down to whole pages
     */
    public static int maxTransfer(MemorySegment data, int minPage) {
        int most = Command.MAX_KEYED_LENGTH / minPage * minPage;
        int exponent = Fields.get8(data, MDTS);
        return exponent == 0 || exponent > 24 ? most : (int) Math.min((long) minPage << exponent, most);
    }
}
