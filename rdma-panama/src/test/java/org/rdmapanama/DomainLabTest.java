package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_parent_domain_init_attr;
import org.rdmapanama.ffm.verbs.ibv_td;
import org.rdmapanama.flow.CounterDescription;
import org.rdmapanama.flow.FlowActionEspOptions;
import org.rdmapanama.flow.FlowRule;
import org.rdmapanama.flow.FlowSpecification;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.PretendingProvider;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.LabDevices;

/** Thread domains and parent domains, and how objects that Soft-RoCE lacks end. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class DomainLabTest {
    private static final long TYPE = 0x0000_0001_0000_0002L;

    private VerbsArena arena;
    private PretendingProvider driver;
    private Context context;

    @BeforeEach
    void open() {
        // Each test runs in a thread of its own.
        arena = VerbsArena.ofShared();
        driver = PretendingProvider.of(LabDevices.first());
        context = Context.open(arena, LabDevices.first(), () -> driver);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private ThreadDomain fakeThreadDomain(Context of, Ownership ownership) {
        long address = FakeStructs.of(of, ibv_td.layout(), ibv_td.context$offset());
        return ThreadDomain.ofNativeAddress(of, address, ownership);
    }

    @Test
    void shouldSayThatThereAreNoThreadDomains() throws IOException {
        LabDevices.assumeOurs("its driver would follow the pointers of a forged structure");
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        Context real = Context.open(arena, LabDevices.first(), () -> recording);
        recording.keepBytes("allocateThreadDomain", 4);
        Unsupported.verb("ibv_alloc_td", () -> real.allocateThreadDomain());
        CStructs.assertSame(
                "struct ibv_td_init_attr x; memset(&x, 0, sizeof x);", recording.bytesOf("allocateThreadDomain"));
        ThreadDomain owned = fakeThreadDomain(real, Ownership.OWNED);
        Unsupported.reached("ibv_dealloc_td", assertThrows(VerbsException.class, owned::close));
    }

    @Test
    void shouldSayThatThereAreNoParentDomains() throws IOException {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        Context real = Context.open(arena, LabDevices.first(), () -> recording);
        ProtectionDomain domain = real.allocateProtectionDomain();
        recording.keepBytes("allocateParentDomain", ibv_parent_domain_init_attr.sizeof());
        Unsupported.verb("ibv_alloc_parent_domain", () -> domain.createParentDomain(new ParentDomainOptions()));
        Map<String, byte[]> built = new LinkedHashMap<>();
        built.put(
                "struct ibv_parent_domain_init_attr x; memset(&x, 0, sizeof x); x.pd = (void *) "
                        + domain.nativeAddress() + "UL;",
                recording.bytesOf("allocateParentDomain"));

        ThreadDomain thread = fakeThreadDomain(real, Ownership.BORROWED);
        ParentDomainOptions all = new ParentDomainOptions().threadDomain(thread).allocator(new Blocks(size -> null));
        Unsupported.verb("ibv_alloc_parent_domain", () -> domain.createParentDomain(all));
        MemorySegment crossed = arena.allocate(ibv_parent_domain_init_attr.sizeof(), 8)
                .copyFrom(MemorySegment.ofArray(recording.bytesOf("allocateParentDomain")));
        long allocate = ibv_parent_domain_init_attr.alloc(crossed).address();
        long free = ibv_parent_domain_init_attr.free(crossed).address();
        assertTrue(allocate != 0 && free != 0 && allocate != free);
        built.put(
                """
                struct ibv_parent_domain_init_attr x; memset(&x, 0, sizeof x);
                x.pd = (void *) %dUL; x.td = (void *) %dUL; x.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
                x.alloc = (void *) %dUL; x.free = (void *) %dUL;
                """.formatted(domain.nativeAddress(), thread.nativeAddress(), allocate, free),
                recording.bytesOf("allocateParentDomain"));
    }

    @Test
    void shouldRefuseThreadDomainsOfAnotherContext() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        Context other = Context.open(arena, LabDevices.second());
        ThreadDomain foreign = fakeThreadDomain(other, Ownership.BORROWED);
        assertThrows(
                IllegalArgumentException.class,
                () -> domain.createParentDomain(new ParentDomainOptions().threadDomain(foreign)));
        ThreadDomain closed = context.allocateThreadDomain();
        closed.close();
        assertThrows(
                IllegalStateException.class,
                () -> domain.createParentDomain(new ParentDomainOptions().threadDomain(closed)));
        assertThrows(NullPointerException.class, () -> domain.createParentDomain(null));
        assertThrows(NullPointerException.class, () -> new ParentDomainOptions().threadDomain(null));
        assertThrows(NullPointerException.class, () -> new ParentDomainOptions().allocator(null));
    }

    /** An allocator that gives what a function gives, and remembers what came back. */
    private static final class Blocks implements ResourceAllocator {
        private final Function<Long, MemorySegment> source;
        private final List<String> calls = new ArrayList<>();
        private final List<MemorySegment> freed = new ArrayList<>();

        Blocks(Function<Long, MemorySegment> source) {
            this.source = source;
        }

        @Override
        public MemorySegment allocate(long byteSize, long byteAlignment, long resourceType) {
            calls.add("allocate " + byteSize + " " + byteAlignment + " " + Long.toHexString(resourceType));
            return source.apply(byteSize);
        }

        @Override
        public void free(MemorySegment memory, long resourceType) {
            calls.add("free " + memory.byteSize() + " " + Long.toHexString(resourceType));
            freed.add(memory);
        }
    }

    private ParentDomain parentWith(ResourceAllocator allocator) {
        return context.allocateProtectionDomain().createParentDomain(new ParentDomainOptions().allocator(allocator));
    }

    @Test
    void shouldAllocateForTheDriver() {
        List<MemorySegment> given = new ArrayList<>();
        Blocks blocks = new Blocks(size -> {
            MemorySegment memory = arena.allocate(size, 4096);
            memory.fill((byte) 0x5a);
            given.add(memory);
            return memory;
        });
        parentWith(blocks);
        long address = driver.allocate(8192, 4096, TYPE);
        assertEquals(given.get(0).address(), address);
        assertEquals(0, given.get(0).get(JAVA_LONG, 8184), "drivers expect zeros");
        driver.free(address, TYPE);
        assertEquals(List.of("allocate 8192 4096 100000002", "free 8192 100000002"), blocks.calls);
        assertEquals(given, blocks.freed);
    }

    @Test
    void shouldAllocateAsUsualWhenTheAllocatorSaysSo() {
        parentWith(new Blocks(size -> ResourceAllocator.DEFAULT));
        assertEquals(-1, driver.allocate(4096, 4096, TYPE));
    }

    @Test
    void shouldLetNoExceptionOutOfAnAllocator() {
        parentWith(new Blocks(size -> {
            throw new IllegalStateException("thrown by an allocator");
        }));
        assertEquals(0, driver.allocate(4096, 4096, TYPE));
        parentWith(new Blocks(size -> {
            throw new StackOverflowError("thrown by an allocator");
        }));
        assertEquals(0, driver.allocate(4096, 4096, TYPE));
        MemorySegment memory = arena.allocate(4096, 4096);
        parentWith(new ResourceAllocator() {
            @Override
            public MemorySegment allocate(long byteSize, long byteAlignment, long resourceType) {
                return memory;
            }

            @Override
            public void free(MemorySegment freed, long resourceType) {
                throw new IllegalStateException("thrown by an allocator");
            }
        });
        long address = driver.allocate(4096, 4096, TYPE);
        assertEquals(memory.address(), address);
        assertDoesNotThrow(() -> driver.free(address, TYPE));
        assertDoesNotThrow(() -> driver.free(address, TYPE), "what the driver does not have");
    }

    @Test
    void shouldGiveNoMemoryThatTheDriverCannotUse() {
        MemorySegment once = arena.allocate(4096, 4096);
        try (Arena other = Arena.ofConfined()) {
            for (MemorySegment unfit : new MemorySegment[] {
                null,
                MemorySegment.ofArray(new byte[8192]),
                other.allocate(8192, 4096),
                arena.allocate(4095, 4096),
                arena.allocate(8192, 4096).asSlice(8, 4096),
                arena.allocate(4096, 4096).asReadOnly(),
                MemorySegment.NULL
            }) {
                parentWith(new Blocks(size -> unfit));
                assertEquals(0, driver.allocate(4096, 4096, TYPE), () -> "given: " + unfit);
            }
        }
        parentWith(new Blocks(size -> once));
        assertEquals(once.address(), driver.allocate(4096, 4096, TYPE));
        assertEquals(0, driver.allocate(4096, 4096, TYPE), "in use already");
        driver.free(once.address(), TYPE);
        assertEquals(once.address(), driver.allocate(4096, 4096, TYPE));
        driver.free(once.address(), TYPE);
    }

    /** What the driver has may be a queue in use: it is neither given again nor cleared. */
    @Test
    void shouldNotTouchMemoryThatTheDriverHas() {
        MemorySegment memory = arena.allocate(16384, 4096);
        MemorySegment[] next = {memory.asSlice(4096, 8192)};
        parentWith(new Blocks(size -> next[0]));
        long queue = driver.allocate(8192, 4096, TYPE);
        assertEquals(next[0].address(), queue);
        next[0].fill((byte) 7);
        for (MemorySegment overlapping : new MemorySegment[] {
            memory.asSlice(4096, 8192), memory.asSlice(0, 8192), memory.asSlice(8192, 8192), memory
        }) {
            next[0] = overlapping;
            assertEquals(0, driver.allocate(8192, 4096, TYPE));
            for (long i = 4096; i < 12288; i++) {
                assertEquals(7, memory.get(JAVA_BYTE, i), "a driver's memory was cleared");
            }
        }
        next[0] = memory.asSlice(0, 4096);
        assertEquals(memory.address(), driver.allocate(4096, 4096, TYPE), "a neighbour");
        next[0] = memory.asSlice(12288, 4096);
        assertEquals(next[0].address(), driver.allocate(4096, 4096, TYPE), "the other neighbour");
        driver.free(next[0].address(), TYPE);
        driver.free(memory.address(), TYPE);
        driver.free(queue, TYPE);
        next[0] = memory;
        assertEquals(memory.address(), driver.allocate(16384, 4096, TYPE));
        driver.free(memory.address(), TYPE);
    }

    @Test
    void shouldBearAnyNumberOfADriver() {
        MemorySegment memory = arena.allocate(4096, 4096);
        Blocks blocks = new Blocks(size -> memory);
        parentWith(blocks);
        for (long size : new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE, 4097}) {
            assertEquals(0, driver.allocate(size, 8, TYPE), () -> Long.toUnsignedString(size) + " bytes");
        }
        assertEquals(0, driver.allocate(8, Long.MIN_VALUE, TYPE));
        assertEquals(List.of("allocate " + Long.MAX_VALUE + " 8 100000002", "allocate 4097 8 100000002"), blocks.calls);
        assertEquals(memory.address(), driver.allocate(8, 0, TYPE), "no alignment");
        assertEquals("allocate 8 1 100000002", blocks.calls.getLast());
        driver.free(memory.address(), TYPE);
        // An allocator that asks its arena for just that.
        parentWith(new Blocks(size -> arena.allocate(size)));
        assertEquals(0, driver.allocate(Long.MAX_VALUE, 8, TYPE));
    }

    @Test
    void shouldKeepMemoryThatTheDriverDidNotGiveBack() {
        VerbsArena leaking = VerbsArena.ofConfined();
        PretendingProvider forgetful = PretendingProvider.of(LabDevices.first());
        Context opened = Context.open(leaking, LabDevices.first(), () -> forgetful);
        MemorySegment memory = leaking.allocate(4096, 4096);
        opened.allocateProtectionDomain()
                .createParentDomain(new ParentDomainOptions().allocator(new Blocks(size -> memory)));
        assertEquals(memory.address(), forgetful.allocate(4096, 4096, TYPE));
        leaking.close();
        assertTrue(memory.scope().isAlive(), "the device may still write there");
        memory.set(JAVA_BYTE, 0, (byte) 1);
    }

    @Test
    void shouldKeepMemoryOfADomainThatCouldNotBeEnded() {
        VerbsArena leaking = VerbsArena.ofConfined();
        PretendingProvider refusing = PretendingProvider.of(LabDevices.first());
        Context opened = Context.open(leaking, LabDevices.first(), () -> refusing);
        MemorySegment memory = leaking.allocate(4096, 4096);
        ParentDomain parent = opened.allocateProtectionDomain()
                .createParentDomain(new ParentDomainOptions().allocator(new Blocks(size -> memory)));
        assertEquals(memory.address(), refusing.allocate(4096, 4096, TYPE));
        refusing.failOnce(new RecordingProvider.Call("dealloc_pd", parent.address), Errno.EBUSY);
        assertThrows(VerbsException.class, leaking::close);
        assertTrue(memory.scope().isAlive(), "the device may still write there");
    }

    @Test
    void shouldBeUsedAsAProtectionDomain() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        ThreadDomain thread = context.allocateThreadDomain();
        ParentDomain parent = domain.createParentDomain(new ParentDomainOptions().threadDomain(thread));
        assertEquals(domain, parent.protectionDomain());
        assertEquals(Optional.of(thread), parent.threadDomain());
        CompletionQueue queue = context.createCompletionQueue(4);
        QueuePair inParent = parent.createQueuePair(new QueuePairOptions(QueuePairType.UD, queue));
        assertEquals(parent, inParent.protectionDomain());
        inParent.localEndpoint(LabDevices.connectOptions());
        inParent.activate();

        // Address handles of the protection domain go with queue pairs of its parent domains, and with no others.
        AddressVector way = inParent.pathTo(inParent.localEndpoint());
        MemoryRegion region = parent.register(arena.allocate(64));
        SendWorkRequest send =
                SendWorkRequest.allocate(arena, 1).add(region, 0, 8).send();
        inParent.postSend(send.to(parent.createAddressHandle(way), inParent.number(), 0x1111_1111));
        assertDoesNotThrow(() -> send.to(domain.createAddressHandle(way), 1, 1).hold(inParent));
        send.release(inParent);
        AddressHandle foreign = context.allocateProtectionDomain().createAddressHandle(way);
        assertThrows(IllegalArgumentException.class, () -> inParent.postSend(send.to(foreign, 1, 1)));

        // So do memory windows and regions.
        MemoryRegion bindable = domain.register(arena.allocate(64), AccessFlag.MW_BIND);
        MemoryWindow window = parent.allocateMemoryWindow(MemoryWindowType.TYPE_2);
        MemoryWindowBinding part = new MemoryWindowBinding(bindable, 0, 8, AccessFlag.REMOTE_READ);
        assertDoesNotThrow(() -> send.bindMemoryWindow(window, window.nextRkey(), part));
        assertDoesNotThrow(() -> window.requireSameDomain(inParent, bindable));
        MemoryWindow stranger = context.allocateProtectionDomain().allocateMemoryWindow(MemoryWindowType.TYPE_2);
        assertThrows(IllegalArgumentException.class, () -> send.bindMemoryWindow(stranger, stranger.nextRkey(), part));
        assertThrows(IllegalArgumentException.class, () -> stranger.requireSameDomain(inParent, bindable));

        thread.close();
        assertFalse(parent.isOpen());
        assertFalse(inParent.isOpen());
        assertTrue(domain.isOpen());
    }

    private List<String> endings(Runnable close) {
        int before = driver.verbs().size();
        close.run();
        List<String> verbs = driver.verbs();
        return verbs.subList(before, verbs.size()).stream()
                .filter(verb -> verb.startsWith("de"))
                .toList();
    }

    @Test
    void shouldEndWhatUsesOthersFirst() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        ParentDomain parent =
                domain.createParentDomain(new ParentDomainOptions().threadDomain(context.allocateThreadDomain()));
        CompletionQueue queue = context.createCompletionQueue(4);
        QueuePair queuePair = parent.createQueuePair(new QueuePairOptions(QueuePairType.UD, queue));
        Counters counters = context.createCounters();
        FlowActionEsp action = context.createFlowActionEsp(new FlowActionEspOptions());
        queuePair.createFlow(new FlowRule(1)
                .add(new FlowSpecification.Count(counters))
                .add(new FlowSpecification.Count(counters))
                .add(new FlowSpecification.Apply(action)));
        Counters later = context.createCounters();
        Flow counted = queuePair.createFlow(new FlowRule(1));
        later.attachToFlow(CounterDescription.BYTES, 0, counted);
        later.attachToFlow(CounterDescription.PACKETS, 1, counted);

        assertEquals(List.of("destroy_flow", "destroy_counters"), endings(later::close));
        assertFalse(counted.isOpen());
        assertEquals(List.of("destroy_flow", "destroy_flow_action"), endings(action::close));
        Flow last = queuePair.createFlow(new FlowRule(1).add(new FlowSpecification.Count(counters)));
        assertEquals(
                List.of(
                        "destroy_flow",
                        "destroy_qp",
                        "destroy_counters",
                        "destroy_cq",
                        "dealloc_pd",
                        "dealloc_pd",
                        "dealloc_td"),
                endings(context::close));
        assertFalse(last.isOpen());
    }
}
