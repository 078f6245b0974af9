package org.rdmapanama.spark.transfer;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import org.rdmapanama.MemoryRegion;

/** A whole file that is mapped and registered, so that peers may read it. {@link FileRegions} owns it. */
final class FileRegion {
    private final Path file;
    private final int shuffle;
    private final long bytes;
    private Arena arena;
    private MemoryRegion region;

    /** How many leases contain it. {@link FileRegions} guards it, and the next ones. */
    int users;

    /** When somebody was lent it, or gave it back, last. */
    long used = System.nanoTime();

    /** Whether it is being registered or deregistered, so that it is not to be used or evicted. */
    boolean isChanging = true;

    /** Whether it goes when nobody uses it any more. */
    boolean isForgotten;

    FileRegion(Path file, int shuffle, long bytes) {
        this.file = file;
        this.shuffle = shuffle;
        this.bytes = bytes;
    }

    Path file() {
        return file;
    }

    int shuffle() {
        return shuffle;
    }

    long bytes() {
        return bytes;
    }

    long address() {
        return region.address();
    }

    int rkey() {
        return region.rkey();
    }

    /**
     * Maps and registers the file.
     *
     * @throws IOException when it cannot be opened or mapped
     * @throws org.rdmapanama.VerbsException when it cannot be registered
     */
    void open(FileRegistrar registrar) throws IOException {
        arena = Arena.ofShared();
        try {
            region = registrar.register(file, bytes, arena);
        } catch (IOException | RuntimeException | Error e) {
            arena.close();
            throw e;
        }
    }

    /** Deregisters and unmaps it. */
    void close() {
        region.close();
        arena.close();
    }
}
