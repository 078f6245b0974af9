package org.rdmapanama.spark.transfer;

import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.pool.RegisteredBuffer;

/** Blocks that are asked for in one message. The thread of {@link BlockClient} uses it. */
final class Fetch {
    private static final Logger LOG = LogManager.getLogger(Fetch.class);

    /** Neighbouring blocks in the memory of the server, which are read together. */
    static final class Group {
        private final long address;
        private final int rkey;
        private final List<Integer> blocks = new ArrayList<>();
        private final List<Long> lengths = new ArrayList<>();
        private long length;
        private RegisteredBuffer buffer;

        Group(long address, int rkey) {
            this.address = address;
            this.rkey = rkey;
        }

        /** Adds a block, if it follows the last one. */
        boolean add(int block, long blockAddress, long blockLength, int blockKey) {
            if (blockKey != rkey || blockAddress != address + length) {
                return false;
            }
            blocks.add(block);
            lengths.add(blockLength);
            length += blockLength;
            return true;
        }

        long address() {
            return address;
        }

        int rkey() {
            return rkey;
        }

        long length() {
            return length;
        }

        List<Integer> blocks() {
            return blocks;
        }

        RegisteredBuffer buffer() {
            return buffer;
        }

        void buffer(RegisteredBuffer room) {
            buffer = room;
        }

        /** Gives the bytes to the listener, which releases them. */
        void deliver(Fetch fetch) {
            FetchedBlock.Shared shared = new FetchedBlock.Shared(buffer, fetch.freed);
            List<FetchedBlock> parts = new ArrayList<>();
            long offset = 0;
            // All of them first: the first release must not be the last one.
            for (long each : lengths) {
                parts.add(shared.part(offset, each));
                offset += each;
            }
            buffer = null;
            for (int i = 0; i < parts.size(); i++) {
                fetch.arrived(blocks.get(i), parts.get(i));
            }
        }
    }

    private final List<BlockRange> blocks;
    private final BlockListener listener;

    /** What to do whenever the memory of a group is free again. */
    private final Runnable freed;

    /** Which blocks the listener has been told of. */
    private final boolean[] told;

    private final List<Group> groups = new ArrayList<>();

    /** When it was made, by System.nanoTime(). */
    private final long created = System.nanoTime();

    /** When it fails, by System.nanoTime(). */
    private long deadline;

    private long lease;

    /** How many reads are under way or to be posted. */
    private int reads;

    Fetch(List<BlockRange> blocks, BlockListener listener, Runnable freed) {
        this.blocks = blocks;
        this.listener = listener;
        this.freed = freed;
        told = new boolean[blocks.size()];
    }

    List<BlockRange> blocks() {
        return blocks;
    }

    List<Group> groups() {
        return groups;
    }

    void deadline(long nanos) {
        deadline = nanos;
    }

    boolean isLate(long now) {
        return now - deadline > 0;
    }

    /** Returns how long it has waited until now. */
    long age(long now) {
        return now - created;
    }

    void lease(long number) {
        lease = number;
    }

    long lease() {
        return lease;
    }

    void willRead(int count) {
        reads += count;
    }

    /** Notes the end of a read. Returns whether it was the last one. */
    boolean hasRead() {
        reads--;
        return reads == 0;
    }

    boolean hasReads() {
        return reads > 0;
    }

    void arrived(int block, FetchedBlock buffer) {
        told[block] = true;
        try {
            listener.arrived(blocks.get(block), buffer);
        } catch (RuntimeException | Error e) {
            hasFailed(block, e);
        }
    }

    void unavailable(int block, String reason) {
        told[block] = true;
        try {
            listener.unavailable(blocks.get(block), reason);
        } catch (RuntimeException | Error e) {
            hasFailed(block, e);
        }
    }

    /** A listener that fails must not keep others from what they wait for, nor the connection that all of them share. */
    private void hasFailed(int block, Throwable failure) {
        LOG.warn("The listener of a fetch has failed when it was told of {}", blocks.get(block), failure);
    }

    /** Gives the memory back, to which nothing is written any more. */
    void giveBack() {
        for (Group each : groups) {
            if (each.buffer != null) {
                each.buffer.close();
                each.buffer = null;
            }
        }
    }

    /** Tells of all blocks that have not arrived. */
    void fail(String reason) {
        for (int i = 0; i < told.length; i++) {
            if (!told[i]) {
                unavailable(i, reason);
            }
        }
    }
}
