package org.rdmapanama.cm;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.internal.Releasing;
import org.rdmapanama.device.TransportType;

/**
 * Ends a connection once the peer has everything that was posted to the send queue. A queue completes its requests in the
 * order of posting, so an empty RDMA write behind all others, the last one, shows when they have arrived. It needs no
 * receive, no key, and no right but that to write, which the connection manager gives to each queue pair.
 *
 * <p>Threads: as the arena says; one at a time.
 */
final class GracefulEnd {
    private static final int BATCH = 16;

    /** How long to wait between looks at the completion queue, unless an event comes. */
    private static final Duration PAUSE = Duration.ofMillis(1);

    private final RdmaConnection connection;
    private final QueuePair queuePair;
    private final CompletionQueue queue;
    private final SendWorkRequest last;
    private final WorkCompletions completions;

    /** Distinguishes the last request from those of the program. */
    private final long id = ThreadLocalRandom.current().nextLong();

    private boolean posted;
    private boolean arrived;
    private boolean failed;

    private GracefulEnd(RdmaConnection connection) {
        this.connection = connection;
        queuePair = connection.queuePair();
        queue = connection.sendQueue();
        last = SendWorkRequest.allocate(queuePair, 0).id(id).rdmaWrite(0, 0).signaled(true);
        completions = new WorkCompletions(queue, BATCH);
    }

    /**
     * Ends connections side by side, and closes each as soon as it is done or cannot be.
     *
     * @return whether all that was posted has arrived
     * @throws InterruptedException when the thread is interrupted; all are closed nevertheless
     */
    static boolean endAll(List<RdmaConnection> all, Deadline deadline) throws InterruptedException {
        List<AutoCloseable> closing = new ArrayList<>();
        boolean allArrived;
        try {
            allArrived = endAll(all, deadline, closing);
        } catch (Throwable e) {
            closing.addAll(all);
            Releasing.after(e, closing.toArray(AutoCloseable[]::new));
            throw e;
        }
        closing.addAll(all);
        Releasing.each(closing.toArray(AutoCloseable[]::new));
        return allArrived;
    }

    /**
     * Leaves to the caller to close what was not closed here.
     *
     * @param closing receives what throws the failures to close: the others go on
     */
    private static boolean endAll(List<RdmaConnection> all, Deadline deadline, List<AutoCloseable> closing)
            throws InterruptedException {
        boolean allArrived = true;
        List<GracefulEnd> waiting = new ArrayList<>();
        for (RdmaConnection each : all) {
            if (each.isConnected()) {
                waiting.add(new GracefulEnd(each));
            } else {
                allArrived = false;
            }
        }
        while (!waiting.isEmpty()) {
            for (GracefulEnd each : List.copyOf(waiting)) {
                if (each.isDone()) {
                    waiting.remove(each);
                    allArrived &= each.arrived;
                    close(each.connection, closing);
                }
            }
            if (!waiting.isEmpty() && !waiting.getFirst().pause(deadline)) {
                return false;
            }
        }
        return allArrived;
    }

    private static void close(RdmaConnection connection, List<AutoCloseable> closing) {
        try {
            connection.close();
        } catch (RuntimeException | Error e) {
            closing.add(() -> {
                throw e;
            });
        }
    }

    /** Does what can be done without waiting. */
    private boolean isDone() {
        if (!arrived) {
            poll();
        }
        if (!posted && !failed) {
            post();
        }
        failed |= !arrived && connection.hasEnded();
        return failed || (arrived && (!isTcp() || connection.isOver()));
    }

    private void post() {
        try {
            posted = queuePair.tryPostSend(last) == QueuePair.POSTED;
        } catch (VerbsException e) {
            // The queue pair has failed, and the completion that tells why is still to come.
            failed = true;
        }
    }

    private void poll() {
        int count = queue.poll(completions);
        for (int i = 0; i < count; i++) {
            if (!completions.succeeded(i)) {
                failed = true;
            } else if (posted && completions.id(i) == id) {
                arrived = true;
                connection.sendEnd();
            }
        }
    }

    /** Whether requests complete before they arrive: then the end, which follows them, shows that they have. */
    private boolean isTcp() {
        return queuePair.context().transportType() == TransportType.IWARP;
    }

    /** Returns false after the deadline. */
    private boolean pause(Deadline deadline) throws InterruptedException {
        Duration left = deadline.left();
        if (left.isZero()) {
            return false;
        }
        connection.awaitDisconnect(left.compareTo(PAUSE) < 0 ? left : PAUSE);
        return true;
    }
}
