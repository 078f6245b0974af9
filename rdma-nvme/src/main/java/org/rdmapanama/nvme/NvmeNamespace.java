package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.nio.channels.SeekableByteChannel;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.ControllerData;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.pool.RegisteredBuffer;

/**
 * A namespace of a controller: blocks of the same size, numbered from 0, which can be read and written.
 *
 * <p>The calls wait until the controller has done what they ask for; {@link NvmeQueue} does not wait. Data is in registered
 * memory, from which and into which it moves without a copy. What is longer than {@link NvmeController#maxTransfer} takes
 * several commands, which are under way at the same time: then a failure may leave any part done. An interrupt does not end a
 * call, whose wait {@link NvmeOptions#commandTimeout} limits.
 *
 * <p>Threads: any number at the same time.
 */
public final class NvmeNamespace {
    /** The most blocks that one command can name. */
    private static final int MAX_BLOCKS = 65536;

    private static final long MAX_RANGE = 0xffff_ffffL;

    private final NvmeController controller;
    private final int id;
    private final long blockCount;
    private final int blockShift;
    private final byte[] guid;

    /** Whether another namespace has its id now. All objects of a namespace have this in common. */
    private volatile AtomicBoolean replaced = new AtomicBoolean();

    NvmeNamespace(NvmeController controller, int id, long blockCount, int blockShift, byte[] guid) {
        this.controller = controller;
        this.id = id;
        this.blockCount = blockCount;
        this.blockShift = blockShift;
        this.guid = guid;
    }

    /**
     * {@return the id of the namespace in its subsystem, 1 or more, 32 bits without sign}
     */
    public int id() {
        return id;
    }

    /**
     * {@return the controller}
     */
    public NvmeController controller() {
        return controller;
    }

    /**
     * {@return the size of a block in bytes, a power of two, 512 or more}
     */
    public int blockSize() {
        return 1 << blockShift;
    }

    int blockShift() {
        return blockShift;
    }

    /**
     * {@return the number of blocks, as the controller said when it was asked}
     */
    public long blockCount() {
        return blockCount;
    }

    /**
     * {@return the size in bytes}
     */
    public long byteSize() {
        return blockCount << blockShift;
    }

    /**
     * {@return the globally unique identifier: the NGUID or, if it has none, the UUID; 32 hexadecimal digits, zeros if it has
     * neither}
     */
    public String guid() {
        return HexFormat.of().formatHex(guid);
    }

    /**
     * Reads blocks.
     *
     * @param firstBlock the first block, 0 or more
     * @param memory where the data goes: part of a region of {@link NvmeController#allocate} or {@link
     *     NvmeController#register}; its size must be that of one block or more
     * @throws IllegalArgumentException when the memory is not registered, its size is not a multiple of the block size, or the block is
     *     negative
     * @throws IllegalStateException when the controller is closed
     * @throws NvmeException when the controller reports a failure, such as blocks that are not there, or is lost
     */
    public void read(long firstBlock, MemorySegment memory) {
        transfer(Opcode.READ, firstBlock, memory);
    }

    /**
     * Reads blocks.
     *
     * @param firstBlock the first block, 0 or more
     * @param buffer where the data goes, of a pool on {@link NvmeController#protectionDomain}, whose size is a multiple of the block size
     * @throws IllegalArgumentException when the buffer belongs to another protection domain, its size is not one of whole
     *     blocks, or the block is negative
     * @throws IllegalStateException when the controller or the buffer is closed
     * @throws NvmeException when the controller reports a failure, or is lost
     */
    public void read(long firstBlock, RegisteredBuffer buffer) {
        transfer(Opcode.READ, firstBlock, buffer);
    }

    /**
     * Writes blocks. Whether they survive a loss of power before {@link #flush} depends on the controller.
     *
     * @param firstBlock the first block, 0 or more
     * @param memory the data, as for {@link #read(long, MemorySegment)}
     * @throws IllegalArgumentException when the memory is not registered, its size is not a multiple of the block size, or the block is
     *     negative
     * @throws IllegalStateException when the controller is closed
     * @throws NvmeException when the controller reports a failure, or is lost
     */
    public void write(long firstBlock, MemorySegment memory) {
        transfer(Opcode.WRITE, firstBlock, memory);
    }

