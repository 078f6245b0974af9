package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.SocketChannel;

/**
 * One side of a ping-pong over TCP with a blocking channel, which is what a program without RDMA would do. The loop
 * allocates nothing.
 *
 * <p>Threads: one. Interrupting it ends every wait and closes the channel.
 */
final class TcpPingPong {
    private final SocketChannel channel;
    private final PingPong.Settings settings;
    private final int rounds;
    private final ByteBuffer buffer;
    private final PingMessage message;
    private final Latencies latencies = new Latencies();

    /** How many messages have come back, or gone back. The thread that looks for silence reads it. */
    private volatile int played;

    private volatile boolean isSilent;

    /** Plays over a connection, which the caller closes, and with memory of an arena. */
    TcpPingPong(SocketChannel channel, Arena arena, PingPong.Settings settings) throws IOException {
        this.channel = channel;
        this.settings = settings;
        rounds = Math.addExact(settings.warmUp(), settings.iterations());
        channel.socket().setTcpNoDelay(true);
        MemorySegment memory = arena.allocate(settings.size(), PingMessage.PAGE);
        buffer = memory.asByteBuffer();
        message = new PingMessage(memory);
    }

    PingMessage message() {
        return message;
    }

    Latencies latencies() {
        return latencies;
    }

    /**
     * Plays until all messages have gone both ways.
     *
     * @param first whether this side sends first
     * @return duration of the measured part, in nanoseconds
     */
    long play(boolean first) throws IOException {
        Thread watch = Thread.ofPlatform().daemon().name("silence").start(this::endSilence);
        try {
            long start = System.nanoTime();
            long last = start;
            for (int i = 0; i < rounds; i++) {
                if (i == settings.warmUp()) {
                    start = last;
                }
                if (first) {
                    send();
                    receive();
                } else {
                    receive();
                    send();
                }
                played = i + 1;
                long now = System.nanoTime();
                if (i >= settings.warmUp()) {
                    latencies.record(now - last);
                }
                last = now;
            }
            return last - start;
        } catch (AsynchronousCloseException e) {
            if (isSilent) {
                throw new Failure(
                        "nothing arrived for " + settings.timeout().toSeconds() + " s, after " + progress()
                                + ": the peer is gone, or does not respond, or the two sides differ in size",
                        e);
            }
            throw e;
        } finally {
            watch.interrupt();
        }
    }

    /** Closes the channel when nothing has arrived for too long: a blocking read has no timeout. */
    private void endSilence() {
        try {
            for (int before = -1; before != played; ) {
                before = played;
                Thread.sleep(settings.timeout());
            }
            isSilent = true;
            channel.close();
        } catch (InterruptedException e) {
            // The end.
        } catch (IOException e) {
            // It is closed either way.
        }
    }

    private void send() throws IOException {
        buffer.clear();
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
    }

    private void receive() throws IOException {
        buffer.clear();
        while (buffer.hasRemaining()) {
            if (channel.read(buffer) < 0) {
                throw new Failure("the peer closed the connection after " + progress()
                        + ": see what it printed, and give the same -s, -n and --warmup on both sides");
            }
        }
    }

    private String progress() {
        return played + " of " + rounds + " messages";
    }
}
