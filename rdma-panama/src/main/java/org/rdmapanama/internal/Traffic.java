package org.rdmapanama.internal;

import org.rdmapanama.counts.QueuePairTraffic;

/**
 * Counts what a queue pair has moved and what is under way, in a program that asks for it.
 *
 * <p>Threads: one that posts sends, one that posts receives, one that polls for each completion queue, and any that reads. More
 * of a kind at once may lose counts, and do no other harm.
 */
public final class Traffic {
    /** The name of the system property. */
    public static final String PROPERTY = "org.rdmapanama.traffic";

    /** Whether it is counted. A constant, so that compilers leave out what depends on it. */
    public static final boolean COUNTED = Boolean.getBoolean(PROPERTY);

    private static final int LEAST_MARKS = 64;

    private static final int LARGEST_QUEUE = 1 << 20;

    private final boolean signalAll;
    private final boolean ownReceives;
    private final OpaqueCount postedBytes = new OpaqueCount();
    private final OpaqueCount receivedBytes = new OpaqueCount();
    private final OpaqueCount completedSends = new OpaqueCount();
    private final OpaqueCount completedReceives = new OpaqueCount();
    private final OpaqueCount postedSends = new OpaqueCount();
    private final OpaqueCount postedReceives = new OpaqueCount();
    private final OpaqueCount failed = new OpaqueCount();

    /** How many sends are known to have ended. */
    private final OpaqueCount endedSends = new OpaqueCount();

    /** What was outstanding, as far as known, when the queues were emptied. */
    private final OpaqueCount forgotten = new OpaqueCount();

    /**
     * For each signaled send that may be under way, how many sends had been posted with it. Drivers free the place of a send
     * before its completion is polled, or afterwards, so there is room for more than the send queue has.
     */
    private final OpaqueCount[] marks;

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
     */
    public Traffic(int sendQueueSize, boolean signalAll, boolean ownReceives) {
        this.signalAll = signalAll;
        this.ownReceives = ownReceives;
        int room = Math.max(LEAST_MARKS, 4 * Math.min(sendQueueSize, LARGEST_QUEUE));
        marks = new OpaqueCount[Integer.highestOneBit(2 * room - 1)];
        for (int i = 0; i < marks.length; i++) {
            marks[i] = new OpaqueCount();
        }
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
            mark(signaled + announcedSignaled).set(postedSends.get() + announced);
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
            endedSends.set(Math.max(endedSends.get(), mark(answered).get()));
            answered++;
        }
    }

    /** Takes note of a completion with an error status. */
    public void failed() {
        failed.add(1);
    }

    /** Takes note that both queues were emptied. */
    public void reset() {
        forgotten.set(difference());
        answered = signaled;
    }

    private OpaqueCount mark(long signaledBefore) {
        return marks[(int) (signaledBefore & (marks.length - 1))];
    }

    private long difference() {
        long ended = endedSends.get() + failed.get() + (ownReceives ? completedReceives.get() : 0);
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