    /**
     * Writes blocks. Whether they survive a loss of power before {@link #flush} depends on the controller.
     *
     * @param firstBlock the first block, 0 or more
     * @param buffer the data, as for {@link #read(long, RegisteredBuffer)}
     * @throws IllegalArgumentException when the buffer belongs to another protection domain, its size is not one of whole
     *     blocks, or the block is negative
     * @throws IllegalStateException when the controller or the buffer is closed
     * @throws NvmeException when the controller reports a failure, or is lost
     */
    public void write(long firstBlock, RegisteredBuffer buffer) {
        transfer(Opcode.WRITE, firstBlock, buffer);
    }

    /**
     * Compares blocks with memory.
     *
     * @param firstBlock the first block, 0 or more
     * @param memory the data to compare with, as for {@link #write(long, MemorySegment)}
     * @return whether they are the same
     * @throws IllegalArgumentException when the memory is not registered, its size is not a multiple of the block size, or the block is
     *     negative
     * @throws IllegalStateException when the controller is closed
     * @throws NvmeException when the controller reports another failure, such as that it does not know Compare, or is lost
     */
    public boolean compare(long firstBlock, MemorySegment memory) {
        try {
            transfer(Opcode.COMPARE, firstBlock, memory);
            return true;
        } catch (NvmeException e) {
            if (e.status().matches(NvmeStatus.COMPARE_FAILURE)) {
                return false;
            }
            throw e;
        }
    }

    /**
     * Has the controller write what it has cached: what was written before survives a loss of power then.
     *
     * @throws IllegalStateException when the controller is closed
     * @throws NvmeException when the controller reports a failure, or is lost
     */
    public void flush() {
        resending(() -> {
            simple(Opcode.FLUSH, 0, 0);
            return 0;
        });
    }

    /**
     * Fills blocks with zeros, without a transfer of data. What is more than the controller fills by one command takes
     * several, one after the other.
     *
     * @param firstBlock the first block, 0 or more
     * @param blocks the number of blocks, 1 or more
     * @throws IllegalArgumentException when a number is out of range
     * @throws IllegalStateException when the controller is closed
     * @throws NvmeException when the controller reports a failure, or is lost
     */
    public void writeZeroes(long firstBlock, long blocks) {
        checkBlocks(firstBlock, blocks);
        long done = 0;
        while (done < blocks) {
            long first = firstBlock + done;
            long left = blocks - done;
            done += resending(() -> {
                int count = (int) Math.min(maxZeroes(), left);
                simple(Opcode.WRITE_ZEROES, first, count);
                return count;
            });
        }
    }

    /**
     * Tells the controller that the data of blocks is not needed any more. What they read as afterwards depends on the
     * controller.
     *
     * @param firstBlock the first block, 0 or more
     * @param blocks the number of blocks, 1 or more
     * @throws IllegalArgumentException when a number is out of range
     * @throws IllegalStateException when the controller is closed
     * @throws NvmeException when the controller reports a failure, or is lost
     */
    public void deallocate(long firstBlock, long blocks) {
        checkBlocks(firstBlock, blocks);
        for (long done = 0; done < blocks; done += MAX_RANGE) {
            long first = firstBlock + done;
            long count = Math.min(MAX_RANGE, blocks - done);
            resending(() -> {
                deallocateOnce(first, count);
                return 0;
            });
        }
    }

    private void deallocateOnce(long first, long count) {
        HostQueue queue = controller.lockQueue("a command");
        try {
            int slot = IoCommands.deallocate(queue, this, first, count, controller.inCapsuleData(), 0);
            queue.finish(slot, describe(Opcode.DATASET_MANAGEMENT, first, count), queue::release);
        } finally {
            queue.lock.unlock();
        }
    }

    /** Does something that can be done twice, again after losses of the controller if the program wants that. */
    private int resending(IntSupplier command) {
        for (int losses = 0; ; losses++) {
            Association used = controller.association();
            try {
                return command.getAsInt();
            } catch (NvmeException e) {
                boolean isLoss = e.status().equals(NvmeStatus.HOST_PATH_ERROR) && used.isLost();
                if (!isLoss || losses >= controller.resends() || !controller.awaitOther(used)) {
                    throw e;
                }
                checkNotReplaced();
            }
        }
    }

