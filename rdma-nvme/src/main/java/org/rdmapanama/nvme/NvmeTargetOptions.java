package org.rdmapanama.nvme;

import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.nvme.wire.ControllerData;

/**
 * What a {@link NvmeTarget} serves, and within which limits.
 *
 * <p>{@snippet :
 * new NvmeTargetOptions("nqn.2026-01.org.example:disk").namespace(1, 4096, NvmeBacking.ofMemory(1 << 30))
 * }
 *
 * <p>Threads: not thread-safe.
 */
public final class NvmeTargetOptions {
    /** A namespace that a target serves, and how many commands use it now. */
    record Served(int id, int blockShift, long blocks, NvmeBacking backing, AtomicInteger users) {
        long bytes() {
            return blocks << blockShift;
        }
    }

    /** The largest id, and so the most namespaces. */
    static final int MAX_NAMESPACES = 1024;

    private final String subsystem;
    private final SortedMap<Integer, Served> namespaces = new TreeMap<>();
    private String serial;
    private int queueSize = 128;
    private int ioQueues = 16;
    private int maxQueues = 256;
    private int maxControllers = 64;
    private int inCapsuleData = 4096;
    private int maxTransfer = 128 * 1024;
    private int maxWriteZeroes = 8 << 20;

    /**
     * Creates options without namespaces: queues of 128 entries, 16 I/O queues for each controller, 64 controllers, 256 queues
     * for all of them, 4096 bytes of data in a capsule, and 128 KiB for one command.
     *
     * @param subsystem the NVMe qualified name (NQN) of the subsystem, 1 to 223 characters of ASCII
     * @throws IllegalArgumentException when the name is too short or too long, has other characters, or ends with a blank
     * @throws NullPointerException when the name is null
     */
    public NvmeTargetOptions(String subsystem) {
        // Names have the same rules everywhere.
        new NvmeOptions().subsystem(subsystem);
        this.subsystem = subsystem;
        serial = serialOf(subsystem);
    }

    /** The first 20 hexadecimal digits of a digest: as many as the field has room for. */
    private static String serialOf(String subsystem) {
        UUID digest = UUID.nameUUIDFromBytes(("serial number of " + subsystem).getBytes(StandardCharsets.UTF_8));
        return digest.toString().replace("-", "").substring(0, ControllerData.SERIAL_BYTES);
    }

    private static int powerOfTwo(String what, int value, int least, int most) {
        if (Integer.bitCount(NvmeOptions.checked(what, value, least, most)) != 1) {
            throw new IllegalArgumentException(what + " must be a power of two: " + value);
        }
        return value;
    }

    /**
     * Adds a namespace.
     *
     * @param id its id, 1 to 1024
     * @param blockSize the size of its blocks in bytes, a power of two from 512 to 65536
     * @param backing where the blocks are; the program closes it, after the target
     * @return this
     * @throws IllegalArgumentException when a number is out of range, the id is in use, or the backing has no whole block
     * @throws NullPointerException when the backing is null
     */
    public NvmeTargetOptions namespace(int id, int blockSize, NvmeBacking backing) {
        Served served = served(id, blockSize, backing);
        if (namespaces.putIfAbsent(id, served) != null) {
            throw new IllegalArgumentException("there is a namespace with id " + id + " already");
        }
        return this;
    }

    static Served served(int id, int blockSize, NvmeBacking backing) {
        Objects.requireNonNull(backing, "backing");
        NvmeOptions.checked("id", id, 1, MAX_NAMESPACES);
        int shift = Integer.numberOfTrailingZeros(powerOfTwo("blockSize", blockSize, 512, 65536));
        long blocks = backing.byteSize() >>> shift;
        if (blocks == 0) {
            throw new IllegalArgumentException("the backing must have at least one block of " + blockSize
                    + " bytes, and has " + backing.byteSize() + " bytes");
        }
        return new Served(id, shift, blocks, backing, new AtomicInteger());
    }

    /**
     * Sets the serial number that hosts see. By default it is made from the name of the subsystem, so that subsystems differ
     * in it, and a target that is started again keeps it: a host that connects again looks at that.
     *
     * @param number up to 20 characters of ASCII; the rest is cut off
     * @return this
     * @throws NullPointerException when the number is null
     */
    public NvmeTargetOptions serial(String number) {
        serial = Objects.requireNonNull(number, "number");
        return this;
    }

