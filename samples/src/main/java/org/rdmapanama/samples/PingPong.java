package org.rdmapanama.samples;

import java.time.Duration;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;

/**
 * One side of a ping-pong: the same message goes back and forth, sent from and received into the same buffer. Its wire
 * protocol is that of ibv_rc_pingpong, ibv_uc_pingpong and ibv_ud_pingpong.
 *
 * <p>The loop allocates nothing. Threads: the one that owns the arena.
 */
final class PingPong {
    /** The Q_Key that both sides of a datagram ping-pong use. */
    static final int QKEY = 0x1111_1111;

    private static final int RECEIVE_ID = 1;
    private static final int SEND_ID = 2;
    private static final int BATCH = 16;

    /** Number of empty polls between two looks at the clock, which cost as much as a poll. */
    private static final int POLLS_PER_LOOK = 256;

    private final Transport transport;

    /** Null unless this is the transport. */
    private final Srd srd;

    private final ProtectionDomain protectionDomain;
    private final boolean sleeps;
    private final CompletionQueue queue;
    private final QueuePair queuePair;
    private final PingMessage message;
    private final ReceiveWorkRequest receive;
    private final SendWorkRequest send;
    private final WorkCompletions completions;
    private final Latencies latencies = new Latencies();
    private final int iterations;
    private final int warmUp;
    private final int receiveDepth;
    private final Duration limit;

    private Gid remoteGid;

    /** The number of empty polls, of all messages: a peer that answers soon must not keep this from looking. */
    private int polls;

    private int receivesPosted;
    private int sent;
    private int received;

    /** Creates everything but the connection. */
    PingPong(VerbsArena arena, Context context, Transport transport, Settings settings) {
        this.transport = transport;
        warmUp = settings.warmUp();
        iterations = Math.addExact(warmUp, settings.iterations());
        receiveDepth = settings.receiveDepth();
        limit = settings.timeout();

        int header = transport == Transport.ud ? AddressHandle.GRH_BYTES : 0;
        long size = settings.size();
        protectionDomain = context.allocateProtectionDomain();
        MemoryRegion region =
                protectionDomain.register(arena.allocate(header + size, PingMessage.PAGE), AccessFlag.LOCAL_WRITE);
        message = new PingMessage(region.memory().asSlice(header));

        sleeps = settings.events();
        queue = context.createCompletionQueue(receiveDepth + 1, sleeps ? context.createCompletionChannel() : null, 0);
        QueuePairOptions options = new QueuePairOptions(transport.type, queue)
                .maxSendWorkRequests(1)
                .maxReceiveWorkRequests(receiveDepth);
        srd = transport == Transport.srd ? Srd.of(context) : null;
        queuePair = srd == null
                ? protectionDomain.createQueuePair(options)
                : srd.createQueuePair(protectionDomain, options);

        receive = ReceiveWorkRequest.allocate(arena, 1).id(RECEIVE_ID).add(region, 0, header + size);
        send = SendWorkRequest.allocate(arena, 1)
                .id(SEND_ID)
                .send()
                .add(region, header, size)
                .signaled(true)
                // The device may grant inline data although none was requested.
                .inline(size <= queuePair.capabilities().maxInlineData());
        completions = new WorkCompletions(arena, BATCH);
    }

    /**
     * The parameters that both sides must agree on, and how this side waits.
     *
     * @param size size of a message, in bytes
     * @param warmUp number of round trips before the measurement
     * @param iterations number of round trips that are measured
     * @param receiveDepth number of receives posted at a time
     * @param events whether to sleep until a completion event, instead of polling
     * @param timeout how long to wait for a completion before giving up
     */
    record Settings(long size, int warmUp, int iterations, int receiveDepth, boolean events, Duration timeout) {}

    Endpoint localEndpoint(ConnectOptions options) {
        return queuePair.localEndpoint(options);
    }

    /** Connects to the peer. From here on there is a receive for each of its messages. */
    void connect(Endpoint remote) {
        remoteGid = remote.gid();
        if (transport == Transport.ud || srd != null) {
            if (srd == null) {
                queuePair.activate();
            } else {
                srd.activate(queuePair);
            }
            send.to(protectionDomain.createAddressHandle(queuePair.pathTo(remote)), remote.queuePairNumber(), QKEY);
        } else {
            queuePair.connect(remote);
        }
        postReceives();
    }

    /** Returns the GID of the peer, once connected. */
    Gid remoteGid() {
        return remoteGid;
    }

    /** Returns the message that goes back and forth. */
    PingMessage message() {
        return message;
    }

    /**
     * Plays until all messages have gone both ways.
     *
     * @param serve whether this side sends first
     * @return duration of the measured part, in nanoseconds
     */
    long play(boolean serve) throws InterruptedException {
        long start = System.nanoTime();
        long lastSend = start;
        int pending = RECEIVE_ID;
        if (serve) {
            post();
            pending |= SEND_ID;
        }
        while (received < iterations || sent < iterations) {
            int count = await();
            for (int i = 0; i < count; i++) {
                if (!completions.succeeded(i)) {
                    throw new Failure(failed(i));
                }
                int id = (int) completions.id(i);
                if (id == SEND_ID) {
                    sent++;
                } else {
                    received++;
                    if (--receivesPosted <= 1) {
                        postReceives();
                    }
                }
                pending &= ~id;
                if (pending == 0) {
                    long now = System.nanoTime();
                    if (sent > warmUp) {
                        latencies.record(now - lastSend);
                    } else if (sent == warmUp && warmUp > 0) {
                        start = now;
                    }
                    lastSend = now;
                    if (sent < iterations) {
                        post();
                        pending = RECEIVE_ID | SEND_ID;
                    }
                }
            }
        }
        return System.nanoTime() - start;
    }

    private String failed(int index) {
        return completions.describe(index) + ", after " + received + " of " + iterations
                + " messages; the peer is gone, "
                + "its device is not reachable from here, or the two sides differ in size, path MTU or transport";
    }

    private int await() throws InterruptedException {
        if (!sleeps) {
            return spin();
        }
        int count = queue.await(completions, limit, Duration.ZERO);
        if (count == 0) {
            throw silence();
        }
        return count;
    }

    private int spin() throws InterruptedException {
        long start = System.nanoTime();
        while (true) {
            int count = queue.poll(completions);
            if (count > 0) {
                return count;
            }
            if (++polls % POLLS_PER_LOOK == 0) {
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                if (System.nanoTime() - start > limit.toNanos()) {
                    throw silence();
                }
            }
            Thread.onSpinWait();
            SingleProcessor.giveWay();
        }
    }

    private Failure silence() {
        String why = queuePair.type() == QueuePairType.RC || srd != null
                ? "the peer is gone or does not respond"
                : "the peer is gone, or a message was lost, which " + queuePair.type() + " does not recover";
        return new Failure("nothing arrived for " + limit.toSeconds() + " s, after " + received + " of "
                + iterations + " messages on queue pair " + "0x%06x".formatted(queuePair.number()) + ": " + why
                + "; try again, with a longer --timeout if the network is slow");
    }

    private void post() {
        queuePair.postSend(send);
    }

    private void postReceives() {
        while (receivesPosted < receiveDepth) {
            queuePair.postReceive(receive);
            receivesPosted++;
        }
    }

    Latencies latencies() {
        return latencies;
    }
}
