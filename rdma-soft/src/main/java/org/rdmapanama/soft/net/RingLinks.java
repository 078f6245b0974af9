package org.rdmapanama.soft.net;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.wire.Bth;

/**
 * The links in shared memory to other processes of this user and machine, through which packets go instead of the sockets.
 *
 * <ul>
 *   <li>{@link RingOffers} makes them: one side creates a {@link RingFile} and offers it by a datagram; the other side opens
 *       it and says so. Packets go through the sockets until both have it.
 *   <li>A {@link RingLink} is a ring of packets for each direction, without checksums: {@link RingWriter} puts them in,
 *       {@link RingReader} takes them out, both with the lock of their own device held.
 *   <li>No system call is needed while the other side is awake. Before a side sleeps, it says so in the shared memory, and
 *       then looks for packets once more; a writer publishes its packets, and then looks whether the other side sleeps. So
 *       at least one of them sees what the other one did. The writer wakes a side that sleeps by a datagram of one byte.
 *       It takes back what the sleeper has said, so there is one datagram for each sleep.
 *   <li>The other process may write anything into the memory, at any time. Of what it writes, only lengths and a position
 *       are used, each read once and checked, and packets, which are copied before they are looked at. They are then
 *       checked like those of a socket. Those for queue pair 1 are dropped.
 *   <li>Whatever is wrong ends the link, and no more than that: the sockets take over, and reliable connections repair what
 *       was lost. This is also so if the other process reads nothing for a while, or has made the file shorter, which
 *       shows as an {@link InternalError}.
 * </ul>
 *
 * <p>Callers must hold the lock of the device.
 */
final class RingLinks {
    private static final Logger LOG = Logging.logger(RingLinks.class);

    /** How many there may be. */
    static final int MOST = 64;

    /** What {@link #begin} returns when the packet must go through a socket. */
    static final long NONE = -1;

    /** How long no link is offered to a peer after one has ended. */
    private static final long PAUSE_NANOS = 1_000_000_000;

    /** For how long after a link has ended because of its memory the JVM may still tell of a fault there. */
    private static final long LATE_NANOS = 100_000_000;

    private static final String ENDED = "the peer has ended it";
    private static final String IDLE = "the peer reads nothing";

    /** Wakes up other processes. */
    interface Bell {
        /** Sends a datagram without a meaning to a peer, from a socket. Returns false if there is no room for it now. */
        boolean ring(Peer peer, int index);
    }

    private final String device;
    private final Bell bell;

    /** Records packets, or null. */
    private final RingCapture capture;

    private final List<RingLink> links = new ArrayList<>();

    /** Whether there are any. Read without the lock. */
    private volatile boolean exist;

    /** Whether the last packet came from one of them. */
    private boolean areBusiest;

    private final ByteBuffer packet = KnownMemory.directBuffer(RingReader.MOST_BYTES);
    private final long address = MemorySegment.ofBuffer(packet).address();

    /** Told of files that are not used any more. */
    private Consumer<RingFile> unused = RingFile::close;

    /** Told of links that have ended though both processes are there and may want another one. */
    private Consumer<RingLink> ended = link -> {};

    /** How many packets were received. */
    private long received;

    /** When the memory of a link was found to be gone last, by System.nanoTime(). */
    private long truncatedAt = System.nanoTime() - LATE_NANOS;

    RingLinks(String device, Bell bell, RingCapture capture) {
        this.device = device;
        this.bell = bell;
        this.capture = capture;
    }

    /** Has something else unmap the files. */
    void onUnused(Consumer<RingFile> consumer) {
        unused = consumer;
    }

    /** Has something else offer new links in place of those that have ended. */
    void onEnded(Consumer<RingLink> consumer) {
        ended = consumer;
    }

    /** Returns whether there are any. Any thread may call it. */
    boolean exist() {
        return exist;
    }

    /** Returns those that there are. */
    List<RingLink> all() {
        return List.copyOf(links);
    }

    /** Returns whether there is no room for another one. */
    boolean areTooMany() {
        return links.size() >= MOST;
    }

    long received() {
        return received;
    }

    /** Returns whether the last packet came from one of them, rather than from a socket. */
    boolean areBusiest() {
        return areBusiest;
    }

    /** Notes that a packet came from a socket. */
    void areNotBusiest() {
        areBusiest = false;
    }

    /**
     * Adds a link, in place of the one between the same sockets.
     *
     * @param side 0 if this process has created the file, 1 otherwise
     */
    void add(RingFile file, RingFile.Key key, int side, Peer peer, int index) {
        RingLink before = peer.link(index);
        if (before != null) {
            end(before, "the peer has a new one");
        }
        RingLink link = new RingLink(file, key, side, peer, index, capture);
        links.add(link);
        peer.link(index, link);
        exist = true;
        try {
            link.start();
        } catch (InternalError e) {
            endTruncated(e);
        }
        LOG.debug("{}: packets to {} go through shared memory", device, peer.address);
    }

