package org.rdmapanama.samples.table;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import org.rdmapanama.samples.Sockets;
import org.rdmapanama.samples.calls.CallMessage;

/**
 * Asks a {@link TcpTableServer}, for comparison. A call that takes longer than the timeout fails, after twice that at most. After an
 * exception the client is of no use any more.
 *
 * <p>Threads: one at a time.
 */
final class TcpTableClient implements AutoCloseable {
    private static final MemorySegment NOTHING = MemorySegment.ofArray(new byte[0]);

    private final SocketChannel channel;
    private final InetSocketAddress server;
    private final Duration timeout;
    private final Thread watch;
    private final int maxEntry;
    private final ByteBuffer request;
    private final ByteBuffer answer;

    /** How many calls have begun and ended; odd while one waits. Written by the thread of the calls. */
    private volatile long moves;

    private volatile boolean late;

    TcpTableClient(InetSocketAddress server, Geometry geometry, Duration timeout) throws IOException {
        this.server = server;
        this.timeout = timeout;
        maxEntry = geometry.maxEntry();
        request = ByteBuffer.allocateDirect(Request.messageBytes(geometry));
        answer = ByteBuffer.allocateDirect(Request.messageBytes(geometry));
        channel = SocketChannel.open();
        Sockets.connect(channel, null, server, timeout);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        watch = Thread.ofPlatform().daemon().name("table-tcp-watch").start(this::endLateCall);
    }

    /** Closes the channel when a call takes too long: blocking reads and writes of a channel have no timeout. */
    private void endLateCall() {
        try {
            for (long before = 0; before % 2 == 0 || before != moves; ) {
                before = moves;
                Thread.sleep(timeout);
            }
            late = true;
            channel.close();
        } catch (InterruptedException e) {
            // The end.
        } catch (IOException e) {
            // It is closed either way.
        }
    }

    /** Returns the length of the value; -1 if there is none. */
    int get(byte[] key) throws IOException {
        int length = call(Request.GET, key, NOTHING);
        return CallMessage.kind(MemorySegment.ofBuffer(answer.clear())) == Request.OK ? length : -1;
    }

    void put(byte[] key, byte[] value) throws IOException {
        call(Request.PUT, key, MemorySegment.ofArray(value));
        Status.check(CallMessage.kind(MemorySegment.ofBuffer(answer.clear())), maxEntry);
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // one thread writes it
    private int call(int kind, byte[] key, MemorySegment value) throws IOException {
        moves++;
        try {
            return exchange(kind, key, value);
        } catch (ClosedChannelException e) {
            if (late) {
                throw new TableException(
                        "no answer from " + server + " over TCP in " + timeout.toMillis() + " ms: see whether it runs",
                        e);
            }
            throw e;
        } finally {
            moves++;
        }
    }

    private int exchange(int kind, byte[] key, MemorySegment value) throws IOException {
        int length = Request.write(
                MemorySegment.ofBuffer(request.clear()), kind, MemorySegment.ofArray(key), 0, key.length, value);
        request.limit(length);
        while (request.hasRemaining()) {
            channel.write(request);
        }
        fill(answer.clear().limit(CallMessage.HEADER));
        int body = CallMessage.first(MemorySegment.ofBuffer(answer.clear()));
        if (body < 0 || body > answer.capacity() - CallMessage.HEADER) {
            throw new IOException("the server says that its answer has " + body + " bytes");
        }
        fill(answer.limit(CallMessage.HEADER + body).position(CallMessage.HEADER));
        return body;
    }

    private void fill(ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            if (channel.read(buffer) < 0) {
                throw new EOFException("the server has ended the connection");
            }
        }
    }

    @Override
    public void close() throws IOException {
        watch.interrupt();
        channel.close();
    }
}
