package org.rdmapanama.samples.stream;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import jdk.net.ExtendedSocketOptions;
import org.rdmapanama.rsocket.RSocketOptions;
import org.rdmapanama.samples.Sockets;

/** Connects, runs the tests and prints their results. Threads: one. */
final class StreamSession {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(30);

    private final StreamSettings settings;
    private final PrintWriter out;
    private final ByteBuffer buffer;
    private final Counting counting;
    private final List<StreamResult> results = new ArrayList<>();

    StreamSession(StreamSettings settings, PrintWriter out) {
        this.settings = settings;
        this.out = out;
        buffer = ByteBuffer.allocateDirect(Math.max(settings.largest(), StreamEnd.GREETING));
        counting = settings.verifies() ? new Counting() : null;
    }

    List<StreamResult> run() throws IOException, InterruptedException {
        if (settings.isClient()) {
            connect();
        } else {
            serve();
        }
        return results;
    }

    private void connect() throws IOException, InterruptedException {
        InetSocketAddress server = Sockets.resolve(settings.server(), settings.port());
        for (StreamRound round : settings.rounds()) {
            try (SocketChannel channel = settings.provider().openSocketChannel()) {
                configure(channel, round);
                Sockets.connect(channel, settings.bind(), server, CONNECT_TIMEOUT);
                test(channel, round);
            }
        }
    }

    private void serve() throws IOException, InterruptedException {
        try (ServerSocketChannel server = settings.provider().openServerSocketChannel()) {
            configureQueues(server, settings.rounds().getFirst());
            server.setOption(StandardSocketOptions.SO_RCVBUF, settings.bufferSize());
            Sockets.listen(server, settings.bind(), settings.port());
            println("waiting for a client on port " + settings.port());
            for (StreamRound round : settings.rounds()) {
                configureQueues(server, round);
                try (SocketChannel channel = server.accept()) {
                    configureConnected(channel);
                    test(channel, round);
                }
            }
        }
    }

    private void test(SocketChannel channel, StreamRound round) throws IOException, InterruptedException {
        if (results.isEmpty()) {
            println(StreamText.HEADER);
        }
        try (StreamEnd end = new StreamEnd(channel, settings.isClient(), settings.calls(), buffer, counting)) {
            for (StreamTest test : round.tests()) {
                StreamResult result = end.run(test);
                results.add(result);
                println(StreamText.line(result));
            }
            if (!settings.isClient()) {
                end.awaitEnd();
            }
        }
    }

    private void println(String line) {
        out.println(line);
        out.flush();
    }

    private void configure(SocketChannel channel, StreamRound round) throws IOException {
        configureQueues(channel, round);
        channel.setOption(StandardSocketOptions.SO_RCVBUF, settings.bufferSize());
        configureConnected(channel);
    }

    private void configureConnected(SocketChannel channel) throws IOException {
        channel.setOption(StandardSocketOptions.SO_SNDBUF, settings.bufferSize());
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        if (settings.keepAlive() != null) {
            channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            channel.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, settings.keepAlive());
        }
    }

    /** Sets what TCP does not have. */
    private static void configureQueues(NetworkChannel channel, StreamRound round) throws IOException {
        if (round.inlineSize() != null && channel.supportedOptions().contains(RSocketOptions.RDMA_INLINE)) {
            channel.setOption(RSocketOptions.RDMA_INLINE, round.inlineSize());
        }
    }
}
