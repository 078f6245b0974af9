package org.rdmapanama.samples.today;

import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.NoSuchElementException;
import java.util.stream.Stream;

/**
 * A file that is read past the page cache: the disk writes into the memory of the program. Offsets, sizes and addresses must
 * be multiples of the block size.
 */
public final class DirectFile implements Closeable {
    private static final String OPTIONS = "com.sun.nio.file.ExtendedOpenOption";

    private final FileChannel channel;
    private final long size;
    private final long blockSize;

    /**
     * Opens a file.
     *
     * @param file the file
     * @throws IOException if that fails
     * @throws UnsupportedOperationException if the file system does not support this
     */
    public DirectFile(Path file) throws IOException {
        blockSize = Files.getFileStore(file).getBlockSize();
        channel = FileChannel.open(file, StandardOpenOption.READ, option());
        size = channel.size();
    }

    /**
     * Returns the option of the JDK for this, by its name, because the compiler warns of what belongs to no standard.
     *
     * @return {@code ExtendedOpenOption.DIRECT}
     * @throws UnsupportedOperationException if this JDK does not have it
     */
    public static OpenOption option() {
        try {
            return Stream.of(Class.forName(OPTIONS).getEnumConstants())
                    .filter(option -> option.toString().equals("DIRECT"))
                    .map(OpenOption.class::cast)
                    .findFirst()
                    .orElseThrow();
        } catch (ClassNotFoundException | NoSuchElementException e) {
            throw new UnsupportedOperationException("this JDK has no option DIRECT of " + OPTIONS, e);
        }
    }

    /**
     * Tries whether a file can be read in pieces of this size.
     *
     * @param file the file
     * @param piece the size in bytes
     * @return why not; empty if it can
     */
    public static String obstacle(Path file, int piece) {
        try (DirectFile direct = new DirectFile(file);
                Arena arena = Arena.ofConfined()) {
            direct.read(direct.allocate(arena, piece).asByteBuffer(), 0);
            return "";
        } catch (IOException | UnsupportedOperationException e) {
            return e.getMessage() == null ? e.toString() : e.getMessage();
        }
    }

    /**
     * Returns the size of the file.
     *
     * @return the number of bytes
     */
    public long size() {
        return size;
    }

    /**
     * Allocates memory that the file can be read into.
     *
     * @param arena the arena
     * @param bytes the size
     * @return the memory
     */
    public MemorySegment allocate(Arena arena, long bytes) {
        return arena.allocate(bytes, blockSize);
    }

    /**
     * Reads until the target is full or the file ends.
     *
     * @param target where to
     * @param offset where to begin in the file
     * @throws IOException if that fails
     */
    public void read(ByteBuffer target, long offset) throws IOException {
        long at = offset;
        while (target.hasRemaining() && at < size) {
            int count = channel.read(target, at);
            if (count <= 0) {
                throw new IOException("the file became shorter");
            }
            at += count;
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
