package org.rdmapanama.samples.selftest;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedQueuePair;
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
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.efa.EfaCapability;
import org.rdmapanama.efa.EfaDevice;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.SendOperation;

/** Two queue pairs of the same device, A and B, which are connected to each other. */
final class Loopback implements AutoCloseable {
    /** Number of bytes before and after the data that no operation may change. */
    static final int GUARD = 64;

    /** Number of requests that fit a queue. */
    static final int DEPTH = 64;

    static final int QKEY = 0x1111_1111;

    private static final int EOPNOTSUPP = 95;

    // Devices refuse a queue pair with more inline data than they can take, and there is no attribute that says how
    // much.
    private static final int[] INLINE = {64, 32, 0};

    /** Of EFA: more makes the entries of the send queue twice as large. */
    static final int SMALL_INLINE = 32;

    private static final int[] INLINE_OF_SMALL_ENTRIES = {SMALL_INLINE, 0};
    private static final int PAGE = 4096;

    final VerbsArena arena = VerbsArena.ofConfined();
    final Context context;
    final Way way;
    final Mtu mtu;
    final End a;
    final End b;

    private final TestedTransport transport;
    private final ProtectionDomain domain;

    /** What an EFA device can do; null on others. */
    final Set<EfaCapability> efaCapabilities;

    private AddressHandle wayToA;
    private AddressHandle wayToB;

    /** What a loopback connection consists of. */
    static final class Options {
        private final Subject subject;
        private final TestedTransport transport;
        private final Way way;
        private int[] inline;
        private int repeats = -1;
        private boolean shared;
        private boolean windows;
        private boolean events;
        private Consumer<ConnectOptions> connect = options -> {};