    /** {@return whether the controller says that it knows Write Zeroes} */
    public boolean canWriteZeroes() {
        return controller.has(ControllerData.HAS_WRITE_ZEROES);
    }

    /** {@return whether the controller says that it can deallocate} */
    public boolean canDeallocate() {
        return controller.has(ControllerData.HAS_DATASET_MANAGEMENT);
    }

    /** {@return whether the controller says that it knows Compare} */
    public boolean canCompare() {
        return controller.has(ControllerData.HAS_COMPARE);
    }

    /**
     * Returns a channel over the whole namespace, which reads and writes any number of bytes at any position. It copies, and
     * for parts of blocks it reads a block, changes it, and writes it.
     *
     * @return a new channel at position 0; closing it writes nothing and does not close the controller. It cannot be
     *     truncated, and writes end at the end of the namespace
     * @throws IllegalStateException when the controller is closed
     */
    public SeekableByteChannel channel() {
        return new NamespaceChannel(this);
    }

    /** Whether this and another one are the same, of maybe another size. */
    boolean isSame(NvmeNamespace other) {
        return id == other.id && blockShift == other.blockShift && Arrays.equals(guid, other.guid);
    }

    /** The controller has another namespace with this id, or none. */
    void replaced() {
        replaced.set(true);
    }

    /** This is the same as another one, of another size. */
    void succeeds(NvmeNamespace before) {
        replaced = before.replaced;
    }

    private void simple(int opcode, long first, int blocks) {
        HostQueue queue = controller.lockQueue("a command");
        try {
            int slot = IoCommands.simple(queue, opcode, this, first, blocks, 0);
            queue.finish(slot, describe(opcode, first, blocks), queue::release);
        } finally {
            queue.lock.unlock();
        }
    }

    private void transfer(int opcode, long first, MemorySegment memory) {
        long blocks = blocksOf(memory.byteSize());
        checkBlocks(first, blocks);
        MemoryRegion region = controller.regionOf(memory);
        checkRegion(region, opcode);
        transfer(opcode, first, blocks, region, memory.address() - region.address());
    }

    private void transfer(int opcode, long first, RegisteredBuffer buffer) {
        long blocks = blocksOf(buffer.byteSize());
        checkBlocks(first, blocks);
        checkRegion(buffer.region(), opcode);
        if (!buffer.isOpen()) {
            throw new IllegalStateException(buffer + " is closed");
        }
        transfer(opcode, first, blocks, buffer.region(), buffer.offset());
    }

    /** Checks that a region is one of the controller's protection domain, and that the controller may reach it. */
    void checkRegion(MemoryRegion region, int opcode) {
        if (!Objects.equals(region.protectionDomain(), controller.protectionDomain())) {
            throw new IllegalArgumentException(region + " belongs to another protection domain than " + controller
                    + ": register the memory on NvmeController.protectionDomain");
        }
        if (!region.isOpen()) {
            throw new IllegalStateException(region + " is closed");
        }
        if (controller.lendsByWindows()) {
            checkAccess(region, opcode, AccessFlag.MW_BIND);
            if (opcode == Opcode.READ) {
                checkAccess(region, opcode, AccessFlag.LOCAL_WRITE);
            }
        } else {
            checkAccess(region, opcode, opcode == Opcode.READ ? AccessFlag.REMOTE_WRITE : AccessFlag.REMOTE_READ);
        }
    }

    private void checkAccess(MemoryRegion region, int opcode, AccessFlag needed) {
        if (!region.access().contains(needed)) {
            throw new IllegalArgumentException(region + " must be registered with " + needed + " for "
                    + Opcode.name(false, opcode, 0)
                    + (controller.lendsByWindows() ? " with NvmeOptions.remoteInvalidation" : "") + ", and has "
                    + region.access());
        }
    }

    private long blocksOf(long bytes) {
        if (bytes == 0 || (bytes & blockSize() - 1) != 0) {
            throw new IllegalArgumentException(
                    "the size of the memory must be a multiple of the block size, " + blockSize() + " bytes: " + bytes);
        }
        return bytes >>> blockShift;
    }

