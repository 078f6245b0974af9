package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;

/**
 * Two devices, each with one shared receive queue, and queue pairs that take their receives from it, connected in
 * pairs. Closing this closes the arena.
 */
public final class SharedReceivers implements AutoCloseable {
    public static final int SLOT = 256;
    private static final int SLOTS = 512;
    private static final int QKEY = 0x1111_1111;
    private static final Duration LIMIT = Duration.ofSeconds(20);

    /** One device. */
    public final class Peer {
        public final Context context;
        public final ProtectionDomain domain;
        public final CompletionQueue queue;
        public final SharedReceiveQueue receives;
        public final MemoryRegion region;
        public final List<QueuePair> queuePairs = new ArrayList<>();
        private final WorkCompletions batch = new WorkCompletions(arena, 16);

        private Peer(Context context, List<QueuePairType> types, SharedReceiveQueueOptions options) {
            this.context = context;
            domain = context.allocateProtectionDomain();
            queue = context.createCompletionQueue(1024);
            receives = domain.createSharedReceiveQueue(options);
            region = domain.register(arena.allocate((long) SLOT * SLOTS, 4096), AccessFlag.LOCAL_WRITE);
            for (QueuePairType type : types) {
                queuePairs.add(domain.createQueuePair(new QueuePairOptions(type, queue)
                        .maxSendWorkRequests(64)
                        .sharedReceiveQueue(receives)));
            }
        }

        /** A receive into the slot of its identifier. */
        public ReceiveWorkRequest receive(int slot) {
            return ReceiveWorkRequest.allocate(arena, 1).id(slot).add(region, (long) slot * SLOT, SLOT);
        }

        public void post(int fromSlot, int toSlot) {
            for (int slot = fromSlot; slot < toSlot; slot++) {
                receives.postReceive(receive(slot));
            }
        }

        public MemorySegment slot(int slot) {
            return region.memory().asSlice((long) slot * SLOT, SLOT);
        }

        /** A send of a text out of a slot. */
        public SendWorkRequest send(int slot, String text) {
            slot(slot).setString(0, text);
            return SendWorkRequest.allocate(arena, 1)
                    .id(slot)
                    .signaled(true)
                    .send()
                    .add(region, (long) slot * SLOT, text.length() + 1);
        }

        public List<Completion> poll() {
            return Completions.poll(queue, batch);
        }

        public List<Completion> await(int count) {
            return Completions.await(queue, batch, count, LIMIT);
        }

        public Completion await() {
            return await(1).get(0);
        }
    }

    public final VerbsArena arena;
    public final Peer a;
    public final Peer b;

    private SharedReceivers(Setup setup) {
        arena = setup.arena;
        Device second = LabDevices.second();
        a = new Peer(Context.open(arena, LabDevices.first()), setup.types, new SharedReceiveQueueOptions());
        Context contextOfB =
                setup.provider == null ? Context.open(arena, second) : Context.open(arena, second, setup.provider);
        b = new Peer(contextOfB, setup.types, setup.options);
        for (int i = 0; i < setup.types.size(); i++) {
            connect(a.queuePairs.get(i), b.queuePairs.get(i), setup.connectOptions);
        }
    }

    public static void connect(QueuePair one, QueuePair other, ConnectOptions options) {
        ConnectedPair.of(one.type()).connectA(options).connectB(options).connect(one, other);
    }

    public static SharedReceivers open(QueuePairType... types) {
        return of(types).open();
    }

    public static Setup of(QueuePairType... types) {
        return new Setup(List.of(types));
    }

    /** Sends a text from a queue pair of a to its partner, and waits until it has been sent. */
    public void send(int queuePair, int slot, String text) {
        SendWorkRequest send = a.send(slot, text);
        QueuePair sender = a.queuePairs.get(queuePair);
        if (sender.type() == QueuePairType.UD) {
            Endpoint peer = b.queuePairs.get(queuePair).localEndpoint();
            send.to(a.domain.createAddressHandle(sender.pathTo(peer)), peer.queuePairNumber(), QKEY);
        }
        sender.postSend(send);
        a.await().is(CompletionOpcode.SEND, slot);
    }

    /** Checks that b got a text on a queue pair, in the receive of a slot. */
    public void receive(int queuePair, int slot, String text) {
        Completion completion = b.await().is(CompletionOpcode.RECV, slot);
        QueuePair receiver = b.queuePairs.get(queuePair);
        assertEquals(receiver.number(), completion.queuePair(), completion.text());
        int offset = receiver.type() == QueuePairType.UD ? AddressHandle.GRH_BYTES : 0;
        assertEquals(offset + text.length() + 1, completion.byteLength(), completion.text());
        assertEquals(text, b.slot(slot).getString(offset));
    }

    @Override
    public void close() {
        arena.close();
    }

    /** What they are to be like. */
    public static final class Setup {
        private final List<QueuePairType> types;
        private VerbsArena arena;
        private Supplier<ProviderContext> provider;
        private SharedReceiveQueueOptions options = new SharedReceiveQueueOptions();
        private ConnectOptions connectOptions = LabDevices.connectOptions();

        private Setup(List<QueuePairType> types) {
            this.types = types;
        }

        public Setup in(VerbsArena of) {
            arena = of;
            return this;
        }

        /** Side b goes through this provider. */
        public Setup through(Supplier<ProviderContext> of) {
            provider = of;
            return this;
        }

        /** The queue of side b. */
        public Setup options(SharedReceiveQueueOptions of) {
            options = of;
            return this;
        }

        public Setup connect(ConnectOptions of) {
            connectOptions = of;
            return this;
        }

        public SharedReceivers open() {
            if (arena == null) {
                arena = VerbsArena.ofConfined();
            }
            return new SharedReceivers(this);
        }
    }
}
