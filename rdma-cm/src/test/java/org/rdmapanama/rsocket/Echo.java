package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;

/** A process that sends back what channels send, one channel after the other. */
final class Echo {
    private static final int BYTES = 10_000;

    private Echo() {}

    /** The arguments are an address to listen at, and a port. */
    public static void main(String[] arguments) throws IOException {
        ByteBuffer data = ByteBuffer.allocateDirect(BYTES);
        try (RServerSocketChannel server = RServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1])));
            System.out.println("listening");
            while (true) {
                try (RSocketChannel channel = server.accept()) {
                    for (data.clear(); channel.read(data) >= 0; data.clear()) {
                        data.flip();
                        channel.write(data);
                    }
                } catch (IOException e) {
                    System.out.println("a channel failed: " + e);
                }
            }
        }
    }
}
