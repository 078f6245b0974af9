package org.rdmapanama.samples;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/**
 * Signs of life over the TCP connection on which two programs met. A queue pair that only receives never learns that
 * its peer died; a TCP connection does at once when the peer's process ends, and the beats tell a peer that is busy
 * from one that is unreachable.
 *
 * <p>Threads: one at a time.
 */
final class Heartbeat {
    private static final long BEAT_NANOS = 500_000_000L;
    private static final long LOOK_NANOS = 50_000_000L;

    private final SocketChannel channel;
    private final Duration timeout;
    private final ByteBuffer beat = ByteBuffer.allocateDirect(1);
    private final ByteBuffer heard = ByteBuffer.allocateDirect(64);
    private long lastBeat;
    private long lastLook;
    private long lastHeard;
    private boolean ended;

    Heartbeat(SocketChannel channel, Duration timeout) throws IOException {
        this.channel = channel;
        this.timeout = timeout;
        channel.configureBlocking(false);
        lastBeat = System.nanoTime() - BEAT_NANOS;
        lastLook = lastBeat;
        lastHeard = System.nanoTime();
    }

    /** To be called often, also while busy; most calls only look at the clock. False when the peer has hung up. */
    boolean isPeerAlive() throws IOException, InterruptedException {
        long now = System.nanoTime();
        if (now - lastLook < LOOK_NANOS) {
            return !ended;
        }
        lastLook = now;
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        try {
            if (now - lastBeat >= BEAT_NANOS) {
                lastBeat = now;
                beat.clear();
                channel.write(beat);
            }
            listen(now);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            // Reset, or a broken pipe: all that matters is that nobody is there.
            ended = true;
        }
        if (!ended && now - lastHeard > timeout.toNanos()) {
            throw new Failure("heard nothing from the peer for " + timeout.toSeconds()
                    + " s: check its host and the network between");
        }
        return !ended;
    }

    private void listen(long now) throws IOException {
        heard.clear();
        int count = channel.read(heard);
        if (count < 0) {
            ended = true;
        } else if (count > 0) {
            lastHeard = now;
        }
    }
}
