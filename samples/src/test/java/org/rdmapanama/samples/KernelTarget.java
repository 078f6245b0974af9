package org.rdmapanama.samples;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Deque;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.samples.today.DirectFile;

/**
 * The target of NVMe over RDMA in the Linux kernel, with disks that are memory of the kernel. All of it is made by files in
 * configfs, and removed by closing this.
 */
final class KernelTarget implements AutoCloseable {
    static final String NAME = "nqn.2026-01.org.rdmapanama:kernel";

    /** What direct reads and writes of a device must be aligned to. */
    private static final int ALIGNMENT = 4096;

    private static final OpenOption DIRECT = DirectFile.option();

    private static final Path CONFIG = Path.of("/sys/kernel/config");
    private static final Path SUBSYSTEM = CONFIG.resolve("nvmet/subsystems").resolve(NAME);

    /** How to remove what was made, the last first. */
    private final Deque<Removal> removals = new ArrayDeque<>();

    private int ports;

    /** Removes one thing. */
    private interface Removal {
        void run() throws IOException;
    }

    KernelTarget() throws IOException {
        Program.run("modprobe", "null_blk", "nr_devices=0");
        // With multipath, all connections of the kernel with a subsystem are paths to the same device.
        Program.run("modprobe", "nvme-core", "multipath=N", "io_timeout=5");
        keepOrder();
        Program.run("modprobe", "-a", "nvmet-rdma", "nvme-rdma");
        makeDirectory(SUBSYSTEM);
        set(SUBSYSTEM, "attr_allow_any_host", "1");
    }

    /**
     * Has the packets of a connection take the same processor on their way through the lab's pair of interfaces: otherwise they
     * overtake each other, and are repeated. Soft-RoCE then does the registrations of the kernel's host among the work requests
     * a second time, which fails, and the host notices by the time limit of its commands only.
     */
    private static void keepOrder() throws IOException {
        for (String each : new String[] {"veth0", "veth1"}) {
            set(Path.of("/sys/class/net", each, "queues/rx-0"), "rps_cpus", allProcessors());
        }
    }

    /** All processors of this machine, as the kernel writes a set of them. */
    static String allProcessors() {
        return Integer.toHexString((1 << Runtime.getRuntime().availableProcessors()) - 1);
    }

    private static void set(Path folder, String file, String value) throws IOException {
        Files.writeString(folder.resolve(file), value);
    }

    private void makeDirectory(Path folder) throws IOException {
        Files.createDirectory(folder);
        removals.push(() -> Files.delete(folder));
    }

    /** Adds a namespace, and returns its device. */
    Path addDisk(int id, int blockSize, int mebibytes) throws IOException {
        String name = "disk" + id;
        Path disk = CONFIG.resolve("nullb").resolve(name);
        makeDirectory(disk);
        set(disk, "memory_backed", "1");
        set(disk, "discard", "1");
        set(disk, "size", Integer.toString(mebibytes));
        set(disk, "blocksize", Integer.toString(blockSize));
        set(disk, "power", "1");
        removals.push(() -> set(disk, "power", "0"));
        Path device = Path.of("/dev", name);
        Path namespace = SUBSYSTEM.resolve("namespaces").resolve(Integer.toString(id));
        makeDirectory(namespace);
        set(namespace, "device_path", device.toString());
        set(namespace, "enable", "1");
        removals.push(() -> set(namespace, "enable", "0"));
        return device;
    }

    /** The file of an attribute of a namespace, such as device_uuid. */
    static Path attribute(int id, String name) {
        return SUBSYSTEM.resolve("namespaces").resolve(Integer.toString(id)).resolve(name);
    }

    /** Serves the disks at an address, and returns what {@link #withdraw}, {@link #offer} and {@link #stop} need. */
    Path listen(String address, int port) throws IOException {
        String number = Integer.toString(++ports);
        Path folder = CONFIG.resolve("nvmet/ports").resolve(number);
        Path link = folder.resolve("subsystems").resolve(NAME);
        Files.createDirectory(folder);
        removals.push(() -> stop(link));
        set(folder, "addr_trtype", "rdma");
        set(folder, "addr_adrfam", address.contains(":") ? "ipv6" : "ipv4");
        set(folder, "addr_traddr", address);
        set(folder, "addr_trsvcid", Integer.toString(port));
        offer(link);
        return link;
    }

    /** Serves no longer at an address. */
    static void stop(Path link) throws IOException {
        Files.deleteIfExists(link);
        Files.deleteIfExists(link.getParent().getParent());
    }

    /** Takes the subsystem away from an address, which ends the controllers there. */
    static void withdraw(Path link) throws IOException {
        Files.delete(link);
    }

    static void offer(Path link) throws IOException {
        Files.createSymbolicLink(link, SUBSYSTEM);
    }

    private static ByteBuffer aligned(int size) {
        return ByteBuffer.allocateDirect(size + ALIGNMENT)
                .alignedSlice(ALIGNMENT)
                .limit(size)
                .slice();
    }

    /** Reads from a device, past the cache of the kernel. */
    static byte[] read(Path device, long offset, int size) throws IOException {
        byte[] bytes = new byte[size];
        try (FileChannel channel = FileChannel.open(device, StandardOpenOption.READ, DIRECT)) {
            ByteBuffer buffer = aligned(size);
            while (buffer.hasRemaining() && channel.read(buffer, offset + buffer.position()) > 0) {
                // More is to come.
            }
            if (buffer.hasRemaining()) {
                throw new EOFException(device + " ends after " + (offset + buffer.position()) + " bytes");
            }
            buffer.flip().get(bytes);
        }
        return bytes;
    }

    /** Writes to a device, past the cache of the kernel. */
    static void write(Path device, long offset, byte[] bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(device, StandardOpenOption.WRITE, DIRECT)) {
            ByteBuffer buffer = aligned(bytes.length).put(bytes).flip();
            while (buffer.hasRemaining()) {
                channel.write(buffer, offset + buffer.position());
            }
        }
    }

    @Override
    public void close() throws IOException {
        IOException failure = null;
        while (!removals.isEmpty()) {
            try {
                removals.pop().run();
            } catch (IOException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
