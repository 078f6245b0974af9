package org.rdmapanama.rsocket;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.EventChannel;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.ffm.internal.AtExit;
import org.rdmapanama.internal.provider.Logging;

/**
 * What a kernel does in the background for sockets: the thread that takes new clients, notes the end of connections, sends
 * what is left when a channel closes, and asks silent peers whether they are there. One daemon thread serves all channels
 * of the process; it starts with the first one, and sleeps while there is nothing to do.
 *
 * <p>When the process exits, the channels that are still open are ended as if they had been closed, for up to two seconds.
 *
 * <p>Threads: any.
 */
final class StreamService {
    private static final Duration TICK = Duration.ofMillis(250);
    private static final Duration LONG = Duration.ofDays(1);

    /** How long the end of a process waits for peers to get what was written. */
    private static final Duration EXIT = Duration.ofSeconds(2);

    /** How long a closed channel may try to send what is left. A device gives up much earlier. */
    private static final Duration LINGER = Duration.ofMinutes(1);

    private final VerbsArena arena = VerbsArena.ofShared();
    private final EventLoop loop = new EventLoop();
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();

    /** Done at each tick. */
    private final Set<Runnable> periodic = ConcurrentHashMap.newKeySet();

    /** The links that are not closed. */
    private final Set<StreamLink> open = ConcurrentHashMap.newKeySet();

    /** The links that wait until other ones have sent what is in the memory that all send from. */
    private final Set<StreamLink> lacking = ConcurrentHashMap.newKeySet();

    private final Runnable supplying = this::supply;

    /** The links that are closed and not released. */
    private final Set<Finishing> finishing = ConcurrentHashMap.newKeySet();

    private final Logger log;

    /** When the last tick was. Used by the thread. */
    private long ticked = System.nanoTime();

    private StreamService() {
        log = Logging.logger(StreamService.class);
        Thread.ofPlatform().daemon().name("rsocket-service").start(this::run);
        AtExit.add(AtExit.Stage.CHANNELS, this::exit);
    }

    private static final class Holder {
        static final StreamService INSTANCE = new StreamService();
    }

    static StreamService get() {
        return Holder.INSTANCE;
    }

    /** What owns the devices and connections of all channels. */
    VerbsArena arena() {
        return arena;
    }

    /** Calls an action whenever there is an event. It must not wait. The channel is forgotten when it closes. */
    void watch(EventChannel channel, Runnable action) {
        loop.add(channel, action);
    }

    /** Calls an action about four times a second, until {@link #stop}. */
    void repeat(Runnable action) {
        periodic.add(action);
        loop.wakeup();
    }

    void stop(Runnable action) {
        periodic.remove(action);
    }

    /** Takes note of a link, which {@link #finish} forgets. */
    void opened(StreamLink link) {
        open.add(link);
    }

    /** Takes note of the link of a client, and watches for its end. */
    void openedByClient(StreamLink link) {
        opened(link);
        EventChannel channel = link.connection().id().channel();
        watch(channel, () -> {
            if (!isConnected(link)) {
                link.ended();
                takeLast(channel);
            }
        });
    }

    /** A connection whose end cannot be answered, or whose events fail, has ended as well. */
    private boolean isConnected(StreamLink link) {
        try {
            return link.connection().isConnected();
        } catch (VerbsException e) {
            log.debug("{} has ended: {}", link, e.toString());
            return false;
        }
    }

    /** Takes an event that comes after the end of the connection, such as TIMEWAIT_EXIT: nobody else does. */
    private void takeLast(EventChannel channel) {
        try {
            channel.poll();
        } catch (VerbsException e) {
            log.debug("no more events of {}: {}", channel, e.toString());
            loop.remove(channel);
        } catch (IllegalStateException closedMeanwhile) {
            // The loop has forgotten it.
        }
    }

