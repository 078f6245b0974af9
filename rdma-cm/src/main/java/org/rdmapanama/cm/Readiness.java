package org.rdmapanama.cm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.Pipe;
import java.nio.channels.SelectableChannel;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.internal.provider.Logging;

/**
 * Lets a selector of {@code java.nio}, which accepts only channels of the JDK, wait for a native event channel: a pipe
 * that holds one byte while there are events.
 *
 * <p>{@link EventChannel#selectableChannel} creates it. A daemon thread waits for events and writes the byte; the
 * thread that finds the event channel empty removes it with {@link #rearm}. Both sides hold the monitor of this object.
 */
final class Readiness implements AutoCloseable {
    private static final long PAUSE_NANOS = 50_000_000;

    private final Pipe pipe;
    private final Semaphore taken = new Semaphore(0);

    /** The byte that is written or read. Made before, so that no lack of memory can come in between. Guarded by the monitor. */
    private final ByteBuffer mark = ByteBuffer.allocate(1);

    /** Whether the pipe holds a byte. Guarded by the monitor. */
    private boolean told;

    /** How often the event channel was found empty. Guarded by the monitor. */
    private int rounds;

    /** Whether a failure has been logged. Used by the watching thread only. */
    private boolean reported;

    private volatile boolean closed;

    /**
     * Starts the watching thread.
     *
     * @param awaitReadable waits a moment and returns whether the event channel is readable. An IllegalStateException
     *     means that it is closed and ends the thread. Any other exception makes the pipe readable, so that the program
     *     polls and gets the failure itself; after a pause the thread tries again
     */
    Readiness(String name, BooleanSupplier awaitReadable) {
        // The pipe classes of the JDK load a library, and stay unusable for good if that fails.
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

    /** Returns the readable end of the pipe. */
    SelectableChannel channel() {
        return pipe.source();
    }

    /** Runs in the watching thread. It reports a failure as if there were an event, and tries again later. */
    private void watch(BooleanSupplier awaitReadable) {
        Throwable failure = null;
        while (!closed) {
            try {
                int round = round();
                if ((failure == null ? awaitReadable.getAsBoolean() : report(failure)) && tell(round)) {
                    taken.acquireUninterruptibly();
                }
                failure = null;
            } catch (IOException | IllegalStateException ended) {
                close();
            } catch (RuntimeException | Error e) {
                failure = e;
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    private boolean report(Throwable failure) {
        if (!reported) {
            reported = true;
            try {
                Logging.logger(Readiness.class)
                        .warn(
                                "cannot wait for events for a selector; will try again without reporting further failures",
                                failure);
            } catch (RuntimeException | Error notLogged) {
                // The user is told all the same, and meets the failure.
            }
        }
        return true;
    }

    private synchronized int round() {
        return rounds;
    }

    /** Writes the byte, unless another thread has emptied the event channel since the given round. */
    private synchronized boolean tell(int round) throws IOException {
        if (round == rounds) {
            pipe.sink().write(mark.clear());
            told = true;
        }
        return told;
    }

    /** Removes the byte, because the event channel is empty; the next event makes the pipe readable again. */
    synchronized void rearm() {
        rounds++;
        if (!told) {
            return;
        }
        try {
            pipe.source().read(mark.clear());
        } catch (ClosedChannelException e) {
            // The program closed the pipe, for example with its selector, and can select it no more.
            closed = true;
        } catch (IOException e) {
            // The byte is still there, and the next call tries again to remove it.
            throw new UncheckedIOException(e);
        }
        told = false;
        taken.release();
    }

    @Override
    public void close() {
        closed = true;
        taken.release();
        try {
            try {
                pipe.source().close();
            } finally {
                pipe.sink().close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
