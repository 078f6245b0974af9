package org.rdmapanama.samples.log;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.rdmapanama.VerbsArena;

/** Connects a candidate, and stops it at a step of its takeover until it is closed, so that it can be killed there. */
final class StoppingConnector implements Connector {
    private static final long PAUSE_NANOS = 1_000_000;

    private final Connector connector;
    private final VerbsArena arena;
    private final LogFile file;
    private final Step at;
    private final int majority;
    private final CountDownLatch reached;
    private volatile boolean killed;

    /** The candidate's own: how many replicas follow, and how many parts it has asked for. */
    private int followers;

    private int parts;

    /** The steps of a takeover, in their order. */
    enum Step {
        /** One replica has promised to follow. */
        FIRST_FENCED,
        /** As many have promised as make a majority together with the candidate. */
        MAJORITY_FENCED,
        /** The first part of the records that the candidate lacks is in its log. */
        COPYING,
        /** The candidate has the record with which it takes over, and no replica has. */
        APPENDED,
        /** A replica has that record, too, and it is not committed. */
        JOINED,
        /** It is committed, and no replica has been told. */
        COMMITTED
    }

    /** Counts the latch down when it stops. The majority includes the candidate. */
    StoppingConnector(
            Connector connector, VerbsArena arena, LogFile file, Step at, int majority, CountDownLatch reached) {
        this.connector = connector;
        this.arena = arena;
        this.file = file;
        this.at = at;
        this.majority = majority;
        this.reached = reached;
    }

    private void reach(Step step) {
        if (step == at) {
            reached.countDown();
            while (arena.scope().isAlive() && !killed) {
                LockSupport.parkNanos(PAUSE_NANOS);
                killed |= Thread.interrupted();
            }
            throw new LogException("killed at " + step);
        }
    }

    @Override
    public Link connect(InetSocketAddress address, Durability durability, long term, Duration timeout)
            throws InterruptedException {
        Link link = connector.connect(address, durability, term, timeout);
        followers++;
        if (followers == 1) {
            reach(Step.FIRST_FENCED);
        }
        if (followers + 1 == majority) {
            reach(Step.MAJORITY_FENCED);
        }
        return new StoppingLink(link);
    }

    @Override
    public void close() {
        connector.close();
    }

    private final class StoppingLink implements Link {
        private final Link link;

        StoppingLink(Link link) {
            this.link = link;
        }

        @Override
        public Greeting.Answer replica() {
            return link.replica();
        }

        @Override
        public long stored() {
            return link.stored();
        }

        @Override
        public Remote remote() {
            return new StoppingRemote(link.remote());
        }

        @Override
        public void join(Duration timeout) throws InterruptedException {
            reach(Step.APPENDED);
            link.join(timeout);
            reach(Step.JOINED);
        }

        @Override
        public boolean isUp() {
            return link.isUp();
        }

        @Override
        public boolean work(long committed) {
            if (committed == file.lastIndex()) {
                reach(Step.COMMITTED);
            }
            return link.work(committed);
        }

        @Override
        public void close() {
            link.close();
        }
    }

    private final class StoppingRemote implements Remote {
        private final Remote remote;

        StoppingRemote(Remote remote) {
            this.remote = remote;
        }

        @Override
        public void read(long offset, int length, Duration timeout) throws InterruptedException {
            if (parts > 0) {
                reach(Step.COPYING);
            }
            parts++;
            remote.read(offset, length, timeout);
        }

        @Override
        public byte[] bytes(long offset, int length, Duration timeout) throws InterruptedException {
            return remote.bytes(offset, length, timeout);
        }

        @Override
        public String toString() {
            return remote.toString();
        }
    }
}
