package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
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

    /** How many messages have come back, or gone back. */
    private int played;

    /** How many bytes have moved. The thread that looks for silence reads it. */
    private volatile long moved;

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
        } catch (ClosedChannelException e) {
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
            for (long before = -1; before != moved; ) {
                before = moved;
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
            noteMoved(channel.write(buffer));
        }
    }

    private void receive() throws IOException {
        buffer.clear();
        while (buffer.hasRemaining()) {
            int bytes = channel.read(buffer);
            if (bytes < 0) {
                throw new Failure("the peer closed the connection after " + progress()
                        + ": see what it printed, and give the same -s, -n and --warmup on both sides");
            }
            noteMoved(bytes);
        }
    }

    /** Only this thread writes it. */
    private void noteMoved(int bytes) {
        long sum = moved + bytes;
        moved = sum;
    }

    private String progress() {
        return played + " of " + rounds + " messages";
    }
}
