package org.rdmapanama.spark.transfer;

import static java.nio.ByteOrder.BIG_ENDIAN;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Optional;

/**
 * The messages between a {@link BlockClient} and a {@link BlockServer}, in network byte order. Each begins with a header of 24
 * bytes: kind, number of entries, number of the request, lease. A question has an entry of 24 bytes for each block, and so has
 * its answer, in the same order.
 */
final class Messages {
    /** What both say when they connect; a client then says the secret. */
    private static final byte[] GREETING = "rdma-spark 1".getBytes(StandardCharsets.US_ASCII);

    static final int ASK = 1;
    static final int ANSWER = 2;
    static final int RELEASE = 3;

    static final int HEADER = 24;
    static final int ENTRY = 24;
    static final int BYTES = 8 << 10;
    static final int MOST_BLOCKS = (BYTES - HEADER) / ENTRY;

    /** What an answer says of a block: that it is lent, or why it is not. */
    static final int LENT = 0;

    static final int NOT_FOUND = 1;
    static final int BUDGET_SPENT = 2;
    static final int NOT_REGISTERED = 3;

    /** The file is larger than all that the server may register at once, which never changes. */
    static final int TOO_LARGE = 4;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(BIG_ENDIAN);

    private static final int REQUEST_OFFSET = 8;
    private static final int LEASE_OFFSET = 16;
    private static final int SECOND_OFFSET = 8;
    private static final int THIRD_OFFSET = 16;
    private static final int FOURTH_OFFSET = 20;

    private Messages() {}

    /** Returns what a client says, or, without a secret, what a server says. */
    static byte[] greeting(byte... secret) {
        byte[] greeting = Arrays.copyOf(GREETING, GREETING.length + secret.length);
        System.arraycopy(secret, 0, greeting, GREETING.length, secret.length);
        return greeting;
    }

    /** Returns whether private data, which devices pad with zeros, is the greeting. */
    static boolean isGreeting(byte[] privateData, byte... secret) {
        byte[] expected = greeting(secret);
        return privateData.length >= expected.length
                && MessageDigest.isEqual(Arrays.copyOf(expected, privateData.length), privateData);
    }

    static int bytes(int entries) {
        return HEADER + entries * ENTRY;
    }

    static void header(MemorySegment message, int kind, int entries, long request, long lease) {
        message.set(INT, 0, kind);
        message.set(INT, Integer.BYTES, entries);
        message.set(LONG, REQUEST_OFFSET, request);
        message.set(LONG, LEASE_OFFSET, lease);
    }

    /** Returns whether a message that a peer has sent has as many bytes as it says. */
    static boolean isWhole(MemorySegment message, int received) {
        if (received < HEADER) {
            return false;
        }
        int entries = entries(message);
        return entries >= 0 && entries <= MOST_BLOCKS && received == bytes(entries);
    }

    static int kind(MemorySegment message) {
        return message.get(INT, 0);
    }

    static int entries(MemorySegment message) {
        return message.get(INT, Integer.BYTES);
    }

    static long request(MemorySegment message) {
        return message.get(LONG, REQUEST_OFFSET);
    }

    static long lease(MemorySegment message) {
        return message.get(LONG, LEASE_OFFSET);
    }

    private static long entry(int index) {
        return HEADER + (long) index * ENTRY;
    }

    static void block(MemorySegment message, int index, BlockRange block) {
        long at = entry(index);
        message.set(LONG, at, block.map());
        message.set(INT, at + SECOND_OFFSET, block.shuffle());
        message.set(INT, at + SECOND_OFFSET + Integer.BYTES, 0);
        message.set(INT, at + THIRD_OFFSET, block.first());
        message.set(INT, at + FOURTH_OFFSET, block.end());
    }

    /** Returns the block of an entry; empty if a peer has named partitions that are not a range. */
    static Optional<BlockRange> block(MemorySegment message, int index) {
        long at = entry(index);
        int first = message.get(INT, at + THIRD_OFFSET);
        int end = message.get(INT, at + FOURTH_OFFSET);
        return first < 0 || end <= first
                ? Optional.empty()
                : Optional.of(new BlockRange(message.get(INT, at + SECOND_OFFSET), message.get(LONG, at), first, end));
    }

    static void lent(MemorySegment message, int index, long address, long length, int rkey) {
        long at = entry(index);
        message.set(LONG, at, address);
        message.set(LONG, at + SECOND_OFFSET, length);
        message.set(INT, at + THIRD_OFFSET, rkey);
        message.set(INT, at + FOURTH_OFFSET, LENT);
    }

    static void notLent(MemorySegment message, int index, int reason) {
        lent(message, index, 0, 0, 0);
        message.set(INT, entry(index) + FOURTH_OFFSET, reason);
    }

    static long address(MemorySegment message, int index) {
        return message.get(LONG, entry(index));
    }

    static long length(MemorySegment message, int index) {
        return message.get(LONG, entry(index) + SECOND_OFFSET);
    }

    static int rkey(MemorySegment message, int index) {
        return message.get(INT, entry(index) + THIRD_OFFSET);
    }

    /** Returns {@link #LENT}, or why a block is not lent. */
    static int outcome(MemorySegment message, int index) {
        return message.get(INT, entry(index) + FOURTH_OFFSET);
    }
}
