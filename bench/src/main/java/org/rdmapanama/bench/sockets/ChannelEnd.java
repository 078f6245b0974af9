package org.rdmapanama.bench.sockets;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.locks.LockSupport;

/** A connected channel that sends and receives buffers, by calls that block or by calls that are repeated. */
final class ChannelEnd implements Closeable {
    private static final long PATIENCE_NANOS = 20_000_000;
    private static final long NAP_NANOS = 2_000_000;

    private final SocketChannel channel;

    ChannelEnd(SocketChannel channel, boolean blocks) throws IOException {
        this.channel = channel;
        channel.configureBlocking(blocks);
    }

    void send(ByteBuffer data) throws IOException {
        data.clear();
        while (data.hasRemaining()) {
            channel.write(data);
        }
    }

    /** Fills a buffer, and returns false if the other end has closed the connection instead. */
    boolean receive(ByteBuffer data) throws IOException {
        data.clear();
        long idleSince = 0;
        while (data.hasRemaining()) {
            int count = channel.read(data);
            if (count < 0) {
                return false;
            }
            idleSince = count > 0 ? 0 : rest(idleSince);
        }
        return true;
    }

    /** Sleeps if nothing has come for a while: until its next turn, this end would take a processor from the others. */
    private static long rest(long idleSince) {
        long now = System.nanoTime();
        if (idleSince == 0) {
            return now;
        }
        if (now - idleSince > PATIENCE_NANOS) {
            LockSupport.parkNanos(NAP_NANOS);
        }
        return idleSince;
    }

    void receiveAnswer(ByteBuffer data) throws IOException {
        if (!receive(data)) {
            throw new EOFException("the other end has closed the connection");
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
