package org.rdmapanama.cm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.Pipe;
import java.nio.channels.SelectableChannel;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import org.rdmapanama.ffm.internal.FreeDescriptors;

/**
 * Tells a selector of {@code java.nio}, which knows descriptors of its own only, that another one is readable: by a pipe
 * that holds a byte from then until everything was taken.
 */
final class Readiness implements AutoCloseable {
    private final Pipe pipe;
    private final Semaphore taken = new Semaphore(0);
    private boolean told;

    /** How often everything was taken. */
    private int rounds;

    private volatile boolean closed;

    /**
     * Starts a thread that looks.
     *
     * @param awaitReadable waits a moment for the descriptor: whether it is readable; throws IllegalStateException when it is
     *     closed
     */
    Readiness(String name, BooleanSupplier awaitReadable) {
        // Java's classes for pipes load a library, and if they cannot they are of no use any more.
        if (FreeDescriptors.check(FreeDescriptors.FEW) < 0) {
            throw new UncheckedIOException(new IOException(FreeDescriptors.CURE));
        }
        try {
            pipe = Pipe.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        try {
            pipe.source().configureBlocking(false);
            Thread.ofPlatform().daemon().name(name).start(() -> watch(awaitReadable));
        } catch (IOException e) {
            close();
            throw new UncheckedIOException(e);
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    /** What is readable. */
    SelectableChannel channel() {
        return pipe.source();
    }

    private void watch(BooleanSupplier awaitReadable) {
        try {
            while (!closed) {
                int round = round();
                if (awaitReadable.getAsBoolean() && tell(round)) {
                    taken.acquireUninterruptibly();
                }
            }
        } catch (IOException | RuntimeException ended) {
            close();
        }
    }

    private synchronized int round() {
        return rounds;
    }

    /** Unless somebody who did not wait for it has taken everything meanwhile. */
    private synchronized boolean tell(int round) throws IOException {
        if (round == rounds) {
            pipe.sink().write(ByteBuffer.allocate(1));
            told = true;
        }
        return told;
    }

    /** Everything was taken: the next that comes is to be told again. */
    synchronized void rearm() {
        rounds++;
        if (!told) {
            return;
        }
        told = false;
        taken.release();
        try {
            pipe.source().read(ByteBuffer.allocate(1));
        } catch (ClosedChannelException e) {
            // Whoever closes a selector may close what was registered with it. Nobody selects it any more.
            closed = true;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        closed = true;
        taken.release();
        try {
            pipe.source().close();
            pipe.sink().close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
