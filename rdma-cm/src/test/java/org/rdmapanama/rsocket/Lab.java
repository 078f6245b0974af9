package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The two addresses of the lab, and what tests do again and again. */
final class Lab {
    static final String FIRST = "10.77.0.1";
    static final String SECOND = "10.77.0.2";
    static final int SECONDS = 60;

    private static final AtomicInteger PORTS = new AtomicInteger(17_000);

    private Lab() {}

    /** A port that no other test uses. */
    static int port() {
        return PORTS.incrementAndGet();
    }

    static InetSocketAddress freeAddress(String host) {
        return new InetSocketAddress(host, port());
    }

    /** Runs something in a thread of its own. */
    static <T> CompletableFuture<T> async(Callable<T> task) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread.ofPlatform().daemon().name("async").start(() -> {
            try {
                result.complete(task.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        return result;
    }

    static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(SECONDS, TimeUnit.SECONDS);
    }

    /** Waits until something is so. */
    static void await(String what, Callable<Boolean> condition) throws Exception {
        long start = System.nanoTime();
        while (!condition.call()) {
            assertTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(SECONDS), "never: " + what);
            Thread.sleep(5);
        }
    }

    /** Bytes that tell their place. */
    static byte[] pattern(int size) {
        byte[] bytes = new byte[size];
        int state = 0x5244_4d41;
        for (int i = 0; i < size; i++) {
            state = state * 1_664_525 + 1_013_904_223;
            bytes[i] = (byte) (state >>> 24);
        }
        return bytes;
    }

    /** Before the end of the block that would close it anyhow. */
    static void close(AutoCloseable object) throws Exception {
        object.close();
    }

    static void readFully(RSocketChannel channel, ByteBuffer target) throws IOException {
        while (target.hasRemaining()) {
            assertTrue(channel.read(target) > 0, "the stream ended, or did not wait");
        }
    }

    static void writeFully(RSocketChannel channel, ByteBuffer source) throws IOException {
        int count = source.remaining();
        assertEquals(count, channel.write(source));
    }

    /** Two channels that are connected to each other, over the wire. */
    record Pair(RServerSocketChannel server, RSocketChannel client, RSocketChannel accepted) implements AutoCloseable {
        static Pair open() throws Exception {
            return open(FIRST, freeAddress(SECOND));
        }

        static Pair open(String from, InetSocketAddress to) throws Exception {
            RServerSocketChannel server = RServerSocketChannel.open();
            server.bind(to);
            RSocketChannel client = RSocketChannel.open();
            client.bind(new InetSocketAddress(from, 0));
            assertTrue(client.connect(to, Duration.ofSeconds(SECONDS)));
            return new Pair(server, client, get(async(server::accept)));
        }

        static void connect(RServerSocketChannel server, RSocketChannel client) throws IOException {
            client.bind(new InetSocketAddress(FIRST, 0));
            assertTrue(client.connect(server.getLocalAddress()));
        }

        @Override
        public void close() throws IOException {
            client.close();
            accepted.close();
            server.close();
        }
    }
}
