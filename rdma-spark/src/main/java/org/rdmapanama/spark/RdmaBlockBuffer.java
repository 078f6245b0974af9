package org.rdmapanama.spark;

import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.Unpooled;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.rdmapanama.spark.transfer.FetchedBlock;

/** A block in the registered memory that it was read into. */
final class RdmaBlockBuffer extends ManagedBuffer {
    private final FetchedBlock block;

    RdmaBlockBuffer(FetchedBlock block) {
        this.block = block;
    }

    @Override
    public long size() {
        return block.memory().byteSize();
    }

    @Override
    public ByteBuffer nioByteBuffer() {
        return block.memory().asByteBuffer();
    }

    @Override
    public InputStream createInputStream() {
        return new ByteBufInputStream(Unpooled.wrappedBuffer(nioByteBuffer()));
    }

    @Override
    public ManagedBuffer retain() {
        block.retain();
        return this;
    }

    @Override
    public ManagedBuffer release() {
        block.release();
        return this;
    }

    @Override
    public Object convertToNetty() {
        return Unpooled.wrappedBuffer(nioByteBuffer());
    }

    @Override
    public Object convertToNettyForSsl() {
        return convertToNetty();
    }
}
