package org.rdmapanama.nvme.wire;

import java.lang.foreign.MemorySegment;

/** The private data of the connection manager's messages (RDMA Transport 1.0, 3.1.2 to 3.1.4). */
public final class PrivateData {
    /** The size of those of a request and of an answer, and of those of a rejection. */
    public static final int BYTES = 32;

    public static final int REJECTION_BYTES = 4;

    /** Reasons for a rejection. */
    public static final int INVALID_LENGTH = 1;

    public static final int INVALID_FORMAT = 2;
    public static final int INVALID_QUEUE = 3;
    public static final int INVALID_SEND_SIZE = 4;
    public static final int INVALID_RECEIVE_SIZE = 5;
    public static final int NO_RESOURCES = 6;

    private PrivateData() {}

    /**
     * A request for a queue.
     *
     * @param queue its number, 0 for the Admin queue
     * @param receives how many responses the host has room for
     * @param sends how many commands the host will have under way, less one
     * @param controller the controller that the queue is for; 0 for an Admin queue
     */
    public record Request(int queue, int receives, int sends, int controller) {
        public byte[] bytes() {
            byte[] bytes = new byte[BYTES];
            MemorySegment memory = MemorySegment.ofArray(bytes);
            Fields.set16(memory, 2, queue);
            Fields.set16(memory, 4, receives);
            Fields.set16(memory, 6, sends);
            Fields.set16(memory, 8, controller);
            return bytes;
        }

        /** Reads a request, whose {@link #problem} must be 0. */
        public static Request of(byte[] bytes) {
            MemorySegment memory = MemorySegment.ofArray(bytes);
            return new Request(
                    Fields.get16(memory, 2), Fields.get16(memory, 4), Fields.get16(memory, 6), Fields.get16(memory, 8));
        }

        /** Returns why a request cannot be read, or 0. */
        public static int problem(byte[] bytes) {
            if (bytes.length < BYTES) {
                return INVALID_LENGTH;
            }
            return Fields.get16(MemorySegment.ofArray(bytes), 0) == 0 ? 0 : INVALID_FORMAT;
        }
    }

    /** The answer to a request: how many commands the controller has room for. */
    public static byte[] answer(int receives) {
        byte[] bytes = new byte[BYTES];
        Fields.set16(MemorySegment.ofArray(bytes), 2, receives);
        return bytes;
    }

    /** Returns the number of an answer, or -1 if it is none. */
    public static int answeredReceives(byte[] bytes) {
        MemorySegment memory = MemorySegment.ofArray(bytes);
        return bytes.length < BYTES || Fields.get16(memory, 0) != 0 ? -1 : Fields.get16(memory, 2);
    }

    public static byte[] rejection(int reason) {
        byte[] bytes = new byte[REJECTION_BYTES];
        Fields.set16(MemorySegment.ofArray(bytes), 2, reason);
        return bytes;
    }

    /** Says why a request was rejected. */
    public static String rejectionText(byte[] bytes) {
        if (bytes.length < REJECTION_BYTES) {
            return "without a reason";
        }
        int reason = Fields.get16(MemorySegment.ofArray(bytes), 2);
        return switch (reason) {
            case INVALID_LENGTH -> "the private data has a wrong length";
            case INVALID_FORMAT -> "the private data has an unknown format";
            case INVALID_QUEUE -> "the number of the queue is not allowed";
            case INVALID_SEND_SIZE -> "it does not allow a queue of this size (HSQSIZE)";
            case INVALID_RECEIVE_SIZE -> "the host has room for too few responses (HRQSIZE)";
            case NO_RESOURCES -> "it has no resources for another queue";
            case 7 -> "it does not allow this number of RDMA reads of the peer (IRD)";
            case 8 -> "it does not allow this number of RDMA reads (ORD)";
            default -> "reason " + reason;
        };
    }
}
