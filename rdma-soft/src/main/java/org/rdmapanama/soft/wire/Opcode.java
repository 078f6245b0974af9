package org.rdmapanama.soft.wire;

/**
 * The operation codes of packets, and what a packet of each consists of. (Section 9.2.1 of the InfiniBand Architecture
 * Specification, volume 1; for {@link #CNP} annex A17.9.3.) Any number from 0 to 255 may be asked about; none of the
 * predicates holds for one that is unknown.
 */
public final class Opcode {
    public static final int RC_SEND_FIRST = 0x00;
    public static final int RC_SEND_MIDDLE = 0x01;
    public static final int RC_SEND_LAST = 0x02;
    public static final int RC_SEND_LAST_WITH_IMMEDIATE = 0x03;
    public static final int RC_SEND_ONLY = 0x04;
    public static final int RC_SEND_ONLY_WITH_IMMEDIATE = 0x05;
    public static final int RC_RDMA_WRITE_FIRST = 0x06;
    public static final int RC_RDMA_WRITE_MIDDLE = 0x07;
    public static final int RC_RDMA_WRITE_LAST = 0x08;
    public static final int RC_RDMA_WRITE_LAST_WITH_IMMEDIATE = 0x09;
    public static final int RC_RDMA_WRITE_ONLY = 0x0A;
    public static final int RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE = 0x0B;
    public static final int RC_RDMA_READ_REQUEST = 0x0C;
    public static final int RC_RDMA_READ_RESPONSE_FIRST = 0x0D;
    public static final int RC_RDMA_READ_RESPONSE_MIDDLE = 0x0E;
    public static final int RC_RDMA_READ_RESPONSE_LAST = 0x0F;
    public static final int RC_RDMA_READ_RESPONSE_ONLY = 0x10;
    public static final int RC_ACKNOWLEDGE = 0x11;
    public static final int RC_ATOMIC_ACKNOWLEDGE = 0x12;
    public static final int RC_COMPARE_SWAP = 0x13;
    public static final int RC_FETCH_ADD = 0x14;
    public static final int RC_SEND_LAST_WITH_INVALIDATE = 0x16;
    public static final int RC_SEND_ONLY_WITH_INVALIDATE = 0x17;

    public static final int UC_SEND_FIRST = 0x20;
    public static final int UC_SEND_MIDDLE = 0x21;
    public static final int UC_SEND_LAST = 0x22;
    public static final int UC_SEND_LAST_WITH_IMMEDIATE = 0x23;
    public static final int UC_SEND_ONLY = 0x24;
    public static final int UC_SEND_ONLY_WITH_IMMEDIATE = 0x25;
    public static final int UC_RDMA_WRITE_FIRST = 0x26;
    public static final int UC_RDMA_WRITE_MIDDLE = 0x27;
    public static final int UC_RDMA_WRITE_LAST = 0x28;
    public static final int UC_RDMA_WRITE_LAST_WITH_IMMEDIATE = 0x29;
    public static final int UC_RDMA_WRITE_ONLY = 0x2A;
    public static final int UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE = 0x2B;

    public static final int UD_SEND_ONLY = 0x64;
    public static final int UD_SEND_ONLY_WITH_IMMEDIATE = 0x65;

    /** A congestion notification packet, whose sixteen reserved bytes count as headers here. */
    public static final int CNP = 0x81;

    /** The transports, as the three upper bits of an operation code have them. */
    public static final int RC = 0;

    public static final int UC = 1;
    public static final int UD = 3;

    /** The most bytes of headers that a packet has: of a compare-and-swap. */
    public static final int MAX_HEADER_BYTES = Bth.BYTES + AtomicEth.BYTES;

    // The extension headers, in the order in which a packet has them: bit i stands for the header of BYTES[i].
    private static final int DETH = 1;
    private static final int RETH = 1 << 1;
    private static final int ATOMIC = 1 << 2;
    private static final int AETH = 1 << 3;
    private static final int ATOMIC_ACK = 1 << 4;
    private static final int IMMEDIATE = 1 << 5;
    private static final int INVALIDATE = 1 << 6;
    private static final int RESERVED = 1 << 7;
    private static final int[] BYTES = {
        Deth.BYTES, Reth.BYTES, AtomicEth.BYTES, Aeth.BYTES, AtomicAckEth.BYTES, ImmDt.BYTES, Ieth.BYTES, 16
    };

