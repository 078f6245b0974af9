package org.rdmapanama.samples.table;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import org.rdmapanama.samples.Sockets;
import org.rdmapanama.samples.calls.CallMessage;

/** Asks a {@link TcpTableServer}, for comparison. Threads: one at a time. */
final class TcpTableClient implements AutoCloseable {
    private static final MemorySegment NOTHING = MemorySegment.ofArray(new byte[0]);

    private final SocketChannel channel;
    private final int maxEntry;
    private final ByteBuffer request;
    private final ByteBuffer answer;

    TcpTableClient(InetSocketAddress server, Geometry geometry, Duration timeout) throws IOException {
        maxEntry = geometry.maxEntry();
        request = ByteBuffer.allocateDirect(Request.messageBytes(geometry));
        answer = ByteBuffer.allocateDirect(Request.messageBytes(geometry));
        channel = SocketChannel.open();
        Sockets.connect(channel, null, server, timeout);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
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

    private int call(int kind, byte[] key, MemorySegment value) throws IOException {
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
        channel.close();
    }
}
