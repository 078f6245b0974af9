package org.rdmapanama.samples.selftest;

import java.util.function.Consumer;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceiveQueue;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.UnsupportedVerbException;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;

/** Two queue pairs of the same device, A and B, which are connected to each other. */
final class Loopback implements AutoCloseable {
    /** Number of bytes before and after the data that no operation may change. */
    static final int GUARD = 64;

    /** Number of requests that fit a queue. */
    static final int DEPTH = 64;

    static final int QKEY = 0x1111_1111;

    // Devices refuse a queue pair with more inline data than they can take, and there is no attribute that says how
    // much.
    private static final int[] INLINE = {64, 32, 0};
    private static final int PAGE = 4096;

    final VerbsArena arena = VerbsArena.ofConfined();
    final Context context;
    final Way way;
    final Mtu mtu;
    final End a;
    final End b;

    private final QueuePairType type;
    private final ProtectionDomain domain;

    /** What a loopback connection consists of. */
    static final class Options {
        private final Subject subject;
        private final QueuePairType type;
        private final Way way;
        private boolean shared;
        private boolean windows;
        private boolean events;
        private Consumer<ConnectOptions> connect = options -> {};

        Options(Subject subject, QueuePairType type, Way way) {
            this.subject = subject;
            this.type = type;
            this.way = way;
        }

        /** Lets the queue pairs take their receives from one shared receive queue. */
        Options shared() {
            shared = true;
            return this;
        }

        /** Allows memory windows to be bound to the memory. */
        Options windows() {
            windows = true;
            return this;
        }

        /** Lets completions cause events, which some devices do not have. */
        Options events() {
            events = true;
            return this;
        }

        Options connect(Consumer<ConnectOptions> change) {
            connect = change;
            return this;
        }

        QueuePairType type() {
            return type;
        }

        Way way() {
            return way;
        }

        Loopback open() throws NotPossible {
            return new Loopback(this);
        }
    }

    // The arena owns everything and must not outlive a failure.
    private Loopback(Options options) throws NotPossible {
        way = options.way;
        type = options.type;
        boolean opened = false;
        try {
            context = Context.open(arena, options.subject.device());
            if (context.transportType() == TransportType.IWARP) {
                throw new NotPossible("an iWARP device connects queue pairs through the connection manager only");
            }
            mtu = context.queryPort(options.subject.port()).activeMtu();
            domain = context.allocateProtectionDomain();
            SharedReceiveQueue shared = options.shared
                    ? domain.createSharedReceiveQueue(new SharedReceiveQueueOptions()
                            .maxWorkRequests(DEPTH)
                            .direct(way == Way.DIRECT))
                    : null;
            a = end("A", options, shared);
            b = end("B", options, shared);
            connect(options);
            opened = true;
        } catch (UnsupportedOperationException e) {
            throw new NotPossible(e.getMessage());
        } finally {
            if (!opened) {
                arena.close();
            }
        }
    }

    private End end(String name, Options options, SharedReceiveQueue shared) {
        CompletionChannel channel = options.events ? context.createCompletionChannel() : null;
        boolean direct = way == Way.DIRECT;
        CompletionQueue queue = direct
                ? context.createCompletionQueue(
                        new CompletionQueueOptions(2 * DEPTH).channel(channel).direct(true))
                : context.createCompletionQueue(2 * DEPTH, channel, 0);
        MemoryRegion region = domain.register(
                arena.allocate(2 * GUARD + AddressHandle.GRH_BYTES + (long) Sizes.MAX, PAGE), access(options.windows));
        return new End(name, arena, channel, queue, shared, queuePair(queue, shared), region, options.subject.limit());
    }

    private static AccessFlag[] access(boolean windows) {
        return windows
                ? new AccessFlag[] {AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND}
                : new AccessFlag[] {
                    AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC
                };
    }

    private QueuePair queuePair(CompletionQueue queue, SharedReceiveQueue shared) {
        RuntimeException refused = null;
        for (int inline : INLINE) {
            QueuePairOptions options =
                    new QueuePairOptions(type, queue).maxSendWorkRequests(DEPTH).maxInlineData(inline);
            if (shared == null) {
                options.maxReceiveWorkRequests(DEPTH);
            } else {
                options.sharedReceiveQueue(shared);
            }
            try {
                return domain.createQueuePair(options);
            } catch (VerbsException | UnsupportedVerbException e) {
                refused = e;
            }
        }
        throw refused;
    }

    private void connect(Options options) {
        ConnectOptions connecting = options.subject.connectOptions();
        options.connect.accept(connecting);
        a.queuePair.localEndpoint(connecting);
        b.queuePair.localEndpoint(connecting);
        if (type == QueuePairType.UD) {
            a.queuePair.activate();
            b.queuePair.activate();
        } else {
            a.queuePair.connect(b.queuePair.localEndpoint());
            b.queuePair.connect(a.queuePair.localEndpoint());
        }
    }

    /** Addresses a datagram of A to B. */
    SendWorkRequest toB(SendWorkRequest request) {
        Endpoint peer = b.queuePair.localEndpoint();
        return request.to(domain.createAddressHandle(a.queuePair.pathTo(peer)), peer.queuePairNumber(), QKEY);
    }

    ProtectionDomain domain() {
        return domain;
    }

    @Override
    public void close() {
        arena.close();
    }
}
