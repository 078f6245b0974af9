package org.rdmapanama.nvme;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Where the blocks of a namespace are that a {@link NvmeTarget} serves: memory, a mapped file, or a file. With memory and
 * mapped files the device reads and writes the blocks directly, without a copy, if it can register them.
 *
 * <p>Threads: any number. Closing waits for nobody: close the target first.
 */
public abstract sealed class NvmeBacking implements AutoCloseable {
    private final long byteSize;
    private final boolean readOnly;

    private NvmeBacking(long byteSize, boolean readOnly) {
        this.byteSize = byteSize;
        this.readOnly = readOnly;
    }

    /**
     * Keeps the blocks in new memory, filled with zeros, which the collector frees.
     *
     * @param byteSize the size in bytes, 1 or more; blocks that are not whole at the end are not served
     * @return the backing
     * @throws IllegalArgumentException when the size is less than 1
     * @throws OutOfMemoryError when there is not enough memory
     */
    @CheckReturnValue
    public static NvmeBacking ofMemory(long byteSize) {
        if (byteSize < 1) {
            throw new IllegalArgumentException("byteSize must be at least 1: " + byteSize);
        }
        return ofMemory(Arena.ofAuto().allocate(byteSize, 4096));
    }

    /**
     * Keeps the blocks in given memory. What the program writes there, hosts read.
     *
     * @param memory native memory; the device uses it directly only if it is of an automatic or the global arena. It must not
     *     be freed before the target is closed
     * @return the backing
     * @throws IllegalArgumentException when the memory is on the heap, or empty
     * @throws NullPointerException when the memory is null
     */
    @CheckReturnValue
    public static NvmeBacking ofMemory(MemorySegment memory) {
        if (!memory.isNative() || memory.byteSize() == 0) {
            throw new IllegalArgumentException("memory must be native and not empty: " + memory);
        }
        return new Memory(memory, false);
    }

    /**
     * Keeps the blocks in a file, which is read and written for each command.
     *
     * @param file an existing file or block device
     * @param readOnly whether hosts must not write
     * @return the backing, which closes the file
     * @throws IllegalArgumentException when the file is empty
     * @throws IOException when the file cannot be opened
     * @throws NullPointerException when the file is null
     */
    @CheckReturnValue
    public static NvmeBacking ofFile(Path file, boolean readOnly) throws IOException {
        FileChannel channel = open(file, readOnly);
        try {
            return ofChannel(channel, checkedSize(channel, file), readOnly);
        } catch (RuntimeException | IOException e) {
            channel.close();
            throw e;
        }
    }

    /**
     * Keeps the blocks in a file that is mapped into memory as a whole. Flush forces the mapping to the disk.
     *
     * @param file an existing file, whose size does not change meanwhile
     * @param readOnly whether hosts must not write
     * @return the backing, whose mapping the collector ends
     * @throws IllegalArgumentException when the file is empty
     * @throws IOException when the file cannot be mapped
     * @throws NullPointerException when the file is null
     */
    @CheckReturnValue
    public static NvmeBacking ofMappedFile(Path file, boolean readOnly) throws IOException {
        try (FileChannel channel = open(file, readOnly)) {
            FileChannel.MapMode mode = readOnly ? FileChannel.MapMode.READ_ONLY : FileChannel.MapMode.READ_WRITE;
            return new Memory(channel.map(mode, 0, checkedSize(channel, file), Arena.ofAuto()), readOnly);
        }
    }

    /** Serves a channel that is open, which closing the backing closes. */
    static NvmeBacking ofChannel(FileChannel channel, long byteSize, boolean readOnly) {
        return new File(channel, byteSize, readOnly);
    }

