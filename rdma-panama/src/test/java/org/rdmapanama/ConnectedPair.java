package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;

/** Two sides whose queue pairs are connected to each other, or, of type UD, ready. Closing this closes their arenas. */
final class ConnectedPair implements AutoCloseable {
    final Side a;
    final Side b;

    private ConnectedPair(Side a, Side b) {
        this.a = a;
        this.b = b;
    }

    /** Two sides in one confined arena. */
    static ConnectedPair open(QueuePairType type) {
        return new Setup(type).open();
    }

    static Setup of(QueuePairType type) {
        return new Setup(type);
    }

    /** An RDMA write of a part of a's buffer to the same place in b's. */
    SendWorkRequest writeToB(long id, long offset, long length) {
        return a.request(id, offset, length).rdmaWrite(b.region.address() + offset, b.region.rkey());
    }

    /** An RDMA read of a part of b's buffer to the same place in a's. */
    SendWorkRequest readFromB(long id, long offset, long length) {
        return a.request(id, offset, length).rdmaRead(b.region.address() + offset, b.region.rkey());
    }

    @Override
    public void close() {
        a.arena.close();
        b.arena.close();
    }

    /** Fills memory with bytes that depend on their place, so that a shift or a gap shows. */
    static void fillWithPattern(MemorySegment memory, int seed) {
        for (long i = 0; i < memory.byteSize(); i++) {
            memory.set(ValueLayout.JAVA_BYTE, i, (byte) (seed + i + i / 251));
        }
    }

    /** What a pair is to be like. What is not set suits most tests. */
    static final class Setup {
        private final QueuePairType type;
        private VerbsArena arenaOfA;
        private VerbsArena arenaOfB;
        private Supplier<ProviderContext> providerOfA;
        private long bufferSize = 16384;
        private int sends = 16;
        private int receives = 16;
        private int segments = 4;
        private int inline;
        private boolean signalAll;
        private SendOperation[] sendOperations = {};
        private int queueEntries = 128;
        private CompletionField[] fields;
        private ConnectOptions optionsOfA = LabDevices.connectOptions();
        private ConnectOptions optionsOfB = LabDevices.connectOptions();
        private UnaryOperator<Endpoint> handingOver = UnaryOperator.identity();
        private AccessFlag[] access = {
            AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC
        };

        private Setup(QueuePairType type) {
            this.type = type;
        }

        Setup in(VerbsArena arena) {
            return in(arena, arena);
        }

        Setup in(VerbsArena ofA, VerbsArena ofB) {
            arenaOfA = ofA;
            arenaOfB = ofB;
            return this;
        }

        /** Side a goes through this provider. */
        Setup through(Supplier<ProviderContext> provider) {
            providerOfA = provider;
            return this;
        }

        Setup bufferSize(long bytes) {
            bufferSize = bytes;
            return this;
        }

        Setup queues(int maxSends, int maxReceives) {
            sends = maxSends;
            receives = maxReceives;
            return this;
        }

        Setup queueEntries(int entries) {
            queueEntries = entries;
            return this;
        }

        /** The completion queues are extended ones, with these fields. */
        Setup extended(CompletionField... readable) {
            fields = readable;
            return this;
        }

        Setup inline(int bytes) {
            inline = bytes;
            return this;
        }

        Setup signalAll() {
            signalAll = true;
            return this;
        }

        /** Both queue pairs are extended ones. */
        Setup extended(SendOperation... operations) {
            sendOperations = operations;
            return this;
        }

        boolean isExtended() {
            return sendOperations.length > 0;
        }

        Setup connectA(ConnectOptions options) {
            optionsOfA = options;
            return this;
        }

        Setup connectB(ConnectOptions options) {
            optionsOfB = options;
            return this;
        }

        /** What becomes of an endpoint on its way to the other side. */
        Setup handingOver(UnaryOperator<Endpoint> way) {
            handingOver = way;
            return this;
        }

        Setup access(AccessFlag... flags) {
            access = flags;
            return this;
        }

        long bufferSize() {
            return bufferSize;
        }

        CompletionQueue createQueue(Context context, CompletionChannel channel) {
            return fields == null
                    ? context.createCompletionQueue(queueEntries, channel, 0)
                    : context.createCompletionQueue(new CompletionQueueOptions(queueEntries)
                            .channel(channel)
                            .fields(fields));
        }

        AccessFlag[] access() {
            return access;
        }

        QueuePairOptions options(CompletionQueue queue) {
            return new QueuePairOptions(type, queue)
                    .maxSendWorkRequests(sends)
                    .maxReceiveWorkRequests(receives)
                    .maxSegments(segments, segments)
                    .maxInlineData(inline)
                    .signalAll(signalAll)
                    .sendOperations(sendOperations);
        }

        ConnectedPair open() {
            if (arenaOfA == null) {
                in(VerbsArena.ofConfined());
            }
            Device first = LabDevices.first();
            Context contextOfA =
                    providerOfA == null ? Context.open(arenaOfA, first) : Context.open(arenaOfA, first, providerOfA);
            Side a = new Side(arenaOfA, contextOfA, this);
            Side b = new Side(arenaOfB, Context.open(arenaOfB, LabDevices.second()), this);
            Endpoint endpointOfA = a.queuePair.localEndpoint(optionsOfA);
            Endpoint endpointOfB = b.queuePair.localEndpoint(optionsOfB);
            if (type == QueuePairType.UD) {
                a.queuePair.activate();
                b.queuePair.activate();
            } else {
                a.queuePair.connect(handingOver.apply(endpointOfB));
                b.queuePair.connect(handingOver.apply(endpointOfA));
            }
            return new ConnectedPair(a, b);
        }
    }
}
