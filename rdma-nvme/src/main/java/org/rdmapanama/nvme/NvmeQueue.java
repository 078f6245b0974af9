package org.rdmapanama.nvme;

import com.google.errorprone.annotations.CheckReturnValue;
import java.time.Duration;
import java.util.Objects;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.pool.RegisteredBuffer;

/**
 * An I/O queue of the program's own, with many commands under way at the same time. The methods that begin with {@code try}
 * submit a command and return at once; {@link #poll} and {@link #await} tell which commands have ended, in the order in which
 * they did. The program recognises a command by its cookie. Nothing is allocated for a command.
 *
 * <p>{@snippet :
 * try (NvmeQueue queue = controller.openQueue()) {
 *     NvmeResults results = new NvmeResults(queue.depth());
 *     for (int i = 0; i < 32; i++) {
 *         queue.tryRead(disk, i * 8L, region, i * 4096L, 8, i);
 *     }
 *     for (int ended = 0; ended < 32; ended += queue.await(results, Duration.ofSeconds(1))) {
 *         // look at results.cookie(0) and so on
 *     }
 * }
 * }
 *
 * <p>The memory of a command must not be used, nor its region closed, before the command has ended. When the controller is
 * lost, all commands end with {@link NvmeStatus#HOST_PATH_ERROR}, and the connection is gone then. A target that is hostile
 * may still reach their memory by another queue of the controller, until that has ended as well: a program that fears that
 * closes the region before the memory is used again, or connects with {@link NvmeOptions#remoteInvalidation}.
 *
 * <p>Threads: one at a time. Others wait; a thread in {@link #await} holds them up.
 */
public final class NvmeQueue implements AutoCloseable {
    /** Longer waits are as this one. */
    private static final Duration LONGEST = Duration.ofDays(365);

    private final NvmeController controller;
    private final Association association;
    private final HostQueue queue;

    NvmeQueue(NvmeController controller, Association association, HostQueue queue) {
        this.controller = controller;
        this.association = association;
        this.queue = queue;
    }

    /**
     * {@return how many commands can be under way}
     */
    public int depth() {
        return queue.depth();
    }

    /**
     * {@return the number of the queue in its controller, 1 or more}
     */
    public int number() {
        return queue.number();
    }

    /**
     * {@return how many commands are under way, or have ended and are not polled yet}
     */
    public int pending() {
        queue.lock.lock();
        try {
            return queue.pending();
        } finally {
            queue.lock.unlock();
        }
    }

    /**
     * Submits a Read.
     *
     * @param namespace a namespace of this queue's controller
     * @param firstBlock the first block, 0 or more
     * @param region where the data goes: a region of the controller's protection domain
     * @param offset where in the region, in bytes
     * @param blocks the number of blocks, 1 to what {@link NvmeController#maxTransfer} allows
     * @param cookie what the result will name
     * @return whether it was submitted; false when as many commands are under way as the queue can have
     * @throws IllegalArgumentException when a number is out of range, or namespace or region belong to another controller
     * @throws IllegalStateException when the queue is closed
     * @throws NvmeException when the controller is lost
     */
    @CheckReturnValue
    public boolean tryRead(
            NvmeNamespace namespace, long firstBlock, MemoryRegion region, long offset, int blocks, long cookie) {
        return transfer(Opcode.READ, namespace, firstBlock, region, offset, blocks, cookie);
    }

    /**
     * Submits a Read into a whole buffer.
     *
     * @param namespace a namespace of this queue's controller
     * @param firstBlock the first block, 0 or more
     * @param buffer where the data goes, whose size is a multiple of the block size
     * @param cookie what the result will name
     * @return whether it was submitted; false when as many commands are under way as the queue can have
     * @throws IllegalArgumentException when the size is not a multiple of the block size, or too large for one command, or the buffer
     *     belongs to another protection domain
     * @throws IllegalStateException when the queue or the buffer is closed
     * @throws NvmeException when the controller is lost
     */
    @CheckReturnValue
    public boolean tryRead(NvmeNamespace namespace, long firstBlock, RegisteredBuffer buffer, long cookie) {
        return transfer(Opcode.READ, namespace, firstBlock, buffer, cookie);
    }

