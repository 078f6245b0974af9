package org.rdmapanama.bench.sockets;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.rsocket.RSocketOptions;

/** A selector of many channels, of which one at a time is ready. Both ends of each are in this process. */
final class Selection implements Closeable {
    /** Smaller than usual, because there are many. */
    private static final int BUFFER = 1 << 13;

    private static final int QUEUE = 16;

    private final boolean rdma;
    private final Selector selector;
    private final List<SocketChannel> writers = new ArrayList<>();
    private final List<SocketChannel> readers = new ArrayList<>();
    private final ByteBuffer message = ByteBuffer.allocateDirect(Client.MESSAGE);
    private int next;

    Selection(Settings settings, int channels) throws IOException {
        rdma = settings.rdma();
        selector = settings.provider().openSelector();
        try (ServerSocketChannel server = settings.provider().openServerSocketChannel()) {
            shrink(server);
            server.bind(new InetSocketAddress(settings.host(), 0), channels);
            for (int i = 0; i < channels; i++) {
                connect(settings, server);
            }
        }
    }

    private void connect(Settings settings, ServerSocketChannel server) throws IOException {
        SocketChannel writer = settings.provider().openSocketChannel();
        writers.add(writer);
        shrink(writer);
        writer.bind(new InetSocketAddress(settings.from(), 0));
        writer.connect(server.getLocalAddress());
        SocketChannel reader = server.accept();
        readers.add(reader);
        reader.configureBlocking(false);
        reader.register(selector, SelectionKey.OP_READ);
    }

    private void shrink(NetworkChannel channel) throws IOException {
        channel.setOption(StandardSocketOptions.SO_RCVBUF, BUFFER);
        if (rdma) {
            channel.setOption(RSocketOptions.RDMA_SQSIZE, QUEUE);
            channel.setOption(RSocketOptions.RDMA_RQSIZE, QUEUE);
        }
    }

    /** Writes to one channel after the other, selects it and reads. Returns the microseconds that each takes. */
    double micros(int count) throws IOException {
        long start = System.nanoTime();
        for (int i = 0; i < count; i++) {
            message.clear();
            while (message.hasRemaining()) {
                writers.get(next).write(message);
            }
            next = (next + 1) % writers.size();
            message.clear();
            while (message.hasRemaining()) {
                selector.select();
                for (SelectionKey each : selector.selectedKeys()) {
                    ((SocketChannel) each.channel()).read(message);
                }
                selector.selectedKeys().clear();
            }
        }
        return (System.nanoTime() - start) / 1e3 / count;
    }

    @Override
    public void close() throws IOException {
        for (SocketChannel each : writers) {
            each.close();
        }
        for (SocketChannel each : readers) {
            each.close();
        }
        selector.close();
    }
}
