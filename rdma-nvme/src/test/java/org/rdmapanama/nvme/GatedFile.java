package org.rdmapanama.nvme;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A file whose reads wait until a test lets them go, as those of a disk that is slow. */
final class GatedFile extends FileChannel {
    private final FileChannel file;

    /** Is zero when the first read has begun, and when reads may go on. */
    final CountDownLatch entered = new CountDownLatch(1);

    final CountDownLatch open = new CountDownLatch(1);

    GatedFile(FileChannel file) {
        this.file = file;
    }

    @Override
    public int read(ByteBuffer into, long position) throws IOException {
        entered.countDown();
        try {
            if (!open.await(60, TimeUnit.SECONDS)) {
                throw new IOException("the test does not open the gate");
            }
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
        return file.read(into, position);
    }

    @Override
    public int write(ByteBuffer from, long position) throws IOException {
        return file.write(from, position);
    }

    @Override
    public void force(boolean metaData) throws IOException {
        file.force(metaData);
    }

    @Override
    public long size() throws IOException {
        return file.size();
    }

    @Override
    protected void implCloseChannel() throws IOException {
        file.close();
    }

    private static UnsupportedOperationException unused() {
        return new UnsupportedOperationException("a backing does not use this");
    }

    @Override
    public int read(ByteBuffer into) {
        throw unused();
    }

    @Override
    public long read(ByteBuffer[] into, int offset, int length) {
        throw unused();
    }

    @Override
    public int write(ByteBuffer from) {
        throw unused();
    }

    @Override
    public long write(ByteBuffer[] from, int offset, int length) {
        throw unused();
    }

    @Override
    public long position() {
        throw unused();
    }

    @Override
    public FileChannel position(long newPosition) {
        throw unused();
    }

    @Override
    public FileChannel truncate(long size) {
        throw unused();
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target) {
        throw unused();
    }

    @Override
    public long transferFrom(ReadableByteChannel source, long position, long count) {
        throw unused();
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long position, long size) {
        throw unused();
    }

    @Override
    public FileLock lock(long position, long size, boolean shared) {
        throw unused();
    }

    @Override
    public FileLock tryLock(long position, long size, boolean shared) {
        throw unused();
    }
}