    /**
     * Submits a Write.
     *
     * @param namespace a namespace of this queue's controller
     * @param firstBlock the first block, 0 or more
     * @param region where the data is: a region of the controller's protection domain
     * @param offset where in the region, in bytes
     * @param blocks the number of blocks, 1 to what {@link NvmeController#maxTransfer} allows
     * @param cookie what the result will name
     * @return whether it was submitted; false when as many commands are under way as the queue can have
     * @throws IllegalArgumentException when a number is out of range, or namespace or region belong to another controller
     * @throws IllegalStateException when the queue is closed
     * @throws NvmeException when the controller is lost
     */
    @CheckReturnValue
    public boolean tryWrite(
            NvmeNamespace namespace, long firstBlock, MemoryRegion region, long offset, int blocks, long cookie) {
        return transfer(Opcode.WRITE, namespace, firstBlock, region, offset, blocks, cookie);
    }

    /**
     * Submits a Write of a whole buffer.
     *
     * @param namespace a namespace of this queue's controller
     * @param firstBlock the first block, 0 or more
     * @param buffer the data, whose size is a multiple of the block size
     * @param cookie what the result will name
     * @return whether it was submitted; false when as many commands are under way as the queue can have
     * @throws IllegalArgumentException when the size is not a multiple of the block size, or too large for one command, or the buffer
     *     belongs to another protection domain
     * @throws IllegalStateException when the queue or the buffer is closed
     * @throws NvmeException when the controller is lost
     */
    @CheckReturnValue
    public boolean tryWrite(NvmeNamespace namespace, long firstBlock, RegisteredBuffer buffer, long cookie) {
        return transfer(Opcode.WRITE, namespace, firstBlock, buffer, cookie);
    }

    /**
     * Submits a Compare, which ends with {@link NvmeStatus#COMPARE_FAILURE} when the data differs.
     *
     * @param namespace a namespace of this queue's controller
     * @param firstBlock the first block, 0 or more
     * @param region where the data is: a region of the controller's protection domain
     * @param offset where in the region, in bytes
     * @param blocks the number of blocks, 1 to what {@link NvmeController#maxTransfer} allows
     * @param cookie what the result will name
     * @return whether it was submitted; false when as many commands are under way as the queue can have
     * @throws IllegalArgumentException when a number is out of range, or namespace or region belong to another controller
     * @throws IllegalStateException when the queue is closed
     * @throws NvmeException when the controller is lost
     */
    @CheckReturnValue
    public boolean tryCompare(
            NvmeNamespace namespace, long firstBlock, MemoryRegion region, long offset, int blocks, long cookie) {
        return transfer(Opcode.COMPARE, namespace, firstBlock, region, offset, blocks, cookie);
    }

    /**
     * Submits a Flush. It covers the writes that have ended before.
     *
     * @param namespace a namespace of this queue's controller
     * @param cookie what the result will name
     * @return whether it was submitted; false when as many commands are under way as the queue can have
     * @throws IllegalArgumentException when the namespace belongs to another controller
     * @throws IllegalStateException when the queue is closed
     * @throws NvmeException when the controller is lost
     */
    @CheckReturnValue
    public boolean tryFlush(NvmeNamespace namespace, long cookie) {
        checkNamespace(namespace);
        queue.lock.lock();
        try {
            return IoCommands.simple(queue, Opcode.FLUSH, namespace, 0, 0, cookie) >= 0;
        } finally {
            queue.lock.unlock();
        }
    }

    /**
     * Submits a Write Zeroes.
     *
     * @param namespace a namespace of this queue's controller
     * @param firstBlock the first block, 0 or more
     * @param blocks the number of blocks, 1 to {@link NvmeNamespace#maxZeroes}
     * @param cookie what the result will name
     * @return whether it was submitted; false when as many commands are under way as the queue can have
     * @throws IllegalArgumentException when a number is out of range, or the namespace belongs to another controller
     * @throws IllegalStateException when the queue is closed
     * @throws NvmeException when the controller is lost
     */
    @CheckReturnValue
    public boolean tryWriteZeroes(NvmeNamespace namespace, long firstBlock, int blocks, long cookie) {
        checkNamespace(namespace);
        namespace.checkBlocks(firstBlock, blocks);
        int most = namespace.maxZeroes();
        if (blocks > most) {
            throw new IllegalArgumentException("one Write Zeroes of " + namespace + " may fill at most " + most
                    + " blocks (NvmeNamespace.maxZeroes): " + blocks);
        }
        queue.lock.lock();
        try {
            return IoCommands.simple(queue, Opcode.WRITE_ZEROES, namespace, firstBlock, blocks, cookie) >= 0;
        } finally {
            queue.lock.unlock();
        }
    }

