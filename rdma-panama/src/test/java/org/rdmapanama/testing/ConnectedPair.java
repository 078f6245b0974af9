package org.rdmapanama.testing;

import java.time.Duration;
import java.util.function.Function;
import java.util.function.UnaryOperator;
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
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;

/** Two sides whose queue pairs are connected to each other, or, of type UD, ready. Closing this closes their arenas. */
public final class ConnectedPair implements AutoCloseable {
    public final Side a;
    public final Side b;

    private ConnectedPair(Side a, Side b) {
        this.a = a;
        this.b = b;
    }

    /** Two sides in one confined arena. */
    public static ConnectedPair open(QueuePairType type) {
        return new Setup(type).open();
    }

    public static Setup of(QueuePairType type) {
        return new Setup(type);
    }

    public Side other(Side side) {
        return side.equals(a) ? b : a;
    }

    /** An RDMA write of a part of a's buffer to the same place in b's. */
    public SendWorkRequest writeToB(long id, long offset, long length) {
        return a.request(id, offset, length).rdmaWrite(b.region.address() + offset, b.region.rkey());
    }

    /** An RDMA read of a part of b's buffer to the same place in a's. */
    public SendWorkRequest readFromB(long id, long offset, long length) {
        return a.request(id, offset, length).rdmaRead(b.region.address() + offset, b.region.rkey());
    }

    @Override
    public void close() {
        a.arena.close();
        b.arena.close();
    }

    /** What a pair is to be like. What is not set suits most tests. */
    public static final class Setup {
        private final QueuePairType type;
        private VerbsArena arenaOfA;
        private VerbsArena arenaOfB;
        private Function<VerbsArena, Context> openingOfA = arena -> Context.open(arena, LabDevices.first());
        private boolean isShared;
        private Duration limit = Bound.USUAL;
        private long bufferSize = 16384;
        private int sends = 16;
        private int receives = 16;
        private int sendSegments = 4;
        private Integer receiveSegments;
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

        public Setup in(VerbsArena arena) {
            return in(arena, arena);
        }

        public Setup in(VerbsArena ofA, VerbsArena ofB) {
            arenaOfA = ofA;
            arenaOfB = ofB;
            return this;
        }

        /** How side a opens its device, where that is not the first one of the lab, or not as usual. */
        public Setup through(Function<VerbsArena, Context> opening) {
            openingOfA = opening;
            return this;
        }

        /** Both queue pairs have side a's device, completion queue and buffer. */
        public Setup shared() {
            isShared = true;
            return this;
        }

        /** How long completions may take. */
        public Setup limit(Duration duration) {
            limit = duration;
            return this;
        }

        public Setup segments(int maxSegments) {
            sendSegments = maxSegments;
            receiveSegments = maxSegments;
            return this;
        }

        public Setup bufferSize(long bytes) {
            bufferSize = bytes;
            return this;
        }

        public Setup queues(int maxSends, int maxReceives) {
            sends = maxSends;
            receives = maxReceives;
            return this;
        }

        public Setup queueEntries(int entries) {
            queueEntries = entries;
            return this;
        }

        /** The completion queues are extended ones, with these fields. */
        public Setup extended(CompletionField... readable) {
            fields = readable;
            return this;
        }

        public Setup inline(int bytes) {
            inline = bytes;
            return this;
        }

        public Setup signalAll() {
            signalAll = true;
            return this;
        }

        /** Both queue pairs are extended ones. */
        public Setup extended(SendOperation... operations) {
            sendOperations = operations;
            return this;
        }

        public Setup connectA(ConnectOptions options) {
            optionsOfA = options;
            return this;
        }

        public Setup connectB(ConnectOptions options) {
            optionsOfB = options;
            return this;
        }

        /** What becomes of an endpoint on its way to the other side. */
        public Setup handingOver(UnaryOperator<Endpoint> way) {
            handingOver = way;
            return this;
        }

        public Setup access(AccessFlag... flags) {
            access = flags;
            return this;
        }

        private CompletionQueue createQueue(Context context, CompletionChannel channel) {
            return fields == null
                    ? context.createCompletionQueue(queueEntries, channel, 0)
                    : context.createCompletionQueue(new CompletionQueueOptions(queueEntries)
                            .channel(channel)
                            .fields(fields));
        }

        private QueuePair createQueuePair(ProtectionDomain domain, CompletionQueue queue) {
            QueuePairOptions options = new QueuePairOptions(type, queue)
                    .maxSendWorkRequests(sends)
                    .maxReceiveWorkRequests(receives)
                    .maxSegments(sendSegments, receiveSegments(domain.context()))
                    .maxInlineData(inline)
                    .signalAll(signalAll)
                    .sendOperations(sendOperations);
            return sendOperations.length > 0
                    ? domain.createExtendedQueuePair(options)
                    : domain.createQueuePair(options);
        }

        /** As many as sends have, unless the test says otherwise or a card has fewer. */
        private int receiveSegments(Context context) {
            if (receiveSegments != null) {
                return receiveSegments;
            }
            return Lab.isCard() ? Math.min(sendSegments, context.queryDevice().maxSegments()) : sendSegments;
        }

        private Side side(VerbsArena arena, Context context) {
            ProtectionDomain domain = context.allocateProtectionDomain();
            CompletionChannel channel = context.createCompletionChannel();
            QueuePair queuePair = createQueuePair(domain, createQueue(context, channel));
            MemoryRegion region = domain.register(arena.allocate(bufferSize, 4096), access);
            return new Side(arena, domain, channel, queuePair, region, limit);
        }

        private Side sideOfB(Side a) {
            if (isShared) {
                return new Side(a.arena, a.domain, a.channel, createQueuePair(a.domain, a.queue), a.region, limit);
            }
            return side(arenaOfB, Context.open(arenaOfB, LabDevices.second()));
        }

        public ConnectedPair open() {
            if (arenaOfA == null) {
                in(VerbsArena.ofConfined());
            }
            Side a = side(arenaOfA, openingOfA.apply(arenaOfA));
            Side b = sideOfB(a);
            connect(a.queuePair, b.queuePair);
            return new ConnectedPair(a, b);
        }

        /** Connects two queue pairs as this says, or, of type UD, makes both ready. */
        public void connect(QueuePair a, QueuePair b) {
            Endpoint endpointOfA = a.localEndpoint(optionsOfA);
            Endpoint endpointOfB = b.localEndpoint(optionsOfB);
            if (a.type() == QueuePairType.UD) {
                a.activate();
                b.activate();
            } else {
                a.connect(handingOver.apply(endpointOfB));
                b.connect(handingOver.apply(endpointOfA));
            }
        }
    }
}