    private static FileChannel open(Path file, boolean readOnly) throws IOException {
        Objects.requireNonNull(file, "file");
        return readOnly
                ? FileChannel.open(file, StandardOpenOption.READ)
                : FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    private static long checkedSize(FileChannel channel, Path file) throws IOException {
        long size = channel.size();
        if (size == 0) {
            throw new IllegalArgumentException(file + " is empty: give it the size of the namespace");
        }
        return size;
    }

    /**
     * {@return the size in bytes}
     */
    public long byteSize() {
        return byteSize;
    }

    /**
     * {@return whether hosts must not write}
     */
    public boolean isReadOnly() {
        return readOnly;
    }

    /** The memory that the device may use directly; null if there is none. */
    abstract @Nullable MemorySegment memory();

    /** Reads as many bytes as the buffer has room for. */
    abstract void read(long offset, ByteBuffer into) throws IOException;

    /** Writes all bytes of the buffer. */
    abstract void write(long offset, ByteBuffer from) throws IOException;

    /** Fills bytes with zeros. */
    abstract void zero(long offset, long bytes) throws IOException;

    /** The data of bytes is not needed any more: they may become zeros, or stay as they are. */
    abstract void discard(long offset, long bytes);

    /** Has what was written reach the disk. */
    abstract void flush() throws IOException;

    /**
     * Closes the file, if there is one. A second call does nothing.
     *
     * @throws IOException when closing fails
     */
    @Override
    public abstract void close() throws IOException;

    /** Memory, or a mapped file. */
    private static final class Memory extends NvmeBacking {
        private final MemorySegment memory;

        Memory(MemorySegment memory, boolean readOnly) {
            super(memory.byteSize(), readOnly);
            this.memory = memory;
        }

        @Override
        @Nullable
        MemorySegment memory() {
            return memory;
        }

        @Override
        void read(long offset, ByteBuffer into) {
            MemorySegment to = MemorySegment.ofBuffer(into);
            to.copyFrom(memory.asSlice(offset, to.byteSize()));
        }

        @Override
        void write(long offset, ByteBuffer from) {
            MemorySegment source = MemorySegment.ofBuffer(from);
            memory.asSlice(offset, source.byteSize()).copyFrom(source);
        }

        @Override
        void zero(long offset, long bytes) {
            memory.asSlice(offset, bytes).fill((byte) 0);
        }

        @Override
        void discard(long offset, long bytes) {
            zero(offset, bytes);
        }

        @Override
        void flush() throws IOException {
            if (memory.isMapped() && !isReadOnly()) {
                try {
                    memory.force();
                } catch (UncheckedIOException e) {
                    // A disk that fails ends the command, and not its queue.
                    throw e.getCause();
                }
            }
        }

        @Override
        public void close() {
            // The collector frees it.
        }
    }

    /** A file that is read and written. */
    private static final class File extends NvmeBacking {
        private static final int ZEROES = 64 * 1024;

        private final FileChannel channel;
        private final ByteBuffer zeroes = ByteBuffer.allocateDirect(ZEROES).asReadOnlyBuffer();

        File(FileChannel channel, long size, boolean readOnly) {
            super(size, readOnly);
            this.channel = channel;
        }

        @Override
        @Nullable
        MemorySegment memory() {
            return null;
        }

        @Override
        void read(long offset, ByteBuffer into) throws IOException {
            long at = offset;
            while (into.hasRemaining()) {
                int count = channel.read(into, at);
                if (count < 0) {
                    throw new EOFException("the file has become shorter: there is no byte " + at);
                }
                at += count;
            }
        }

        @Override
        void write(long offset, ByteBuffer from) throws IOException {
            long at = offset;
            while (from.hasRemaining()) {
                at += channel.write(from, at);
            }
        }

        @Override
        void zero(long offset, long bytes) throws IOException {
            for (long done = 0; done < bytes; done += ZEROES) {
                write(offset + done, zeroes.slice(0, (int) Math.min(ZEROES, bytes - done)));
            }
        }

        @Override
        void discard(long offset, long bytes) {
            // Java cannot make holes in files.
        }

        @Override
        void flush() throws IOException {
            if (!isReadOnly()) {
                channel.force(false);
            }
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
