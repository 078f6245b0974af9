package org.rdmapanama.samples.table;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.samples.ServerThreads;
import org.rdmapanama.samples.Sockets;
import org.rdmapanama.samples.calls.CallMessage;
import org.rdmapanama.samples.calls.Service;

/** Answers the same requests over TCP, for comparison. Each client has a thread. Threads: any may close it. */
final class TcpTableServer implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(TcpTableServer.class);
    private static final int MAX_CLIENTS = 64;

    private final TableServer table;
    private final int messageBytes;
    private final ServerSocketChannel server;
    private final Semaphore room = new Semaphore(MAX_CLIENTS);
    private final ExecutorService threads = Executors.newThreadPerTaskExecutor(
            Thread.ofPlatform().daemon().name("table-tcp-", 0).factory());

    TcpTableServer(TableServer table, TableOptions options, String address, int port) throws IOException {
        this.table = table;
        messageBytes = Request.messageBytes(options.first(0));
        server = ServerSocketChannel.open();
        Sockets.listen(server, address, port);
        threads.execute(this::accept);
    }

    private void accept() {
        while (server.isOpen()) {
            try {
                SocketChannel channel = server.accept();
                if (room.tryAcquire()) {
                    threads.execute(() -> serve(channel));
                } else {
                    channel.close();
                }
            } catch (ClosedChannelException e) {
                return;
            } catch (IOException e) {
                LOG.warn("a client could not be accepted: {}", e.getMessage());
            }
        }
    }

    private void serve(SocketChannel channel) {
        try (channel) {
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            ByteBuffer request = ByteBuffer.allocateDirect(messageBytes);
            ByteBuffer answer = ByteBuffer.allocateDirect(messageBytes);
            while (true) {
                MemorySegment message = read(channel, request);
                MemorySegment answered = MemorySegment.ofBuffer(answer.clear());
                int length = table.answer(message, answered);
                CallMessage.id(answered, CallMessage.id(message));
                answer.limit(length);
                while (answer.hasRemaining()) {
                    channel.write(answer);
                }
            }
        } catch (IOException | Service.BadRequestException e) {
            LOG.debug("a client over TCP ends: {}", e.getMessage());
        } finally {
            room.release();
        }
    }

    /** Reads a whole request, whose header says how long it is. */
    private static MemorySegment read(SocketChannel channel, ByteBuffer into) throws IOException {
        fill(channel, into.clear().limit(CallMessage.HEADER));
        MemorySegment all = MemorySegment.ofBuffer(into.clear());
        long body = (long) CallMessage.first(all) + CallMessage.second(all);
        if (CallMessage.first(all) < 0 || CallMessage.second(all) < 0 || body > all.byteSize() - CallMessage.HEADER) {
            throw new Service.BadRequestException("a request says that it has " + body + " bytes");
        }
        fill(channel, into.limit(CallMessage.HEADER + (int) body).position(CallMessage.HEADER));
        return all.asSlice(0, CallMessage.HEADER + body);
    }

    private static void fill(SocketChannel channel, ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            if (channel.read(buffer) < 0) {
                throw new EOFException("the client has ended");
            }
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
        // Interrupts close the channels of the clients.
        threads.shutdownNow();
        ServerThreads.awaitEnd(threads);
    }
}
