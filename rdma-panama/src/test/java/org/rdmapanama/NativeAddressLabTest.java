package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_counters;
import org.rdmapanama.ffm.verbs.ibv_dm;
import org.rdmapanama.ffm.verbs.ibv_flow;
import org.rdmapanama.ffm.verbs.ibv_flow_action;
import org.rdmapanama.ffm.verbs.ibv_rwq_ind_table;
import org.rdmapanama.ffm.verbs.ibv_td;
import org.rdmapanama.ffm.verbs.ibv_wq;
import org.rdmapanama.ffm.verbs.ibv_xrcd;
import org.rdmapanama.flow.CounterDescription;
import org.rdmapanama.flow.FlowActionEspOptions;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.queue.WorkQueueState;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.LabDevices;

/**
 * Objects made of native addresses, of every class that can be: one arena plays other code, which made the native object,
 * and another arena has it by its address.
 */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class NativeAddressLabTest {
    private static final AccessFlag[] ACCESS = {
        AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.MW_BIND
    };
    private static final int MESSAGE = 8;

    /** What one arena has: its own objects, or borrowed ones of the first. */
    private static final class View implements AutoCloseable {
        final VerbsArena arena = VerbsArena.ofConfined();
        final RecordingProvider provider;
        final Context context;
        final ProtectionDomain domain;
        final CompletionQueue queue;
        final MemoryRegion region;

        /** The other code. */
        View() {
            provider = RecordingProvider.of(LabDevices.first());
            context = Context.open(arena, LabDevices.first(), () -> provider);
            domain = context.allocateProtectionDomain();
            queue = context.createCompletionQueue(16);
            region = domain.register(arena.allocate(4096, 4096), ACCESS);
        }

        View(View other) {
            provider = new RecordingProvider(
                    LabDevices.first().providerDevice().provider().at(other.context.nativeAddress()));
            context = Context.open(arena, LabDevices.first(), () -> provider);
            context.borrow();
            domain = ProtectionDomain.ofNativeAddress(context, other.domain.nativeAddress(), Ownership.BORROWED);
            queue = CompletionQueue.ofNativeAddress(context, other.queue.nativeAddress(), Ownership.BORROWED);
            region = domain.register(arena.allocate(4096, 4096), ACCESS);
        }

        /** So many times whatever ended native objects; objects on the way that a use made are not counted. */
        List<RecordingProvider.Call> endings(long address) {
            return provider.calls().stream()
                    .filter(call -> call.object() == address)
                    .filter(call -> call.verb().startsWith("de")
                            || call.verb().startsWith("free")
                            || call.verb().startsWith("close"))
                    .toList();
        }

        QueuePair createQueuePair(ProtectionDomain in, CompletionQueue reportingTo) {
            return in.createQueuePair(new QueuePairOptions(QueuePairType.RC, reportingTo));
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    /** How one class is tried. */
    private interface Wrapper<T> {
        T wrap(View view, long address, Ownership ownership);
    }

    /**
     * One class.
     *
     * @param make makes the native object, through a Java object of the first arena; null for a stand-in
     * @param standIn makes memory that stands for a native object of a kind that Soft-RoCE lacks; null for a real one
     * @param use what shows that it works, which leaves nothing behind
     * @param verb what ends the native object
     */
    private record Kind<T extends VerbsObject>(
            Class<T> type,
            Function<View, T> make,
            ToLongFunction<View> standIn,
            Wrapper<T> wrapper,
            BiConsumer<View, T> use,
            String verb) {
        static <T extends VerbsObject> Kind<T> real(
                Class<T> type, Function<View, T> make, Wrapper<T> wrapper, BiConsumer<View, T> use, String verb) {
            return new Kind<>(type, make, null, wrapper, use, verb);
        }

        static <T extends VerbsObject> Kind<T> standIn(
                Class<T> type, ToLongFunction<View> standIn, Wrapper<T> wrapper, BiConsumer<View, T> use, String verb) {
            return new Kind<>(type, null, standIn, wrapper, use, verb);
        }

        @Override
        public String toString() {
            return type.getSimpleName();
        }
    }

    private static List<Kind<?>> kinds() {
        List<Kind<?>> kinds = new ArrayList<>();
        kinds.add(Kind.real(
                Context.class,
                view -> Context.open(view.arena, LabDevices.first()),
                (view, address, ownership) -> Context.ofNativeAddress(view.arena, address, ownership),
                (view, context) -> {
                    ProtectionDomain domain = context.allocateProtectionDomain();
                    CompletionQueue queue = context.createCompletionQueue(4);
                    MemoryRegion region = domain.register(view.arena.allocate(4096, 4096), ACCESS);
                    QueuePair queuePair = view.createQueuePair(domain, queue);
                    write(queuePair, region);
                    for (VerbsObject each : List.of(queuePair, region, queue, domain)) {
                        each.close();
                    }
                },
                "close_device"));
        kinds.add(Kind.real(
                ProtectionDomain.class,
                view -> view.context.allocateProtectionDomain(),
                (view, address, ownership) -> ProtectionDomain.ofNativeAddress(view.context, address, ownership),
                NativeAddressLabTest::useDomain,
                "dealloc_pd"));
        kinds.add(Kind.real(
                CompletionQueue.class,
                view -> view.context.createCompletionQueue(4),
                (view, address, ownership) -> CompletionQueue.ofNativeAddress(view.context, address, ownership),
                NativeAddressLabTest::useQueue,
                "destroy_cq"));
        kinds.add(Kind.real(
                ExtendedCompletionQueue.class,
                view -> view.context.createCompletionQueue(
                        new CompletionQueueOptions(4).fields(CompletionField.BYTE_LEN)),
                (view, address, ownership) -> ExtendedCompletionQueue.ofNativeAddress(view.context, address, ownership),
                (view, queue) -> {
                    assertEquals(Set.of(CompletionField.BYTE_LEN), queue.fields());
                    useQueue(view, queue);
                },
                "destroy_cq"));
        kinds.add(Kind.real(
                CompletionChannel.class,
                view -> view.context.createCompletionChannel(),
                (view, address, ownership) -> CompletionChannel.ofNativeAddress(view.context, address, ownership),
                NativeAddressLabTest::useChannel,
                "destroy_comp_channel"));
        kinds.add(Kind.real(
                QueuePair.class,
                view -> view.createQueuePair(view.domain, view.queue),
                (view, address, ownership) ->
                        QueuePair.ofNativeAddress(view.domain, view.queue, view.queue, address, ownership),
                (view, queuePair) -> write(queuePair, view.region),
                "destroy_qp"));
        kinds.add(Kind.real(
                QueuePair.class,
                view -> view.createQueuePair(view.domain, view.queue),
                (view, address, ownership) -> QueuePair.ofNativeAddress(xrcDomain(view), address, ownership),
                (view, queuePair) -> assertEquals(
                        QueuePairState.RESET,
                        queuePair.query(QueuePairAttribute.STATE).state()),
                "destroy_qp"));
        kinds.add(Kind.real(
                ExtendedQueuePair.class,
                view -> view.domain.createExtendedQueuePair(
                        new QueuePairOptions(QueuePairType.RC, view.queue).sendOperations(SendOperation.RDMA_WRITE)),
                (view, address, ownership) -> ExtendedQueuePair.ofNativeAddress(
                        view.domain, view.queue, view.queue, Set.of(SendOperation.RDMA_WRITE), address, ownership),
                NativeAddressLabTest::useExtended,
                "destroy_qp"));
        kinds.add(Kind.real(
                MemoryRegion.class,
                view -> view.domain.register(view.arena.allocate(4096, 4096), ACCESS),
                (view, address, ownership) -> MemoryRegion.ofNativeAddress(view.domain, address, ownership, ACCESS),
                (view, region) -> {
                    QueuePair queuePair = view.createQueuePair(view.domain, view.queue);
                    write(queuePair, region);
                    queuePair.close();
                },
                "dereg_mr"));
        kinds.add(Kind.real(
                MemoryWindow.class,
                view -> view.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1),
                (view, address, ownership) -> MemoryWindow.ofNativeAddress(view.domain, address, ownership),
                NativeAddressLabTest::useWindow,
                "dealloc_mw"));
        kinds.add(Kind.real(
                AddressHandle.class,
                view -> {
                    GidEntry own = view.context.preferredGid(1).orElseThrow();
                    return view.domain.createAddressHandle(AddressVector.toGid(1, own.index(), own.gid()));
                },
                (view, address, ownership) -> AddressHandle.ofNativeAddress(view.domain, address, ownership),
                NativeAddressLabTest::useHandle,
                "destroy_ah"));
        kinds.add(Kind.real(
                SharedReceiveQueue.class,
                view -> view.domain.createSharedReceiveQueue(new SharedReceiveQueueOptions()),
                (view, address, ownership) -> SharedReceiveQueue.ofNativeAddress(view.domain, address, ownership),
                NativeAddressLabTest::useReceives,
                "destroy_srq"));
        addStandIns(kinds);
        return kinds;
    }

    private static void addStandIns(List<Kind<?>> kinds) {
        // Where the driver has no parent domains of its own, a protection domain does all that one does.
        kinds.add(Kind.standIn(
                ParentDomain.class,
                view -> view.provider.allocateProtectionDomain(),
                (view, address, ownership) -> ParentDomain.ofNativeAddress(view.domain, address, ownership),
                NativeAddressLabTest::useDomain,
                "dealloc_pd"));
        kinds.add(Kind.standIn(
                ThreadDomain.class,
                view -> FakeStructs.of(view.context, ibv_td.layout(), ibv_td.context$offset()),
                (view, address, ownership) -> ThreadDomain.ofNativeAddress(view.context, address, ownership),
                (view, domain) -> Unsupported.verb(
                        "ibv_alloc_parent_domain",
                        () -> view.domain.createParentDomain(new ParentDomainOptions().threadDomain(domain))),
                "ibv_dealloc_td"));
        kinds.add(Kind.standIn(
                XrcDomain.class,
                view -> FakeStructs.of(view.context, ibv_xrcd.layout(), ibv_xrcd.context$offset()),
                (view, address, ownership) -> XrcDomain.ofNativeAddress(view.context, address, ownership),
                (view, domain) -> Unsupported.verb("ibv_open_qp", () -> domain.openQueuePair(17)),
                "ibv_close_xrcd"));
        kinds.add(Kind.standIn(
                WorkQueue.class,
                view -> FakeStructs.of(view.context, ibv_wq.layout(), ibv_wq.context$offset()),
                (view, address, ownership) ->
                        WorkQueue.ofNativeAddress(view.domain, new WorkQueueOptions(view.queue), address, ownership),
                (view, queue) -> Unsupported.verb(
                        "ibv_modify_wq", () -> queue.modify(new WorkQueueAttributes().state(WorkQueueState.RDY))),
                "ibv_destroy_wq"));
        kinds.add(Kind.standIn(
                ReceiveIndirectionTable.class,
                view -> FakeStructs.of(view.context, ibv_rwq_ind_table.layout(), ibv_rwq_ind_table.context$offset()),
                (view, address, ownership) -> ReceiveIndirectionTable.ofNativeAddress(
                        view.context, List.of(workQueue(view)), address, ownership),
                (view, table) -> assertEquals(1, table.workQueues().size()),
                "ibv_destroy_rwq_ind_table"));
        kinds.add(Kind.standIn(
                Flow.class,
                view -> FakeStructs.of(view.context, ibv_flow.layout(), ibv_flow.context$offset()),
                (view, address, ownership) ->
                        Flow.ofNativeAddress(view.createQueuePair(view.domain, view.queue), address, ownership),
                (view, flow) -> {
                    Counters counters = counters(view);
                    Unsupported.verb(
                            "ibv_attach_counters_point_flow",
                            () -> counters.attachToFlow(CounterDescription.BYTES, 0, flow));
                },
                "ibv_destroy_flow"));
        kinds.add(Kind.standIn(
                FlowActionEsp.class,
                view -> FakeStructs.of(view.context, ibv_flow_action.layout(), ibv_flow_action.context$offset()),
                (view, address, ownership) -> FlowActionEsp.ofNativeAddress(view.context, address, ownership),
                (view, action) -> Unsupported.verb(
                        "ibv_modify_flow_action_esp",
                        () -> action.modify(new FlowActionEspOptions().securityParametersIndex(1))),
                "ibv_destroy_flow_action"));
        kinds.add(Kind.standIn(
                Counters.class,
                view -> FakeStructs.of(view.context, ibv_counters.layout(), ibv_counters.context$offset()),
                (view, address, ownership) -> Counters.ofNativeAddress(view.context, address, ownership),
                (view, counters) -> Unsupported.verb("ibv_read_counters", () -> counters.read(1)),
                "ibv_destroy_counters"));
        kinds.add(Kind.standIn(
                DeviceMemory.class,
                view -> FakeStructs.of(view.context, ibv_dm.layout(), ibv_dm.context$offset()),
                (view, address, ownership) -> DeviceMemory.ofNativeAddress(view.context, address, 64, ownership),
                (view, memory) ->
                        Unsupported.verb("ibv_reg_dm_mr", () -> view.domain.registerDeviceMemory(memory, 0, 64)),
                "ibv_free_dm"));
    }

    private static XrcDomain xrcDomain(View view) {
        return XrcDomain.ofNativeAddress(
                view.context,
                FakeStructs.of(view.context, ibv_xrcd.layout(), ibv_xrcd.context$offset()),
                Ownership.BORROWED);
    }

    private static WorkQueue workQueue(View view) {
        return WorkQueue.ofNativeAddress(
                view.domain,
                new WorkQueueOptions(view.queue),
                FakeStructs.of(view.context, ibv_wq.layout(), ibv_wq.context$offset()),
                Ownership.BORROWED);
    }

    private static Counters counters(View view) {
        return Counters.ofNativeAddress(
                view.context,
                FakeStructs.of(view.context, ibv_counters.layout(), ibv_counters.context$offset()),
                Ownership.BORROWED);
    }

    /** A queue pair may be connected already, through its other object. */
    private static void connectToItself(QueuePair queuePair) {
        if (queuePair.query(QueuePairAttribute.STATE).state() == QueuePairState.RESET) {
            queuePair.connect(queuePair.localEndpoint(LabDevices.connectOptions()));
        }
    }

    private static void await(CompletionQueue queue, int count) {
        WorkCompletions batch = new WorkCompletions(queue.arena, count);
        for (Completion completion : Completions.await(queue, batch, count, Bound.USUAL)) {
            assertEquals(CompletionStatus.SUCCESS, completion.status(), completion.text());
        }
    }

    private static SendWorkRequest request(MemoryRegion region) {
        MemorySegment memory = region.memory();
        memory.fill((byte) 0).set(JAVA_LONG, 0, 4711);
        return SendWorkRequest.allocate(region.arena, 1).add(region, 0, MESSAGE).signaled(true);
    }

    /** Writes from one place of a region to another. */
    private static void write(QueuePair queuePair, MemoryRegion region) {
        connectToItself(queuePair);
        SendWorkRequest request = request(region).rdmaWrite(region.address() + 64, region.rkey());
        queuePair.postSend(request);
        await(queuePair.sendQueue(), 1);
        assertEquals(4711, region.memory().get(JAVA_LONG, 64));
    }

    private static void useDomain(View view, ProtectionDomain domain) {
        MemoryRegion region = domain.register(view.arena.allocate(4096, 4096), ACCESS);
        QueuePair queuePair = view.createQueuePair(domain, view.queue);
        write(queuePair, region);
        queuePair.close();
        region.close();
    }

    private static void useQueue(View view, CompletionQueue queue) {
        QueuePair queuePair = view.createQueuePair(view.domain, queue);
        write(queuePair, view.region);
        queuePair.close();
    }

    private static void useChannel(View view, CompletionChannel channel) {
        CompletionQueue queue = view.context.createCompletionQueue(4, channel, 0);
        QueuePair queuePair = view.createQueuePair(view.domain, queue);
        queue.requestNotification(false);
        write(queuePair, view.region);
        try {
            assertSame(queue, channel.await(Duration.ofSeconds(10)));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        queuePair.close();
        queue.close();
    }

    private static void useExtended(View view, ExtendedQueuePair queuePair) {
        connectToItself(queuePair);
        MemoryRegion region = view.region;
        region.memory().fill((byte) 0).set(JAVA_LONG, 0, 42);
        WorkRequestBuilder batch = queuePair.startWorkRequests().signaled(true);
        batch.rdmaWrite(region.address() + 64, region.rkey()).add(region, 0, MESSAGE);
        batch.complete();
        await(view.queue, 1);
        assertEquals(42, region.memory().get(JAVA_LONG, 64));
    }

    /** Writes through a window, and takes it off the region. */
    private static void useWindow(View view, MemoryWindow window) {
        QueuePair queuePair = view.createQueuePair(view.domain, view.queue);
        connectToItself(queuePair);
        MemoryWindowBinding part = new MemoryWindowBinding(view.region, 64, 64, AccessFlag.REMOTE_WRITE);
        queuePair.bind(window, part, 1, true);
        await(view.queue, 1);
        SendWorkRequest request = request(view.region).rdmaWrite(part.remoteAddress(), window.rkey());
        queuePair.postSend(request);
        await(view.queue, 1);
        assertEquals(4711, view.region.memory().get(JAVA_LONG, 64));
        MemoryWindowBinding nothing = new MemoryWindowBinding(view.region, 0, 0);
        queuePair.bind(window, nothing, 2, true);
        await(view.queue, 1);
        queuePair.close();
    }

    private static void useHandle(View view, AddressHandle handle) {
        QueuePair queuePair = view.domain.createQueuePair(new QueuePairOptions(QueuePairType.UD, view.queue));
        queuePair.localEndpoint(LabDevices.connectOptions());
        queuePair.activate();
        SendWorkRequest request = request(view.region)
                .send()
                .to(handle, queuePair.number(), LabDevices.connectOptions().qkey());
        int room = AddressHandle.GRH_BYTES + MESSAGE;
        queuePair.postReceive(ReceiveWorkRequest.allocate(view.arena, 1).add(view.region, 1024, room));
        queuePair.postSend(request);
        await(view.queue, 2);
        assertEquals(4711, view.region.memory().get(JAVA_LONG, 1024 + AddressHandle.GRH_BYTES));
        queuePair.close();
    }

    private static void useReceives(View view, SharedReceiveQueue receives) {
        QueuePair queuePair = view.domain.createQueuePair(
                new QueuePairOptions(QueuePairType.RC, view.queue).sharedReceiveQueue(receives));
        connectToItself(queuePair);
        SendWorkRequest request = request(view.region).send();
        receives.postReceive(ReceiveWorkRequest.allocate(view.arena, 1).add(view.region, 1024, MESSAGE));
        queuePair.postSend(request);
        await(view.queue, 2);
        assertEquals(4711, view.region.memory().get(JAVA_LONG, 1024));
        queuePair.close();
    }

    /** A native object, and its Java object in the first arena, where it has one. */
    private record Made<T>(T object, long address) {
        static <T extends VerbsObject> Made<T> by(View first, Kind<T> kind) {
            if (kind.make() == null) {
                LabDevices.assumeOurs("its driver would follow the pointers of a forged structure");
                return new Made<>(null, kind.standIn().applyAsLong(first));
            }
            T object = kind.make().apply(first);
            return new Made<>(object, object.nativeAddress());
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void shouldLeaveWhatIsBorrowedAlone(Kind<?> kind) {
        try (View first = new View();
                View second = new View(first)) {
            checkBorrowed(kind, first, second);
        }
    }

    private static <T extends VerbsObject> void checkBorrowed(Kind<T> kind, View first, View second) {
        Made<T> made = Made.by(first, kind);
        T borrowed = kind.wrapper().wrap(second, made.address(), Ownership.BORROWED);
        assertEquals(kind.type(), borrowed.getClass());
        assertEquals(made.address(), borrowed.nativeAddress());
        kind.use().accept(second, borrowed);
        borrowed.close();
        assertFalse(borrowed.isOpen());
        assertThrows(IllegalStateException.class, borrowed::nativeAddress);
        assertEquals(List.of(), second.endings(made.address()));
        if (made.object() == null) {
            kind.use().accept(second, kind.wrapper().wrap(second, made.address(), Ownership.BORROWED));
        } else {
            kind.use().accept(first, made.object());
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void shouldEndWhatItOwns(Kind<?> kind) {
        try (View first = new View();
                View second = new View(first)) {
            checkOwned(kind, first, second);
        }
    }

    private static <T extends VerbsObject> void checkOwned(Kind<T> kind, View first, View second) {
        Made<T> made = Made.by(first, kind);
        if (made.object() != null) {
            // From now on the second arena ends it.
            made.object().borrow();
        }
        T owned = kind.wrapper().wrap(second, made.address(), Ownership.OWNED);
        kind.use().accept(second, owned);
        assertEquals(List.of(), second.endings(made.address()));
        if (owned instanceof Context context && !LabDevices.areNative()) {
            context.close();
            owned.close();
            return;
        }
        if (owned instanceof Context context) {
            Path channel = Path.of("/proc/self/fd/" + context.commandFileDescriptor());
            assertTrue(Files.exists(channel, LinkOption.NOFOLLOW_LINKS));
            context.close();
            assertFalse(Files.exists(channel, LinkOption.NOFOLLOW_LINKS), "the device is closed");
            return;
        }
        if (kind.verb().startsWith("ibv_")) {
            VerbsException refused = assertThrows(VerbsException.class, owned::close);
            assertEquals(kind.verb(), refused.verb());
            assertEquals(Errno.EOPNOTSUPP, refused.errno());
        } else {
            owned.close();
        }
        assertEquals(
                List.of(new RecordingProvider.Call(kind.verb().replace("ibv_", ""), made.address())),
                second.endings(made.address()));
        owned.close();
        assertEquals(1, second.endings(made.address()).size(), "once is enough");
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void shouldRefuseAddressesThatAreNoneOrHaveAnObject(Kind<?> kind) {
        try (View first = new View();
                View second = new View(first)) {
            checkRefusals(kind, first, second);
        }
    }

    private static <T extends VerbsObject> void checkRefusals(Kind<T> kind, View first, View second) {
        Wrapper<T> wrapper = kind.wrapper();
        assertThrows(IllegalArgumentException.class, () -> wrapper.wrap(second, 0, Ownership.BORROWED));
        Made<T> made = Made.by(first, kind);
        assertThrows(NullPointerException.class, () -> wrapper.wrap(second, made.address(), null));
        if (made.object() != null) {
            assertThrows(IllegalArgumentException.class, () -> wrapper.wrap(first, made.address(), Ownership.BORROWED));
        }
        T borrowed = wrapper.wrap(second, made.address(), Ownership.BORROWED);
        for (Ownership ownership : Ownership.values()) {
            assertThrows(IllegalArgumentException.class, () -> wrapper.wrap(second, made.address(), ownership));
        }
        borrowed.close();
        wrapper.wrap(second, made.address(), Ownership.BORROWED).close();
    }

    @Test
    void shouldTryEveryClassThatCanBeMadeOfAnAddress() {
        Set<String> there = Api.classes().stream()
                .filter(type -> Arrays.stream(type.getDeclaredMethods()).anyMatch(NativeAddressLabTest::takesAnAddress))
                .map(Class::getSimpleName)
                .collect(Collectors.toSet());
        assertTrue(there.contains("QueuePair"), there::toString);
        assertEquals(there, kinds().stream().map(Kind::toString).collect(Collectors.toSet()));
    }

    private static boolean takesAnAddress(Method method) {
        return method.getName().equals("ofNativeAddress")
                && Modifier.isStatic(method.getModifiers())
                && Modifier.isPublic(method.getModifiers());
    }
}
