package org.rdmapanama.spark.transfer;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Function;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsException;

/**
 * Maps whole files and registers them for remote reads, in the way that takes least of those that the kernel allows.
 *
 * <p>Threads: any.
 */
final class FileRegistrar {
    private static final Logger LOG = LogManager.getLogger(FileRegistrar.class);

    /** What a kernel answers that pins pages for writing, and may not write to them. */
    private static final int EFAULT = 14;

    private final Function<MemorySegment, MemoryRegion> device;

    /** Whether the kernel has refused a file that is mapped for reading only. */
    private volatile boolean needsWriting;

    /**
     * Creates it.
     *
     * @param device registers memory for remote reads
     */
    FileRegistrar(Function<MemorySegment, MemoryRegion> device) {
        this.device = device;
    }

    /**
     * Maps and registers a file.
     *
     * @param file the file
     * @param bytes its size
     * @param arena closing it unmaps the file, which is not to be done before the region is closed
     * @return the region
     * @throws IOException when the file cannot be opened or mapped
     * @throws VerbsException when it cannot be registered
     */
    MemoryRegion register(Path file, long bytes, Arena arena) throws IOException {
        if (needsWriting) {
            return registerForWriting(file, bytes, arena);
        }
        MemorySegment memory;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            memory = channel.map(MapMode.READ_ONLY, 0, bytes, arena);
        }
        try {
            return device.apply(memory);
        } catch (VerbsException e) {
            if (e.errno() != EFAULT) {
                throw e;
            }
        }
        MemoryRegion region = registerForWriting(file, bytes, arena);
        if (!needsWriting) {
            needsWriting = true;
            LOG.info("files are mapped for writing, which takes longer: this kernel is older than Linux 6.2");
        }
        return region;
    }

    /** Linux before 6.2 pins pages for writing, even those that are registered for reading only. */
    private MemoryRegion registerForWriting(Path file, long bytes, Arena arena) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return device.apply(channel.map(MapMode.READ_WRITE, 0, bytes, arena));
        }
    }
}