    /**
     * Submits a Dataset Management that deallocates blocks.
     *
     * @param namespace a namespace of this queue's controller
     * @param firstBlock the first block, 0 or more
     * @param blocks the number of blocks, 1 to 4294967295
     * @param cookie what the result will name
     * @return whether it was submitted; false when as many commands are under way as the queue can have
     * @throws IllegalArgumentException when a number is out of range, or the namespace belongs to another controller
     * @throws IllegalStateException when the queue is closed
     * @throws NvmeException when the controller is lost
     */
    @CheckReturnValue
    public boolean tryDeallocate(NvmeNamespace namespace, long firstBlock, long blocks, long cookie) {
        checkNamespace(namespace);
        namespace.checkBlocks(firstBlock, blocks);
        if (blocks > 0xffff_ffffL) {
            throw new IllegalArgumentException("blocks must be at most 4294967295: " + blocks);
        }
        queue.lock.lock();
        try {
            int inCapsule = association.inCapsule();
            return IoCommands.deallocate(queue, namespace, firstBlock, blocks, inCapsule, cookie) >= 0;
        } finally {
            queue.lock.unlock();
        }
    }

    private boolean transfer(int opcode, NvmeNamespace namespace, long first, RegisteredBuffer buffer, long cookie) {
        long blocks = buffer.byteSize() >>> namespace.blockShift();
        if (blocks << namespace.blockShift() != buffer.byteSize() || blocks > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("the size of the buffer must be a multiple of the block size, "
                    + namespace.blockSize() + " bytes, for one command: " + buffer.byteSize());
        }
        if (!buffer.isOpen()) {
            throw new IllegalStateException(buffer + " is closed");
        }
        return transfer(opcode, namespace, first, buffer.region(), buffer.offset(), (int) blocks, cookie);
    }

    private boolean transfer(
            int opcode,
            NvmeNamespace namespace,
            long first,
            MemoryRegion region,
            long offset,
            int blocks,
            long cookie) {
        checkNamespace(namespace);
        namespace.checkBlocks(first, blocks);
        namespace.checkRegion(region, opcode);
        if (blocks > namespace.maxBlocks()) {
            throw new IllegalArgumentException("one command may transfer at most " + namespace.maxBlocks()
                    + " blocks of " + namespace.blockSize() + " bytes: " + blocks);
        }
        Objects.checkFromIndexSize(offset, (long) blocks << namespace.blockShift(), region.byteSize());
        queue.lock.lock();
        try {
            int inCapsule = association.inCapsule();
            return IoCommands.transfer(queue, opcode, namespace, first, blocks, region, offset, inCapsule, cookie) >= 0;
        } finally {
            queue.lock.unlock();
        }
    }

    private void checkNamespace(NvmeNamespace namespace) {
        if (namespace.controller() != controller) {
            throw new IllegalArgumentException(namespace + " does not belong to " + controller);
        }
    }

    /**
     * Looks for commands that have ended.
     *
     * @param results receives the results and is overwritten
     * @return the number of results
     */
    public int poll(NvmeResults results) {
        queue.lock.lock();
        try {
            queue.poll();
            return takeAll(results);
        } finally {
            queue.lock.unlock();
        }
    }

    /**
     * Waits until a command has ended.
     *
     * @param results receives the results and is overwritten
     * @param timeout how long to wait at most
     * @return the number of results; 0 if there was none in time, or nothing is under way
     * @throws IllegalArgumentException when the timeout is negative
     * @throws InterruptedException when the thread is interrupted; the commands go on
     */
    public int await(NvmeResults results, Duration timeout) throws InterruptedException {
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("timeout must not be negative: " + timeout);
        }
        queue.lock.lockInterruptibly();
        try {
            long limit = timeout.compareTo(LONGEST) > 0 ? Long.MAX_VALUE / 2 : timeout.toNanos();
            long start = System.nanoTime();
            queue.poll();
            int count = takeAll(results);
            while (count == 0 && queue.underWay() > 0) {
                long left = limit - (System.nanoTime() - start);
                if (left <= 0) {
                    return 0;
                }
                queue.await(left);
                count = takeAll(results);
            }
            return count;
        } finally {
            queue.lock.unlock();
        }
    }

    private int takeAll(NvmeResults results) {
        results.clear();
        while (!results.isFull()) {
            int slot = queue.takeDone();
            if (slot < 0) {
                break;
            }
            results.add(queue.cookie(slot), queue.status(slot));
            queue.release(slot);
        }
        return results.count();
    }

    /**
     * Ends the queue. Commands under way end with {@link NvmeStatus#HOST_PATH_ERROR}, which {@link #poll} tells; whether they
     * were executed is not known.
     *
     * @throws org.rdmapanama.VerbsException when closing the connection fails
     */
    @Override
    public void close() {
        association.closeQueue(queue);
    }

    /** The number and the controller. */
    @Override
    public String toString() {
        return "I/O queue " + queue.number() + " of " + controller;
    }
}
