package org.rdmapanama.samples.learn;

import java.time.Duration;
import java.util.List;
import org.rdmapanama.samples.Failure;

/** A and B with a network between them, as two processes. Threads: one. */
final class NetworkEnds implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final String PREFIX = "-Dorg.rdmapanama.soft.";

    private final NetworkCase network;
    private final OtherProcess b;
    private final OtherProcess a;

    /** Where A may write, once both are connected. */
    private String lent;

    /** Starts both, which takes a moment. */
    NetworkEnds(NetworkCase network) throws Exception {
        this.network = network;
        b = new OtherProcess(GoodputEnd.class, List.of(PREFIX + "ring=none", PREFIX + "congestion=dcqcn"), LIMIT);
        boolean started = false;
        try {
            a = new OtherProcess(
                    GoodputEnd.class,
                    List.of(PREFIX + "faults=" + network.faults(), PREFIX + "congestion=" + network.congestion()),
                    LIMIT);
            started = true;
        } finally {
            if (!started) {
                b.close();
            }
        }
    }

    /** Waits until both are there, and connects them. */
    void connect() throws InterruptedException {
        String[] placeOfA = a.nextAfter(GoodputEnd.IS_AT).split(" ", 2);
        String[] placeOfB = b.nextAfter(GoodputEnd.IS_AT).split(" ", 2);
        b.tell("connect " + placeOfA[0]);
        a.tell("connect " + placeOfB[0]);
        lent = placeOfB[1];
    }

    /** Lets A write for some milliseconds. */
    Goodput write(long millis) throws InterruptedException {
        a.tell("write " + lent + " " + millis);
        try {
            return Goodput.of(a.nextAfter(GoodputEnd.DONE));
        } catch (Failure e) {
            throw new Failure(
                    "A cannot write through the network '" + network.title() + "': " + e.getMessage()
                            + "; if the machine is busy with something else, run the lesson again",
                    e);
        }
    }

    @Override
    public void close() {
        a.close();
        b.close();
    }
}
