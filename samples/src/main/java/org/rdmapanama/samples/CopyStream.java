package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.time.Duration;
import org.rdmapanama.rsocket.RSelector;
import org.rdmapanama.rsocket.RSocketChannel;

/**
 * A connection that sends or receives everything, or fails; it also fails if the peer does nothing for too long.
 * Threads: one at a time.
 */
final class CopyStream implements AutoCloseable {
    private final RSocketChannel channel;
    private final Duration patience;
    private final Selector selector;
    private final SelectionKey key;

    CopyStream(RSocketChannel channel, Duration patience) throws IOException {
        this.channel = channel;
        this.patience = patience;
        channel.configureBlocking(false);
        selector = RSelector.open();
        key = channel.register(selector, 0);
    }

    void send(ByteBuffer data) throws IOException, InterruptedException {
        while (data.hasRemaining()) {
            if (channel.write(data) == 0) {
                await(SelectionKey.OP_WRITE);
            }
        }
    }

    /** Sends at least one byte, and returns the number of bytes sent. */
    long sendSome(MemorySegment data) throws IOException, InterruptedException {
        long count = channel.write(data);
        while (count == 0) {
            await(SelectionKey.OP_WRITE);
            count = channel.write(data);
        }
        return count;
    }

    /** Fills a buffer. Returns false if the stream ends before the first byte. */
    boolean receive(ByteBuffer data) throws IOException, InterruptedException {
        int start = data.position();
        while (data.hasRemaining()) {
            int count = channel.read(data);
            if (count < 0) {
                if (data.position() == start) {
                    return false;
                }
                throw new Failure("the peer ended the connection in the middle of a message");
            }
            if (count == 0) {
                await(SelectionKey.OP_READ);
            }
        }
        return true;
    }

    private void await(int operation) throws IOException, InterruptedException {
        key.interestOps(operation);
        int ready = selector.select(patience.toMillis());
        selector.selectedKeys().clear();
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (ready == 0) {
            throw new Failure("heard nothing from the peer for " + patience.toSeconds()
                    + " s: check its host, and the network in between");
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
        selector.close();
    }
}