    /**
     * Closes a link, and sends in the background what is left.
     *
     * @param abort whether what has not arrived is to be dropped
     * @return what tells when the peer has everything
     */
    Finishing finish(StreamLink link, boolean abort) {
        open.remove(link);
        Finishing ending = new Finishing(link);
        try {
            link.close(abort);
        } finally {
            // Not before: it would be released as soon as nothing is left to send, and its end is not sent yet.
            finishing.add(ending);
            tasks.add(abort ? ending::release : ending::begin);
            loop.wakeup();
        }
        return ending;
    }

    /**
     * Has a link {@linkplain StreamLink#retry try again} a little later, when other links may have given back memory to send
     * from. Their programs may not call them meanwhile, so they are looked at.
     */
    void supply(StreamLink link) {
        lacking.add(link);
        repeat(supplying);
    }

    /** Takes what has completed on all links: their programs may not call them. */
    void lookAtAll() {
        open.forEach(link -> call(link::look));
    }

    private void supply() {
        stop(supplying);
        lookAtAll();
        for (StreamLink each : List.copyOf(lacking)) {
            // Before it tries again, and perhaps asks for another turn at once.
            lacking.remove(each);
            each.retry();
        }
    }

    private void run() {
        while (true) {
            try {
                int ready = loop.await(periodic.isEmpty() && finishing.isEmpty() ? LONG : TICK);
                for (int i = 0; i < ready; i++) {
                    call((Runnable) Objects.requireNonNull(loop.attachment(i)));
                }
            } catch (InterruptedException e) {
                log.debug("the thread of rsockets goes on after an interrupt");
            }
            for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
                call(task);
            }
            long now = System.nanoTime();
            if (now - ticked >= TICK.toNanos()) {
                // Not with each event: there may be many of both.
                ticked = now;
                periodic.forEach(this::call);
                finishing.forEach(Finishing::look);
            }
        }
    }

    private void call(Runnable action) {
        try {
            action.run();
        } catch (RuntimeException | Error e) {
            // Nobody else can do the work of this thread.
            log.warn("an event of an rsocket could not be handled: {}", e.toString(), e);
        }
    }

    private void exit() {
        long start = System.nanoTime();
        for (StreamLink each : open) {
            try {
                finish(each, false);
            } catch (RuntimeException | Error e) {
                log.debug("a channel could not be ended at exit: {}", e.toString());
            }
        }
        while (!finishing.isEmpty() && System.nanoTime() - start < EXIT.toNanos()) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** The end of one link. */
    final class Finishing {
        private final StreamLink link;
        private final long start = System.nanoTime();
        private final CountDownLatch released = new CountDownLatch(1);

        private Finishing(StreamLink link) {
            this.link = link;
        }

        /** Whether the connection is closed, and so the peer has got everything that it can get. */
        boolean isDone() {
            return released.getCount() == 0;
        }

        private void begin() {
            if (!lookOnce()) {
                try {
                    loop.add(link.events(), (Runnable) this::look);
                } catch (IllegalStateException | IllegalArgumentException e) {
                    // The ticks look, too.
                    log.debug("no events tell of the end of {}: {}", link, e.toString());
                }
                // It may have been completed before the loop looked.
                look();
            }
        }

        private void look() {
            call(this::lookOnce);
        }

        private boolean lookOnce() {
            if (isDone()) {
                return true;
            }
            if (isOver()) {
                release();
            }
            return isDone();
        }

        private boolean isOver() {
            try {
                link.takeEvents();
                return link.isFlushed() || System.nanoTime() - start > LINGER.toNanos();
            } catch (VerbsException | IllegalStateException e) {
                // The device is gone, say: it would fail at each look, and nothing is sent any more.
                log.debug("the end of {} cannot be waited for: {}", link, e.toString());
                return true;
            }
        }

        private void release() {
            if (isDone()) {
                return;
            }
            try {
                link.release();
            } finally {
                // It is not closed if the queue pair could not be destroyed.
                loop.remove(link.events());
                finishing.remove(this);
                released.countDown();
            }
        }

        /**
         * Waits until it is done.
         *
         * @return false if the time is over
         */
        boolean await(Duration timeout) throws InterruptedException {
            return released.await(timeout.toNanos(), TimeUnit.NANOSECONDS);
        }
    }
}