        Options(Subject subject, TestedTransport transport, Way way) {
            this.subject = subject;
            this.transport = transport;
            this.way = way;
            inline = transport == TestedTransport.SRD ? INLINE_OF_SMALL_ENTRIES : INLINE;
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

        /** Asks for so much inline data that the entries of a send queue of EFA are large. */
        Options largeEntries() {
            inline = INLINE;
            return this;
        }

        /** How often an SRD queue pair of A repeats a send for which B has no receive. */
        Options repeats(int count) {
            repeats = count;
            return this;
        }

        TestedTransport transport() {
            return transport;
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
        transport = options.transport;
        boolean opened = false;
        try {
            context = Context.open(arena, options.subject.device());
            if (context.transportType() == TransportType.IWARP) {
                throw new NotPossible("an iWARP device connects queue pairs through the connection manager only");
            }
            mtu = context.queryPort(options.subject.port()).activeMtu();
            domain = context.allocateProtectionDomain();
            efaCapabilities = efaCapabilities(context);
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

    /** Returns what an EFA device can do; null for others. */
    static Set<EfaCapability> efaCapabilities(Context context) {
        return EfaDevice.isEfa(context) ? EfaDevice.of(context).queryDevice().capabilities() : null;
    }

    private End end(String name, Options options, SharedReceiveQueue shared) throws NotPossible {
        CompletionChannel channel = options.events ? context.createCompletionChannel() : null;
        CompletionQueue queue = channel == null ? completionQueue(null) : eventfulQueue(channel);
        MemoryRegion region = domain.register(
                arena.allocate(2 * GUARD + AddressHandle.GRH_BYTES + (long) Sizes.MAX, PAGE), access(options.windows));
        return new End(
                name,
                arena,
                channel,
                queue,
                shared,
                queuePair(queue, shared, options.inline),
                region,
                options.subject.limit());
    }

    private CompletionQueue completionQueue(CompletionChannel channel) {
        return way == Way.DIRECT
                ? context.createCompletionQueue(
                        new CompletionQueueOptions(2 * DEPTH).channel(channel).direct(true))
                : context.createCompletionQueue(2 * DEPTH, channel, 0);
    }

    /** An EFA device may tell of no completions, which no attribute shows. */
    private CompletionQueue eventfulQueue(CompletionChannel channel) throws NotPossible {
        try {
            return completionQueue(channel);
        } catch (UnsupportedVerbException | VerbsException e) {
            boolean isUnsupported = !(e instanceof VerbsException failure) || failure.errno() == EOPNOTSUPP;
            if (efaCapabilities != null && isUnsupported) {
                throw new NotPossible("the device or libefa tells of no completions: " + e.getMessage());
            }
            throw e;
        }
    }

    private AccessFlag[] access(boolean windows) {
        if (efaCapabilities != null) {
            // An EFA device refuses what it cannot do.
            List<AccessFlag> access = new ArrayList<>(List.of(AccessFlag.LOCAL_WRITE));
            if (efaCapabilities.contains(EfaCapability.RDMA_READ)) {
                access.add(AccessFlag.REMOTE_READ);
            }
            if (efaCapabilities.contains(EfaCapability.RDMA_WRITE)) {
                access.add(AccessFlag.REMOTE_WRITE);
            }
            return access.toArray(AccessFlag[]::new);
        }
        return windows
                ? new AccessFlag[] {AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND}
                : new AccessFlag[] {
                    AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC
                };
    }

    private QueuePair queuePair(CompletionQueue queue, SharedReceiveQueue shared, int[] inlineSizes) {
        RuntimeException refused = null;
        for (int inline : inlineSizes) {
            QueuePairOptions options = new QueuePairOptions(transport.type, queue)
                    .maxSendWorkRequests(DEPTH)
                    .maxInlineData(inline);
            if (shared == null) {
                options.maxReceiveWorkRequests(DEPTH);
            } else {
                options.sharedReceiveQueue(shared);
            }
            try {
                return efaCapabilities == null
                        ? domain.createQueuePair(options)
                        : EfaDevice.of(context).createExtendedQueuePair(domain, options.sendOperations(operations()));
            } catch (VerbsException | UnsupportedVerbException e) {
                refused = e;
            }
        }
        throw refused;
    }

    private SendOperation[] operations() {
        return Arrays.stream(TestedOperation.values())
                .filter(each -> each.isPossible(efaCapabilities))
                .map(each -> each.option)
                .toArray(SendOperation[]::new);
    }

    private void connect(Options options) {
        ConnectOptions connecting = options.subject.connectOptions();
        options.connect.accept(connecting);
        a.queuePair.localEndpoint(connecting);
        b.queuePair.localEndpoint(connecting);
        if (transport.isDatagram()) {
            activate(a.queuePair, options.repeats);
            b.queuePair.activate();
            wayToA = domain.createAddressHandle(b.queuePair.pathTo(a.queuePair.localEndpoint()));
            wayToB = domain.createAddressHandle(a.queuePair.pathTo(b.queuePair.localEndpoint()));
        } else {
            a.queuePair.connect(b.queuePair.localEndpoint());
            b.queuePair.connect(a.queuePair.localEndpoint());
        }
    }

    private static void activate(QueuePair queuePair, int repeats) {
        if (repeats < 0) {
            queuePair.activate();
            return;
        }
        queuePair.initialize();
        queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTR));
        queuePair.modify(
                new QueuePairAttributes().state(QueuePairState.RTS).sendPsn(0).rnrRetry(repeats));
    }

    /** Posts a request of A. Names B as its destination if it is a datagram. */
    void post(SendWorkRequest request) {
        a.post(addressed(a, request));
    }

    /** Names the other end as the destination of a request of this end, if it is a datagram. */
    SendWorkRequest addressed(End from, SendWorkRequest request) {
        if (!transport.isDatagram()) {
            return request;
        }
        return from == a
                ? request.to(wayToB, b.queuePair.number(), QKEY)
                : request.to(wayToA, a.queuePair.number(), QKEY);
    }

    /** Starts requests of A that are built call by call. */
    WorkRequestBuilder start() {
        return ((ExtendedQueuePair) a.queuePair).startWorkRequests();
    }

    /** Names B as the destination of the request that is being built. */
    void toB(WorkRequestBuilder builder) {
        builder.to(wayToB, b.queuePair.number(), QKEY);
    }

    ProtectionDomain domain() {
        return domain;
    }

    @Override
    public void close() {
        arena.close();
    }
}
