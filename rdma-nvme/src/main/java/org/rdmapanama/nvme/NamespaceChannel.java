package org.rdmapanama.nvme;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SeekableByteChannel;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.MemoryRegion;

/** A namespace as a channel of bytes; see {@link NvmeNamespace#channel}. */
final class NamespaceChannel implements SeekableByteChannel {
    private static final int BUFFER_BYTES = 128 * 1024;

    private final NvmeNamespace namespace;
    private final int blockSize;
    private final MemoryRegion region;
    private final int bufferBytes;
    private final ReentrantLock lock = new ReentrantLock();
    private long position;
    private volatile boolean open = true;

    NamespaceChannel(NvmeNamespace namespace) {
        this.namespace = namespace;
        blockSize = namespace.blockSize();
        bufferBytes = Math.max(blockSize, BUFFER_BYTES);
        region = namespace.controller().allocateForChannel(bufferBytes);
    }

    private void check() throws ClosedChannelException {
        if (!open) {
            throw new ClosedChannelException();
        }
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
        lock.lock();
        try {
            check();
            if (position >= namespace.byteSize()) {
                return -1;
            }
            int total = 0;
            while (target.hasRemaining() && position < namespace.byteSize()) {
                int skip = (int) (position & blockSize - 1);
                int count = countAt(skip, target.remaining());
                read(position - skip, skip + count);
                target.put(region.memory().asSlice(skip, count).asByteBuffer());
                position += count;
                total += count;
            }
            return total;
        } finally {
            lock.unlock();
        }
    }

    /** How many bytes fit into the buffer behind those of its first block that are not asked for. */
    private int countAt(int skip, int wanted) {
        return (int) Math.min(Math.min(wanted, bufferBytes - skip), namespace.byteSize() - position);
    }

    private int wholeBlocks(int bytes) {
        return (bytes + blockSize - 1) / blockSize * blockSize;
    }

    private void read(long from, int bytes) throws IOException {
        try {
            namespace.read(from / blockSize, region.memory().asSlice(0, wholeBlocks(bytes)));
        } catch (NvmeException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        lock.lock();
        try {
            check();
            if (source.hasRemaining() && position >= namespace.byteSize()) {
                throw new IOException("position " + position + " is not in " + namespace);
            }
            int total = 0;
            while (source.hasRemaining() && position < namespace.byteSize()) {
                int skip = (int) (position & blockSize - 1);
                int count = countAt(skip, source.remaining());
                int bytes = wholeBlocks(skip + count);
                if (skip != 0 || bytes != count) {
                    // Only the first and the last block have bytes that stay.
                    read(position - skip, bytes);
                }
                MemorySegment data = region.memory().asSlice(skip, count);
                data.copyFrom(MemorySegment.ofBuffer(source.slice(source.position(), count)));
                namespace.write((position - skip) / blockSize, region.memory().asSlice(0, bytes));
                source.position(source.position() + count);
                position += count;
                total += count;
            }
            return total;
        } catch (NvmeException e) {
            throw new IOException(e.getMessage(), e);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public long position() throws IOException {
        lock.lock();
        try {
            check();
            return position;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public SeekableByteChannel position(long newPosition) throws IOException {
        if (newPosition < 0) {
            throw new IllegalArgumentException("newPosition must not be negative: " + newPosition);
        }
        lock.lock();
        try {
            check();
            position = newPosition;
            return this;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public long size() throws IOException {
        check();
        return namespace.byteSize();
    }

    @Override
    public SeekableByteChannel truncate(long size) throws IOException {
        check();
        if (size < 0) {
            throw new IllegalArgumentException("size must not be negative: " + size);
        }
        if (size < namespace.byteSize()) {
            throw new IOException("a namespace cannot be truncated: " + namespace);
        }
        return this;
    }

    @Override
    public boolean isOpen() {
        return open;
    }

    @Override
    public void close() {
        lock.lock();
        try {
            if (open) {
                open = false;
                region.close();
            }
        } finally {
            lock.unlock();
        }
    }
}