    private static final int FIRST = 1 << 8;
    private static final int MIDDLE = 1 << 9;
    private static final int LAST = 1 << 10;
    private static final int ONLY = 1 << 11;
    private static final int REQUEST = 1 << 12;
    private static final int RESPONSE = 1 << 13;
    private static final int PAYLOAD = 1 << 14;
    private static final int SEND = 1 << 15;
    private static final int WRITE = 1 << 16;
    private static final int READ_RESPONSE = 1 << 17;

    private static final int ALL = 256;
    private static final int[] PROPERTIES = new int[ALL];
    private static final byte[] HEADER_BYTES = new byte[ALL];
    private static final byte[] IMMEDIATE_OFFSETS = new byte[ALL];
    private static final String[] NAMES = new String[ALL];

    static {
        for (int opcode = 0; opcode < ALL; opcode++) {
            NAMES[opcode] = "opcode 0x%02x".formatted(opcode);
        }
        defineMessages(RC_SEND_FIRST, "RC_");
        define(RC_RDMA_READ_REQUEST, "RC_RDMA_READ_REQUEST", REQUEST | ONLY | RETH);
        define(RC_RDMA_READ_RESPONSE_FIRST, "RC_RDMA_READ_RESPONSE_FIRST", READ_RESPONSE | PAYLOAD | FIRST | AETH);
        define(RC_RDMA_READ_RESPONSE_MIDDLE, "RC_RDMA_READ_RESPONSE_MIDDLE", READ_RESPONSE | PAYLOAD | MIDDLE);
        define(RC_RDMA_READ_RESPONSE_LAST, "RC_RDMA_READ_RESPONSE_LAST", READ_RESPONSE | PAYLOAD | LAST | AETH);
        define(RC_RDMA_READ_RESPONSE_ONLY, "RC_RDMA_READ_RESPONSE_ONLY", READ_RESPONSE | PAYLOAD | ONLY | AETH);
        define(RC_ACKNOWLEDGE, "RC_ACKNOWLEDGE", RESPONSE | ONLY | AETH);
        define(RC_ATOMIC_ACKNOWLEDGE, "RC_ATOMIC_ACKNOWLEDGE", RESPONSE | ONLY | AETH | ATOMIC_ACK);
        define(RC_COMPARE_SWAP, "RC_COMPARE_SWAP", REQUEST | ONLY | ATOMIC);
        define(RC_FETCH_ADD, "RC_FETCH_ADD", REQUEST | ONLY | ATOMIC);
        define(RC_SEND_LAST_WITH_INVALIDATE, "RC_SEND_LAST_WITH_INVALIDATE", SEND | PAYLOAD | LAST | INVALIDATE);
        define(RC_SEND_ONLY_WITH_INVALIDATE, "RC_SEND_ONLY_WITH_INVALIDATE", SEND | PAYLOAD | ONLY | INVALIDATE);
        defineMessages(UC_SEND_FIRST, "UC_");
        define(UD_SEND_ONLY, "UD_SEND_ONLY", SEND | PAYLOAD | ONLY | DETH);
        define(UD_SEND_ONLY_WITH_IMMEDIATE, "UD_SEND_ONLY_WITH_IMMEDIATE", SEND | PAYLOAD | ONLY | DETH | IMMEDIATE);
        define(CNP, "CNP", RESERVED);
    }

    private Opcode() {}

    /** The sends and writes, which RC and UC number alike. */
    private static void defineMessages(int base, String transport) {
        String send = transport + "SEND_";
        define(base + RC_SEND_FIRST, send + "FIRST", SEND | PAYLOAD | FIRST);
        define(base + RC_SEND_MIDDLE, send + "MIDDLE", SEND | PAYLOAD | MIDDLE);
        define(base + RC_SEND_LAST, send + "LAST", SEND | PAYLOAD | LAST);
        define(base + RC_SEND_LAST_WITH_IMMEDIATE, send + "LAST_WITH_IMMEDIATE", SEND | PAYLOAD | LAST | IMMEDIATE);
        define(base + RC_SEND_ONLY, send + "ONLY", SEND | PAYLOAD | ONLY);
        define(base + RC_SEND_ONLY_WITH_IMMEDIATE, send + "ONLY_WITH_IMMEDIATE", SEND | PAYLOAD | ONLY | IMMEDIATE);
        String write = transport + "RDMA_WRITE_";
        int only = WRITE | PAYLOAD | ONLY | RETH;
        define(base + RC_RDMA_WRITE_FIRST, write + "FIRST", WRITE | PAYLOAD | FIRST | RETH);
        define(base + RC_RDMA_WRITE_MIDDLE, write + "MIDDLE", WRITE | PAYLOAD | MIDDLE);
        define(base + RC_RDMA_WRITE_LAST, write + "LAST", WRITE | PAYLOAD | LAST);
        define(
                base + RC_RDMA_WRITE_LAST_WITH_IMMEDIATE,
                write + "LAST_WITH_IMMEDIATE",
                WRITE | PAYLOAD | LAST | IMMEDIATE);
        define(base + RC_RDMA_WRITE_ONLY, write + "ONLY", only);
        define(base + RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, write + "ONLY_WITH_IMMEDIATE", only | IMMEDIATE);
    }

