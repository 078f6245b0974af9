package org.rdmapanama.soft.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * Agrees with other processes of this machine on links in shared memory, for {@link RingLinks}. When there is a path to
 * such a process, this side creates a {@link RingFile} and offers it. If the other one opens it, it says so, and both have
 * the link. If both offer one at the same time, that of the lower port counts. Where anything fails, or nothing answers,
 * packets go through the sockets.
 *
 * <p>Anybody on this machine may offer files, so only so many are opened in a second. Nobody but processes of the same user
 * can make a file that is accepted.
 *
 * <p>A thread of this object does all that concerns files, because that may take long; it ends when there is nothing to do.
 * Callers must hold the lock of the device, except for {@link #close}.
 */
public final class RingOffers implements AutoCloseable {
    private static final Logger LOG = Logging.logger(RingOffers.class);

    /** How many offers may be without an answer, and how many files of others may wait to be opened. */
    private static final int MOST_OFFERS = 16;

    private static final int MOST_OPENINGS = 16;

    /** How many files of others are opened in a second. */
    private static final int OPENINGS_PER_SECOND = 64;

    private static final long SECOND_NANOS = 1_000_000_000;

    /** The pauses behind an offer; then it is repeated, and at last withdrawn. */
    private static final int[] PATIENCE_MILLIS = {50, 200, 750};

    /** How long no link is offered to a peer that has not answered. */
    private static final long PAUSE_NANOS = 5 * SECOND_NANOS;

    /** How often a link is offered again at most, and when first; each pause is twice the one before. */
    private static final int MOST_AGAIN = 8;

    private static final long AGAIN_NANOS = 2 * SECOND_NANOS;

    /** A link that has lived for so long is offered again as if it were the first. */
    private static final long PROVEN_NANOS = 60 * SECOND_NANOS;

    private static final int THREAD_SECONDS = 5;
    private static final int END_SECONDS = 10;

    /** The device that this belongs to. */
    public interface Host {
        /** Takes the lock of the device. */
        void lock();

        /** Releases it. */
        void unlock();

        /** Sends a datagram from one of the own addresses to queue pair 1 of a peer, with the lock held. */
        void send(long mad, InetSocketAddress to, int index);

        /** Has {@link #gone} called when the process of a peer ends. */
        void watch(InetSocketAddress peer);
    }

    /** An offer that has no answer yet. */
    private static final class Offer {
        private final RingFile.Key key = RingFile.Key.random();
        private final Peer peer;
        private final int index;

        /** Null until it is there. */
        private RingFile file;

        /** When it will be repeated or withdrawn. */
        private Future<?> next;

        /** Whether it has been accepted or withdrawn. */
        private boolean over;

        private Offer(Peer peer, int index) {
            this.peer = peer;
            this.index = index;
        }

        private long transaction() {
            return key.nameHigh();
        }
    }

    private final String device;
    private final Wire wire;
    private final Path directory;
    private final Host host;

    /** The links, or null where shared memory is not used. */
    private final RingLinks links;

    private final NativeBlock mad = new NativeBlock(Mad.BYTES);
    private final ScheduledThreadPoolExecutor thread;

    /** By transaction. */
    private final Map<Long, Offer> offers = new HashMap<>();

    private int openings;
    private int openingsInSecond;
    private long second = System.nanoTime();

    /**
     * Begins to take offers, and to make some.
     *
     * @param device the name of the device, for the log
     * @param directory where to make files; not used if the wire has no links
     */
    public RingOffers(String device, Wire wire, Host host, Path directory) {
        this.device = device;
        this.wire = wire;
        this.host = host;
        this.directory = directory;
        links = wire.links();
        thread = new ScheduledThreadPoolExecutor(1, work -> {
            Thread made = new Thread(work, device + "-rings");
            made.setDaemon(true);
            return made;
        });
        thread.setKeepAliveTime(THREAD_SECONDS, TimeUnit.SECONDS);
        thread.allowCoreThreadTimeOut(true);
        thread.setRemoveOnCancelPolicy(true);
        // What waits for later must not hold up closing.
        thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        if (links != null) {
            links.onUnused(this::release);
            links.onEnded(link -> {
                if (System.nanoTime() - link.since > PROVEN_NANOS) {
                    link.peer.offersAgain = 0;
                }
                offerAgain(link.peer, link.index);
            });
        }
    }

    // Offering.

    /** Offers a link to a peer to which there is a new path, if it is another process of this machine. */
    public void offer(Peer peer, int index) {
        peer.offersAgain = 0;
        offerOnce(peer, index);
    }

    private void offerOnce(Peer peer, int index) {
        long now = System.nanoTime();
        if (links == null
                || !wire.isOfThisMachine(peer, index)
                || peer.link(index) != null
                || now - peer.offersFrom < 0
                || offers.size() >= MOST_OFFERS
                || links.areTooMany()
                || offerTo(peer, index) != null) {
            return;
        }
        peer.offersFrom = now + PAUSE_NANOS;
        Offer offer = new Offer(peer, index);
        offers.put(offer.transaction(), offer);
        if (!execute(() -> create(offer))) {
            forget(offer);
        }
    }

    /** Offers a link later, because a process that was only busy would otherwise use the sockets for ever. */
    private void offerAgain(Peer peer, int index) {
        if (peer.offersAgain == MOST_AGAIN) {
            return;
        }
        long pause = Math.max(AGAIN_NANOS << peer.offersAgain++, peer.offersFrom - System.nanoTime());
        Runnable again = () -> {
            host.lock();
            try {
                offerOnce(peer, index);
            } finally {
                host.unlock();
            }
        };
        try {
            @SuppressWarnings("unused")
            Future<?> scheduled = thread.schedule(again, pause, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The device closes.
        }
    }

    private Offer offerTo(Peer peer, int index) {
        for (Offer each : offers.values()) {
            if (each.index == index && each.peer.address.equals(peer.address)) {
                return each;
            }
        }
        return null;
    }

    private void forget(Offer offer) {
        end(offer);
        offers.remove(offer.transaction());
    }

    private static void end(Offer offer) {
        offer.over = true;
        if (offer.next != null) {
            offer.next.cancel(false);
        }
    }

    private boolean execute(Runnable work) {
        try {
            thread.execute(work);
            return true;
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            // The device closes, or there can be no more threads.
            return false;
        }
    }

    private void create(Offer offer) {
        RingFile file = null;
        try {
            RingFile.removeOld(directory);
            file = RingFile.create(directory, offer.key);
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            LOG.debug("{}: no shared memory for packets to {}: {}", device, offer.peer.address, e.toString());
        }
        boolean over;
        host.lock();
        try {
            over = offer.over || file == null;
            if (over) {
                forget(offer);
            } else {
                offer.file = file;
                send(RingMessage.OFFER, offer.key, offer.peer, offer.index);
                await(offer, 0);
            }
        } finally {
            host.unlock();
        }
        if (over && file != null) {
            withdraw(file);
        }
    }

    private void await(Offer offer, int times) {
        offer.next = thread.schedule(() -> repeat(offer, times + 1), PATIENCE_MILLIS[times], TimeUnit.MILLISECONDS);
    }

    private void repeat(Offer offer, int times) {
        boolean last = times == PATIENCE_MILLIS.length;
        host.lock();
        try {
            if (offer.over) {
                return;
            }
            if (last) {
                forget(offer);
                offerAgain(offer.peer, offer.index);
            } else {
                send(RingMessage.OFFER, offer.key, offer.peer, offer.index);
                await(offer, times);
            }
        } finally {
            host.unlock();
        }
        if (last) {
            LOG.debug("{}: {} has not accepted shared memory for packets", device, offer.peer.address);
            withdraw(offer.file);
        }
    }

    private void send(int kind, RingFile.Key key, Peer to, int index) {
        RingMessage.write(mad.address(), kind, key.nameHigh(), key);
        host.send(mad.address(), to.address, index);
    }

    /** Removes a file that nobody has accepted, as far as is known. */
    private static void withdraw(RingFile file) {
        file.unlink();
        file.end(0);
        file.close();
    }

    /**
     * Tells a device that this one is of the same kind, where it can know so only by a datagram from the socket that no other
     * kind sends from. One that is lost costs speed, and the next connection brings another one.
     */
    public void greet(Peer peer, int index) {
        if (wire.mustGreet(peer)) {
            RingMessage.begin(mad.address(), RingMessage.GREETING);
            host.send(mad.address(), peer.address, index);
        }
    }

    // Taking what others offer.

    /** Returns whether a datagram for queue pair 1 is for {@link #take}. */
    public static boolean isMessage(long mad) {
        return RingMessage.isValid(mad);
    }

    /** Takes a datagram. Anybody may have sent it: trust nothing in it. */
    public void take(long message, Peer from, int index) {
        if (links == null || !wire.isOfThisMachine(from, index)) {
            return;
        }
        int kind = RingMessage.kind(message);
        if (kind == RingMessage.ACCEPT) {
            accepted(RingMessage.transaction(message), from, index);
        } else if (kind == RingMessage.OFFER) {
            offered(RingMessage.key(message), from, index);
        }
    }

    private void accepted(long transaction, Peer from, int index) {
        Offer offer = offers.get(transaction);
        if (offer == null || offer.file == null || offer.index != index || !offer.peer.address.equals(from.address)) {
            return;
        }
        forget(offer);
        links.add(offer.file, offer.key, 0, from, index);
        host.watch(from.address);
        execute(offer.file::unlink);
    }

    private void offered(RingFile.Key key, Peer from, int index) {
        RingLink link = from.link(index);
        if (link != null && link.key.equals(key)) {
            // The answer was lost.
            send(RingMessage.ACCEPT, key, from, index);
            return;
        }
        if (link != null && link.isAlive()) {
            // An offer that crossed with the one that was accepted. A new link would lose what is in the old one.
            return;
        }
        Offer own = offerTo(from, index);
        if (own != null && isLower(wire.own(index), from.address)) {
            return;
        }
        if (openings >= MOST_OPENINGS || links.areTooMany() || !isInTime()) {
            return;
        }
        withdrawOwn(from, index);
        openings++;
        if (!execute(() -> open(key, from.address, index))) {
            openings--;
        }
    }

    /** Withdraws the own offer to a peer, if there is one. */
    private void withdrawOwn(Peer peer, int index) {
        Offer own = offerTo(peer, index);
        if (own != null) {
            forget(own);
            if (own.file != null) {
                execute(() -> withdraw(own.file));
            }
        }
    }

    private static boolean isLower(InetSocketAddress one, InetSocketAddress other) {
        InetAddress first = one.getAddress();
        return one.getPort() != other.getPort()
                ? one.getPort() < other.getPort()
                : Arrays.compareUnsigned(first.getAddress(), other.getAddress().getAddress()) < 0;
    }

    /** Returns whether another file may be opened in this second. */
    private boolean isInTime() {
        long now = System.nanoTime();
        if (now - second > SECOND_NANOS) {
            second = now;
            openingsInSecond = 0;
        }
        return ++openingsInSecond <= OPENINGS_PER_SECOND;
    }

    private void open(RingFile.Key key, InetSocketAddress from, int index) {
        RingFile file = null;
        boolean isDouble = false;
        try {
            file = RingFile.open(directory, key);
        } catch (IOException | RuntimeException | InternalError | OutOfMemoryError e) {
            LOG.debug("{}: the shared memory that {} offers is refused: {}", device, from, e.toString());
        }
        host.lock();
        try {
            openings--;
            if (file != null) {
                Peer peer = wire.peer(from);
                RingLink before = peer.link(index);
                isDouble = before != null && before.key.equals(key);
                if (!isDouble) {
                    links.add(file, key, 1, peer, index);
                    // It may have been made while the file was opened.
                    withdrawOwn(peer, index);
                    send(RingMessage.ACCEPT, key, peer, index);
                    host.watch(from);
                }
            }
        } finally {
            host.unlock();
        }
        if (file != null) {
            // Both have it mapped.
            file.unlink();
        }
        if (isDouble) {
            file.close();
        }
    }

    // The end.

    /** Notes that the process of a peer has ended. */
    public void gone(InetSocketAddress peer) {
        if (links != null) {
            links.endWith(peer);
            // Until there is a path to another process at the same port.
            wire.peer(peer).offersAgain = MOST_AGAIN;
        }
    }

    /** Unmaps a file that is not used any more, when whoever holds the lock of the device now has released it. */
    private void release(RingFile file) {
        execute(() -> {
            host.lock();
            host.unlock();
            file.close();
        });
    }

    /** Ends all links, withdraws all offers, and waits for the thread. */
    @Override
    public void close() {
        host.lock();
        try {
            if (links != null) {
                links.close();
            }
            for (Offer each : offers.values()) {
                end(each);
                if (each.file != null) {
                    execute(() -> withdraw(each.file));
                }
            }
            offers.clear();
        } finally {
            host.unlock();
        }
        thread.shutdown();
        boolean interrupted = Thread.interrupted();
        try {
            if (!thread.awaitTermination(END_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("{}: the thread for shared memory does not end", device);
            }
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        mad.free();
    }
}
