package com.example;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import org.rdmapanama.rsocket.RServerSocketChannel;
import org.rdmapanama.rsocket.RSocketChannel;

/** Channels of java.nio over RDMA: only the lines that open them differ from TCP. */
public final class Sockets {
    private Sockets() {}

    public static void main(String[] args) throws Exception {
        try (ServerSocketChannel server = RServerSocketChannel.open().bind(new InetSocketAddress("127.0.0.1", 7427));
                SocketChannel client = RSocketChannel.open(server.getLocalAddress());
                SocketChannel accepted = server.accept()) {
            client.write(ByteBuffer.wrap("hello, sockets".getBytes()));
            client.shutdownOutput();
            ByteBuffer received = ByteBuffer.allocate(64);
            while (received.hasRemaining() && accepted.read(received) != -1) Thread.onSpinWait();
            System.out.println(new String(received.array(), 0, received.position()));
        }
    }
}