    private static void define(int opcode, String name, int properties) {
        int implied = 0;
        if ((properties & (SEND | WRITE)) != 0) {
            implied = REQUEST;
        } else if ((properties & READ_RESPONSE) != 0) {
            implied = RESPONSE;
        }
        PROPERTIES[opcode] = properties | implied;
        NAMES[opcode] = name;
        int at = Bth.BYTES;
        for (int header = 0; header < BYTES.length; header++) {
            if (1 << header == IMMEDIATE) {
                IMMEDIATE_OFFSETS[opcode] = (byte) at;
            }
            if ((properties & (1 << header)) != 0) {
                at += BYTES[header];
            }
        }
        HEADER_BYTES[opcode] = (byte) at;
    }

    private static boolean has(int opcode, int property) {
        return (PROPERTIES[opcode] & property) != 0;
    }

    /** Returns the name in the specification, with underscores. */
    public static String name(int opcode) {
        return NAMES[opcode];
    }

    /** {@link #RC}, {@link #UC} or {@link #UD}; another number for {@link #CNP} and transports unknown here. */
    public static int transport(int opcode) {
        return opcode >> 5;
    }

    /** The bytes of the base header and all others, which is where the payload starts; 0 for an unknown code. */
    public static int headerBytes(int opcode) {
        return HEADER_BYTES[opcode];
    }

    public static boolean isKnown(int opcode) {
        return HEADER_BYTES[opcode] != 0;
    }

    public static boolean isRequest(int opcode) {
        return has(opcode, REQUEST);
    }

    public static boolean isResponse(int opcode) {
        return has(opcode, RESPONSE);
    }

    public static boolean isSend(int opcode) {
        return has(opcode, SEND);
    }

    public static boolean isRdmaWrite(int opcode) {
        return has(opcode, WRITE);
    }

    public static boolean isReadResponse(int opcode) {
        return has(opcode, READ_RESPONSE);
    }

    public static boolean isFirst(int opcode) {
        return has(opcode, FIRST);
    }

    public static boolean isMiddle(int opcode) {
        return has(opcode, MIDDLE);
    }

    public static boolean isLast(int opcode) {
        return has(opcode, LAST);
    }

    public static boolean isOnly(int opcode) {
        return has(opcode, ONLY);
    }

    /** Returns whether a message starts with it: first or only. */
    public static boolean isStart(int opcode) {
        return has(opcode, FIRST | ONLY);
    }

    /** Returns whether a message ends with it: last or only. */
    public static boolean isEnd(int opcode) {
        return has(opcode, LAST | ONLY);
    }

    public static boolean hasPayload(int opcode) {
        return has(opcode, PAYLOAD);
    }

    public static boolean hasDeth(int opcode) {
        return has(opcode, DETH);
    }

    public static boolean hasReth(int opcode) {
        return has(opcode, RETH);
    }

    public static boolean hasAtomicEth(int opcode) {
        return has(opcode, ATOMIC);
    }

    public static boolean hasAeth(int opcode) {
        return has(opcode, AETH);
    }

    public static boolean hasAtomicAckEth(int opcode) {
        return has(opcode, ATOMIC_ACK);
    }

    public static boolean hasImmediate(int opcode) {
        return has(opcode, IMMEDIATE);
    }

    public static boolean hasInvalidate(int opcode) {
        return has(opcode, INVALIDATE);
    }

    /**
     * Returns the offset of the immediate data in a packet. Every other extension header has the same offset in all
     * packets, which its class defines.
     */
    public static int immediateOffset(int opcode) {
        return IMMEDIATE_OFFSETS[opcode];
    }
}
