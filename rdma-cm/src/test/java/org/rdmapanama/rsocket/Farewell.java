package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.FillPattern;

/** A process that writes to a peer, and exits at once. */
final class Farewell {
    private Farewell() {}

    private static RSocketChannel connect(String... arguments) throws IOException {
        RSocketChannel channel = RSocketChannel.open();
        channel.bind(new InetSocketAddress(arguments[0], 0));
        channel.connect(new InetSocketAddress(arguments[1], Integer.parseInt(arguments[2])));
        return channel;
    }

    /**
     * The arguments are where to connect from, the peer's address and port, how many bytes to write, and how to exit, or how
     * many connections to close.
     */
    public static void main(String[] arguments) throws IOException {
        RSocketChannel channel = connect(arguments);
        int bytes = Integer.parseInt(arguments[3]);
        switch (arguments[4]) {
            case "exit" -> {
                channel.write(ByteBuffer.wrap(FillPattern.bytes(bytes, 1)));
                System.exit(0);
            }
            case "reading" -> {
                // A thread that waits is no reason to wait for it, nor to keep the processor busy.
                CompletableFuture<Integer> reading = Async.start(() -> channel.read(ByteBuffer.allocate(1)));
                channel.write(ByteBuffer.wrap(FillPattern.bytes(bytes, 1)));
                if (reading.isDone()) {
                    throw new IOException("the peer writes nothing");
                }
            }
            case "return" -> channel.write(ByteBuffer.wrap(FillPattern.bytes(bytes, 1)));
            default -> {
                RSocketChannel next = channel;
                for (int left = Integer.parseInt(arguments[4]); left > 0; left--) {
                    next.write(ByteBuffer.wrap(FillPattern.bytes(bytes, 1)));
                    next.close();
                    next = connect(arguments);
                }
            }
        }
    }
}