    /** Begins a packet. Returns where to write it, 0 if there is no room now, or {@link #NONE}. */
    long begin(RingLink link) {
        try {
            if (!link.isUsed()) {
                return NONE;
            }
            if (link.isEnded()) {
                end(link, ENDED);
                return NONE;
            }
            long begun = link.begin(link.peer);
            if (begun == RingWriter.BROKEN) {
                end(link, "the peer has read what was not written");
                return NONE;
            }
            if (begun == 0 && link.suspect()) {
                end(link, IDLE);
                return NONE;
            }
            return begun;
        } catch (InternalError e) {
            endTruncated(e);
            return NONE;
        }
    }

    /** Wakes up those that sleep and have something to read. Returns false if packets or datagrams wait for room. */
    boolean flush() {
        boolean all = true;
        try {
            for (int i = links.size() - 1; i >= 0; i--) {
                RingLink link = links.get(i);
                if (link.mustWake() && !bell.ring(link.peer, link.index)) {
                    link.wakeLater();
                    all = false;
                }
                if (!link.flush()) {
                    if (link.suspect()) {
                        end(link, IDLE);
                    } else {
                        all = false;
                    }
                }
            }
        } catch (InternalError e) {
            endTruncated(e);
            all = false;
        }
        return all;
    }

    /**
     * Says that this process sleeps.
     *
     * @return whether there are packets, so that it must not
     */
    boolean sleep() {
        try {
            boolean said = false;
            for (int i = 0; i < links.size(); i++) {
                said |= links.get(i).sleep();
            }
            if (said) {
                // A writer publishes packets, and then looks who sleeps.
                VarHandle.fullFence();
            }
            // Also if it was said before: whoever said it may not have slept, and a new link may keep its packets for a
            // while.
            return hasNext();
        } catch (InternalError e) {
            endTruncated(e);
            return true;
        }
    }

    /** Returns whether one of them has something to read, or has just ended. */
    boolean hasNext() {
        try {
            for (int i = 0; i < links.size(); i++) {
                if (links.get(i).hasNext()) {
                    return true;
                }
            }
            return false;
        } catch (InternalError e) {
            endTruncated(e);
            return true;
        }
    }

    /**
     * Receives up to {@code most} packets from each link.
     *
     * @param sockets what was found there just before
     * @return whether there were any
     */
    boolean receive(int most, Wire.Receiver receiver, RingLink.Sockets sockets) {
        boolean any = false;
        try {
            // One that ends may hide the next one, until the next call.
            for (int i = 0; i < links.size(); i++) {
                RingLink link = links.get(i);
                if (link.isReady(sockets)) {
                    any |= receive(link, most, receiver);
                } else if (link.isEnded()) {
                    end(link, ENDED);
                }
            }
        } catch (InternalError e) {
            endTruncated(e);
        }
        return any;
    }

    private boolean receive(RingLink link, int most, Wire.Receiver receiver) {
        for (int count = 0; count < most; count++) {
            int bytes = link.take(address);
            if (bytes <= 0) {
                if (bytes == RingReader.BROKEN) {
                    end(link, "the peer has written a wrong length");
                } else if (link.isEnded() && !link.hasNext()) {
                    end(link, ENDED);
                }
                return count > 0;
            }
            received++;
            areBusiest = true;
            // Connection managers use sockets, whose sender the kernel knows.
            boolean further = Bth.destinationQueuePair(address) <= Mad.QUEUE_PAIR
                    || receiver.receive(address, bytes, link.peer, link.index);
            if (!further || link.isOver()) {
                return true;
            }
        }
        return true;
    }

    /** Looks whether a peer reads whose answers are overdue. */
    void suspect(RingLink link) {
        try {
            if (link.suspect()) {
                end(link, IDLE);
            }
        } catch (InternalError e) {
            endTruncated(e);
        }
    }

    /** Ends a link. */
    void end(RingLink link, String reason) {
        if (!links.remove(link)) {
            return;
        }
        LOG.debug("{}: packets to {} go through sockets again: {}", device, link.peer.address, reason);
        exist = !links.isEmpty();
        link.peer.link(link.index, null);
        link.peer.window.begin();
        link.peer.offersFrom = System.nanoTime() + PAUSE_NANOS;
        try {
            link.stop();
            // It may sleep, with nothing to read.
            bell.ring(link.peer, link.index);
        } finally {
            unused.accept(link.file);
        }
        if (reason.equals(IDLE) || reason.equals(ENDED)) {
            ended.accept(link);
        }
    }

    /** Ends the links to a process that is gone. */
    void endWith(InetSocketAddress gone) {
        for (RingLink each : List.copyOf(links)) {
            if (each.peer.address.equals(gone)) {
                end(each, "its process has ended");
            }
        }
    }

    /**
     * Ends the links whose memory is gone because somebody has made their files shorter. Returns whether there are any, or were
     * just now: the JVM reports a fault at a later moment, so one link can cause several reports.
     */
    boolean endTruncated() {
        boolean any = System.nanoTime() - truncatedAt < LATE_NANOS;
        for (RingLink each : List.copyOf(links)) {
            if (each.file.isTruncated()) {
                any = true;
                truncatedAt = System.nanoTime();
                end(each, "its file has become shorter");
            }
        }
        return any;
    }

    private void endTruncated(InternalError fault) {
        if (!endTruncated()) {
            throw fault;
        }
    }

    /** Ends all. */
    void close() {
        for (RingLink each : List.copyOf(links)) {
            end(each, "the device is closed");
        }
    }
}