    /**
     * Sets the most entries that an I/O queue may have.
     *
     * @param entries 2 to 1024
     * @return this
     * @throws IllegalArgumentException when the number is out of range
     */
    public NvmeTargetOptions queueSize(int entries) {
        queueSize = NvmeOptions.checked("queueSize", entries, 2, 1024);
        return this;
    }

    /**
     * Sets how many I/O queues a controller may have.
     *
     * @param count 1 to 1024
     * @return this
     * @throws IllegalArgumentException when the number is out of range
     */
    public NvmeTargetOptions ioQueues(int count) {
        ioQueues = NvmeOptions.checked("ioQueues", count, 1, 1024);
        return this;
    }

    /**
     * Sets how many queues there may be in all. Each has a thread, and memory for its commands. From 8 on, an eighth of them
     * is kept from each address for the hosts at others. Connections on which no Connect has come take at most half: another
     * one ends the oldest.
     *
     * @param count 1 to 65535
     * @return this
     * @throws IllegalArgumentException when the number is out of range
     */
    public NvmeTargetOptions maxQueues(int count) {
        maxQueues = NvmeOptions.checked("maxQueues", count, 1, 65535);
        return this;
    }

    /**
     * Sets how many controllers there may be, which is how many hosts may be connected. From 8 on, an eighth of them is kept
     * from each address for the hosts at others.
     *
     * @param count 1 to 65519
     * @return this
     * @throws IllegalArgumentException when the number is out of range
     */
    public NvmeTargetOptions maxControllers(int count) {
        maxControllers = NvmeOptions.checked("maxControllers", count, 1, 65519);
        return this;
    }

    /**
     * Sets how much data of a write may come in the capsule of its command.
     *
     * @param bytes 0 to 65536, a multiple of 16
     * @return this
     * @throws IllegalArgumentException when the number is out of range, or not such a multiple
     */
    public NvmeTargetOptions inCapsuleData(int bytes) {
        if (NvmeOptions.checked("inCapsuleData", bytes, 0, 65536) % 16 != 0) {
            throw new IllegalArgumentException("inCapsuleData must be a multiple of 16: " + bytes);
        }
        inCapsuleData = bytes;
        return this;
    }

    /**
     * Sets how much one command may transfer. Each queue has four buffers of this size.
     *
     * @param bytes a power of two from 65536 to 8388608
     * @return this
     * @throws IllegalArgumentException when the number is out of range, or no power of two
     */
    public NvmeTargetOptions maxTransfer(int bytes) {
        maxTransfer = powerOfTwo("maxTransfer", bytes, 65536, 1 << 23);
        return this;
    }

    /**
     * Sets how many bytes one Write Zeroes may fill, so that no command holds up those behind it for long. Hosts are told of
     * it (WZSL), and a command for more is refused.
     *
     * @param bytes a power of two from 8192 to 1 GiB; 8 MiB by default. It should be at least the transfer that is allowed,
     *     which older hosts take for the limit
     * @return this
     * @throws IllegalArgumentException when the number is out of range or not a power of two
     */
    public NvmeTargetOptions maxWriteZeroes(int bytes) {
        maxWriteZeroes = powerOfTwo("maxWriteZeroes", bytes, 8192, 1 << 30);
        return this;
    }

    NvmeTargetOptions copy() {
        NvmeTargetOptions copy = new NvmeTargetOptions(subsystem);
        for (Served each : namespaces.values()) {
            // Each target counts its own commands.
            copy.namespace(each.id(), 1 << each.blockShift(), each.backing());
        }
        copy.serial = serial;
        copy.queueSize = queueSize;
        copy.ioQueues = ioQueues;
        copy.maxQueues = maxQueues;
        copy.maxControllers = maxControllers;
        copy.inCapsuleData = inCapsuleData;
        copy.maxTransfer = maxTransfer;
        copy.maxWriteZeroes = maxWriteZeroes;
        return copy;
    }

    String subsystem() {
        return subsystem;
    }

    SortedMap<Integer, Served> namespaces() {
        return namespaces;
    }

    String serial() {
        return serial;
    }

    int queueSize() {
        return queueSize;
    }

    int ioQueues() {
        return ioQueues;
    }

    int maxQueues() {
        return maxQueues;
    }

    int maxControllers() {
        return maxControllers;
    }

    int inCapsuleData() {
        return inCapsuleData;
    }

    int maxWriteZeroes() {
        return maxWriteZeroes;
    }

    int maxTransfer() {
        return maxTransfer;
    }
}