    private void checkNotReplaced() {
        if (replaced.get()) {
            throw new IllegalStateException(
                    this + " is gone, or another one has its id now: ask NvmeController.namespaces");
        }
    }

    /** Checks what no command can say; what is not there, the controller reports. */
    void checkBlocks(long first, long blocks) {
        checkNotReplaced();
        if (first < 0) {
            throw new IllegalArgumentException("firstBlock must not be negative: " + first);
        }
        if (blocks < 1 || blocks > Long.MAX_VALUE - first) {
            throw new IllegalArgumentException("blocks must be at least 1, and end before 2^63: " + blocks);
        }
    }

    /** The most blocks that one command may transfer. */
    int maxBlocks() {
        return Math.min(MAX_BLOCKS, Math.max(1, controller.maxTransfer() >>> blockShift));
    }

    /**
     * Returns how many blocks one Write Zeroes may fill, as the controller has said (WZSL).
     *
     * @return 1 to 65536
     */
    public int maxZeroes() {
        return (int) Math.min(MAX_BLOCKS, Math.max(1, controller.maxWriteZeroes() >>> blockShift));
    }

    private void transfer(int opcode, long first, long blocks, MemoryRegion region, long offset) {
        resending(() -> {
            transferOnce(opcode, first, blocks, region, offset);
            return 0;
        });
    }

    /** Keeps as many commands under way as the queue allows. */
    private void transferOnce(int opcode, long first, long blocks, MemoryRegion region, long offset) {
        int most = maxBlocks();
        int inCapsule = controller.inCapsuleData();
        HostQueue queue = controller.lockQueue("a command");
        boolean interrupted = false;
        try {
            long begun = 0;
            RuntimeException failure = null;
            while ((begun < blocks && failure == null) || queue.underWay() > 0) {
                while (begun < blocks && failure == null) {
                    int count = (int) Math.min(most, blocks - begun);
                    int slot;
                    try {
                        slot = IoCommands.transfer(
                                queue,
                                opcode,
                                this,
                                first + begun,
                                count,
                                region,
                                offset + (begun << blockShift),
                                inCapsule,
                                first + begun);
                    } catch (RuntimeException e) {
                        // Those under way must end first: the caller may free their memory.
                        failure = e;
                        break;
                    }
                    if (slot < 0) {
                        break;
                    }
                    begun += count;
                }
                int done = queue.takeDone();
                while (done >= 0) {
                    NvmeException each = failureOf(queue, done, opcode, blocks - (queue.cookie(done) - first), most);
                    failure = failure == null ? each : failure;
                    queue.release(done);
                    done = queue.takeDone();
                }
                if (queue.underWay() > 0) {
                    interrupted |= queue.awaitUninterruptibly();
                }
            }
            // Those that ended in the last wait.
            for (int done = queue.takeDone(); done >= 0; done = queue.takeDone()) {
                NvmeException each = failureOf(queue, done, opcode, blocks - (queue.cookie(done) - first), most);
                failure = failure == null ? each : failure;
                queue.release(done);
            }
            if (failure != null) {
                throw failure;
            }
        } finally {
            queue.lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private @Nullable NvmeException failureOf(HostQueue queue, int slot, int opcode, long left, int most) {
        NvmeStatus status = NvmeStatus.of(queue.status(slot));
        if (status.isSuccess()) {
            return null;
        }
        String command = describe(opcode, queue.cookie(slot), Math.min(left, most));
        return queue.isLost() && status.equals(NvmeStatus.HOST_PATH_ERROR)
                ? queue.lostException(command)
                : new NvmeException(command, status);
    }

    /** Names a command. */
    String describe(int opcode, long first, long blocks) {
        String name = Opcode.name(false, opcode, 0);
        return blocks == 0
                ? name + " of namespace " + id
                : name + " of namespace " + id + ", blocks " + first + " to " + (first + blocks - 1) + " of "
                        + blockCount + ",";
    }

    /** Id, size and controller. */
    @Override
    public String toString() {
        return "namespace " + Integer.toUnsignedString(id) + " with " + blockCount + " blocks of " + blockSize()
                + " bytes, of " + controller;
    }
}
