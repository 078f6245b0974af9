package org.rdmapanama.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.LongSupplier;
import org.rdmapanama.counts.QueuePairTraffic;

/**
 * Counts what a queue pair has moved and what is under way, in a program that asks for it.
 *
 * <p>Threads: one that posts sends, one that posts receives, one that polls for each completion queue, and any that reads. More
 * of a kind at once may lose counts or count twice, and do no other harm.
 */
public final class Traffic {
    /** The name of the system property. */
    public static final String PROPERTY = "org.rdmapanama.traffic";

    /** Whether it is counted. A constant, so that compilers leave out what depends on it. */
    public static final boolean COUNTED = Boolean.getBoolean(PROPERTY);

    private static final int LEAST_MARKS = 64;

    private static final int LARGEST_QUEUE = 1 << 20;

    private static final VarHandle MARKS = MethodHandles.arrayElementVarHandle(long[].class);

    private final boolean signalAll;
    private final boolean ownReceives;
    private final OpaqueCount postedBytes = new OpaqueCount();
    private final OpaqueCount receivedBytes = new OpaqueCount();
    private final OpaqueCount completedSends = new OpaqueCount();
    private final OpaqueCount completedReceives = new OpaqueCount();
    private final OpaqueCount postedSends = new OpaqueCount();
    private final OpaqueCount postedReceives = new OpaqueCount();

    /** How many completions had an error status, of sends and of receives. */
    private final LongSupplier failed;

    /** How many sends are known to have ended. */
    private final OpaqueCount endedSends = new OpaqueCount();

    /** What {@link #difference} was when the queues were emptied. */
    private final OpaqueCount forgotten = new OpaqueCount();

    /**
     * For each signaled send that may be under way, how many sends had been posted with it. Drivers free the place of a send
     * before its completion is polled, or afterwards, so there is room for more than the send queue has.
     */
    private final long[] marks;

    /** How many signaled sends were accepted. */
    private long signaled;

    /** How many completions of sends were polled, or forgotten. */
    private long answered;

    /** Of the chain or batch that is being posted. */
    private int announced;

    private int announcedSignaled;
    private long announcedBytes;

    /**
     * Creates counts of 0.
     *
     * @param sendQueueSize how many work requests the send queue takes
     * @param signalAll whether every send generates a completion
     * @param ownReceives whether receives are posted to the queue pair itself
     * @param failed tells how many of its completions with an error status were polled
     */
    public Traffic(int sendQueueSize, boolean signalAll, boolean ownReceives, LongSupplier failed) {
        this.signalAll = signalAll;
        this.ownReceives = ownReceives;
        this.failed = failed;
        int room = Math.max(LEAST_MARKS, 4 * Math.min(sendQueueSize, LARGEST_QUEUE));
        marks = new long[Integer.highestOneBit(2 * room - 1)];
    }

    /** Begins a chain or a batch of sends. */
    public void begin() {
        announced = 0;
        announcedSignaled = 0;
        announcedBytes = 0;
    }

    /**
     * Takes note of the next send of the chain or batch, before the driver gets it: its completion may come before the call
     * returns.
     *
     * @param bytes the length of its data
     * @param asked whether it asks for a completion
     */
    public void announce(long bytes, boolean asked) {
        announced++;
        announcedBytes += bytes;
        if (asked || signalAll) {
            MARKS.setOpaque(marks, place(signaled + announcedSignaled), postedSends.get() + announced);
            announcedSignaled++;
        }
    }

    /** Takes note that the driver has accepted all that was announced. */
    public void accepted() {
        postedSends.add(announced);
        postedBytes.add(announcedBytes);
        signaled += announcedSignaled;
        begin();
    }

    /**
     * Takes note of receives that the driver has accepted.
     *
     * @param requests how many
     */
    public void receivesAccepted(int requests) {
        postedReceives.add(requests);
    }

    /**
     * Takes note of a successful completion.
     *
     * @param receive whether it is that of a receive
     * @param bytes the length of what was received; ignored for sends
     */
    public void completed(boolean receive, int bytes) {
        if (receive) {
            completedReceives.add(1);
            receivedBytes.add(Integer.toUnsignedLong(bytes));
        } else {
            completedSends.add(1);
            long mark = (long) MARKS.getOpaque(marks, place(answered));
            // An older mark tells that this completion is not that of a send that was counted, and the next one may be.
            if (mark > endedSends.get()) {
                endedSends.set(mark);
                answered++;
            }
        }
    }

    /** Takes note that both queues were emptied. */
    public void reset() {
        endAllSends();
        forgotten.set(difference());
    }

    /** Takes note that the send queue was flushed after an error, and that sends go on. */
    public void resumed() {
        long before = difference();
        endAllSends();
        // The completions of those that were flushed may still come, and count as failed.
        forgotten.add(difference() - before);
    }

    /** The next completion of a send is that of one that is posted from now on. */
    private void endAllSends() {
        endedSends.set(postedSends.get());
        answered = signaled;
    }

    /** Returns the place of the mark of a signaled send. */
    private int place(long signaledBefore) {
        return (int) (signaledBefore & (marks.length - 1));
    }

    private long difference() {
        long ended = endedSends.get() + failed.getAsLong() + (ownReceives ? completedReceives.get() : 0);
        return postedSends.get() + postedReceives.get() - ended;
    }

    /** {@return what was counted} */
    public QueuePairTraffic get() {
        return new QueuePairTraffic(
                postedBytes.get(),
                receivedBytes.get(),
                completedSends.get(),
                completedReceives.get(),
                Math.max(0, difference() - forgotten.get()));
    }
}
