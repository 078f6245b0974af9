package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_alloc_dm_attr;
import org.rdmapanama.ffm.verbs.ibv_dm;
import org.rdmapanama.ffm.verbs.ibv_mr;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryAdvice;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.memory.ReregistrationFailure;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.NeedsVirtualMachine;

/** Regions of every kind: at addresses of their own, changed in place, and those that Soft-RoCE does not have. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class RegionsLabTest {
    private static final AccessFlag[] WRITABLE = {
        AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ
    };

    @Test
    void shouldTellPeersWhatTheyNeed() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND, AccessFlag.REMOTE_WRITE)
                .open()) {
            MemoryRegion region = pair.b.region;
            RemoteMemory remote = region.remote();
            assertEquals(new RemoteMemory(region.address(), region.rkey(), region.byteSize()), remote);
            pair.a.memory.set(JAVA_LONG, 0, 42);
            pair.a.post(pair.a.request(1, 0, 8).rdmaWrite(remote.slice(64, 8)));
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
            assertEquals(42, pair.b.memory.get(JAVA_LONG, 64));

            MemoryRegion own = pair.b.domain.register(pair.b.memory, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
            String refused =
                    assertThrows(IllegalStateException.class, own::remote).getMessage();
            assertTrue(refused.contains("not open to peers") && refused.contains("register it with REMOTE_"), refused);
            for (AccessFlag one : List.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)) {
                assertEquals(
                        pair.b.memory.byteSize(),
                        pair.b
                                .domain
                                .register(pair.b.memory, AccessFlag.LOCAL_WRITE, one)
                                .remote()
                                .length());
            }

            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            MemoryWindowBinding part = new MemoryWindowBinding(own, 1000, 200, AccessFlag.REMOTE_WRITE);
            pair.b.queuePair.bind(window, part, 5, true);
            pair.b.await().is(CompletionOpcode.BIND_MW, 5);
            RemoteMemory opened = part.remote(window);
            assertEquals(new RemoteMemory(own.address() + 1000, window.rkey(), 200), opened);
            pair.a.post(pair.a.request(2, 0, 8).rdmaWrite(opened.slice(192)));
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 2);
            assertEquals(42, pair.b.memory.get(JAVA_LONG, 1192));
        }
    }

    @Test
    void shouldTellPeersOfABuffer() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, LabDevices.first()).allocateProtectionDomain();
            RegisteredPool pool = RegisteredPool.create(domain, 8192, WRITABLE);
            pool.allocate(64);
            RegisteredBuffer buffer = pool.allocate(100);
            assertEquals(new RemoteMemory(buffer.address(), buffer.rkey(), 100), buffer.remote());
            buffer.close();
            assertThrows(IllegalStateException.class, buffer::remote);
            RegisteredBuffer local = RegisteredPool.create(domain, 8192).allocate(64);
            assertThrows(IllegalStateException.class, local::remote);
        }
    }

    private static void write(ConnectedPair pair, MemoryRegion target, long offset) {
        pair.a.post(pair.a.request(1, 0, 8).rdmaWrite(target.address() + offset, target.rkey()));
        pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
    }

    @Test
    @Shows({"ibv_reg_mr_iova", "ibv_dereg_mr"})
    void shouldRegisterAtAnAddressOfItsOwn() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            MemorySegment memory = pair.b.arena.allocate(8192, 4096);
            MemorySegment slice = memory.asSlice(100, 4096);
            long address = 0x1122_3344_5000L + slice.address() % 4096;
            MemoryRegion region = pair.b.domain.register(slice, address, WRITABLE);
            assertEquals(address, region.address());
            assertEquals(slice, region.memory());
            pair.a.memory.set(JAVA_LONG, 0, 77);
            write(pair, region, 1000);
            assertEquals(77, memory.get(JAVA_LONG.withByteAlignment(1), 1100));

            // The same as a local segment, by offset and by slice, for a send and for a receive.
            pair.a.postReceive(3, 64, 8);
            pair.b.post(pair.b.request(2, 0, 0).add(region, 1000, 8));
            pair.b.await().is(CompletionOpcode.SEND, 2);
            pair.a.await().is(CompletionOpcode.RECV, 3);
            assertEquals(77, pair.a.memory.get(JAVA_LONG, 64));
            pair.b.post(pair.b.receiveRequest(4, 0, 0).add(region, slice.asSlice(2000, 8)));
            pair.a.post(pair.a.request(5, 64, 8));
            pair.a.await().is(CompletionOpcode.SEND, 5);
            pair.b.await().is(CompletionOpcode.RECV, 4);
            assertEquals(77, slice.get(JAVA_LONG.withByteAlignment(1), 2000));
        }
    }

    @Test
    void shouldCopyInlineDataFromWhereItLies() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).inline(64).open()) {
            MemorySegment memory = pair.a.arena.allocate(4096, 4096);
            MemoryRegion region = pair.a.domain.register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.ZERO_BASED);
            memory.set(JAVA_LONG, 16, 4711);
            SendWorkRequest[] requests = {
                pair.a.request(1, 0, 0).inline(true).add(region, 16, 8),
                pair.a.request(1, 0, 0).add(region, 16, 8).inline(true),
                pair.a.request(1, 0, 0).add(region, 16, 8).inline(true).inline(false)
            };
            for (SendWorkRequest request : requests) {
                pair.b.memory.set(JAVA_LONG, 0, 0);
                pair.a.post(request.rdmaWrite(pair.b.region.address(), pair.b.region.rkey()));
                pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
                assertEquals(4711, pair.b.memory.get(JAVA_LONG, 0));
            }
        }
    }

    @Test
    @Shows("ibv_reg_mr")
    void shouldCountFromZero() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            MemorySegment memory = pair.b.arena.allocate(4096, 4096);
            MemoryRegion region = pair.b.domain.register(
                    memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.ZERO_BASED);
            assertEquals(0, region.address());
            pair.a.memory.set(JAVA_LONG, 0, 42);
            write(pair, region, 8);
            assertEquals(42, memory.get(JAVA_LONG, 8));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> pair.b.domain.register(memory.asSlice(8), AccessFlag.ZERO_BASED));
            assertThrows(
                    IllegalArgumentException.class, () -> pair.b.domain.register(memory, 4096, AccessFlag.ZERO_BASED));
            assertThrows(IllegalArgumentException.class, () -> pair.b.domain.register(memory, 8));
            MemoryRegion last = pair.b.domain.register(memory, -4096, WRITABLE);
            write(pair, last, 4088);
            assertEquals(42, memory.get(JAVA_LONG, 4088), "up to the last address of all");
            MemorySegment larger = pair.b.arena.allocate(8192, 4096);
            assertThrows(IllegalArgumentException.class, () -> pair.b.domain.register(larger, -4096, WRITABLE));
            assertThrows(IllegalArgumentException.class, () -> pair.b.domain.registerDmaBuffer(0, 0, 8192, -4096));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = AccessFlag.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"ON_DEMAND", "FLUSH_GLOBAL", "FLUSH_PERSISTENT"})
    @Shows("ibv_reg_mr_iova2")
    void shouldRegisterWithEachFlag(AccessFlag flag) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, LabDevices.first()).allocateProtectionDomain();
            MemoryRegion region = domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE, flag);
            assertEquals(EnumSet.of(AccessFlag.LOCAL_WRITE, flag), region.access());
            assertTrue(region.isUsable());
            assertTrue(region.hasMemory());
            assertSame(domain, region.protectionDomain());
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = AccessFlag.class,
            names = {"ON_DEMAND", "FLUSH_GLOBAL", "FLUSH_PERSISTENT"})
    void shouldNameTheCapabilityThatAFlagNeeds(AccessFlag flag) {
        LabDevices.assumeOurs("it may have " + flag);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, LabDevices.first()).allocateProtectionDomain();
            UnsupportedVerbException thrown = assertThrows(
                    UnsupportedVerbException.class,
                    () -> domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE, flag));
            assertEquals("ibv_reg_mr", thrown.verb());
            assertEquals(LabDevices.first().name(), thrown.device());
            assertEquals(Errno.EINVAL, thrown.errno());
            assertFalse(thrown.capability().isBlank());
        }
    }

    @NeedsVirtualMachine("huge pages")
    @Test
    void shouldRegisterHugePages() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                HugeMemory huge = HugeMemory.map(4L << 20)) {
            MemoryRegion region = pair.b.domain.register(
                    huge.memory(), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.HUGETLB);
            pair.a.memory.set(JAVA_LONG, 0, 99);
            write(pair, region, 3L << 20);
            assertEquals(99, huge.memory().get(JAVA_LONG, 3L << 20));
            // The region must go before its memory does.
            region.close();
        }
    }

    @Test
    void shouldRegisterEverythingForLocalUseOnly() {
        LabDevices.assumeOurs("it may page on demand");
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, LabDevices.first()).allocateProtectionDomain();
            UnsupportedVerbException thrown =
                    assertThrows(UnsupportedVerbException.class, () -> domain.registerImplicit(AccessFlag.LOCAL_WRITE));
            assertEquals("ibv_reg_mr", thrown.verb());
            for (AccessFlag flag : new AccessFlag[] {
                AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC, AccessFlag.MW_BIND
            }) {
                assertThrows(
                        IllegalArgumentException.class, () -> domain.registerImplicit(AccessFlag.LOCAL_WRITE, flag));
            }
        }
    }

    @Test
    void shouldUseARegionOfEverythingBySegmentsThatLive() {
        try (VerbsArena arena = VerbsArena.ofConfined();
                Arena other = Arena.ofConfined()) {
            // Where a device has it: here a region of some memory stands in for the native one.
            MemorySegment memory = arena.allocate(4096, 4096);
            Context context = Context.open(arena, LabDevices.first(), () -> new Pretending(memory));
            ProtectionDomain domain = context.allocateProtectionDomain();
            MemoryRegion everything = domain.registerImplicit(AccessFlag.LOCAL_WRITE);
            assertFalse(everything.hasMemory());
            assertThrows(UnsupportedOperationException.class, everything::memory);
            assertEquals(Long.MAX_VALUE, everything.byteSize());
            assertEquals(Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.ON_DEMAND), everything.access());
            SendWorkRequest request = SendWorkRequest.allocate(arena, 2).add(everything, memory.asSlice(8, 8));
            assertThrows(IllegalArgumentException.class, () -> request.add(everything, memory.address(), 8));
            assertThrows(IllegalArgumentException.class, () -> request.add(everything, other.allocate(8)));
            // The region would not keep these.
            MemorySegment automatic = Arena.ofAuto().allocate(8);
            assertThrows(IllegalArgumentException.class, () -> request.add(everything, automatic));
            assertThrows(IllegalArgumentException.class, () -> everything.part(automatic));
            assertThrows(IllegalArgumentException.class, () -> everything.part(0, 8));
            RegionPart part = everything.part(memory.asSlice(16, 8));
            assertEquals(memory.address() + 16, part.address());
            Unsupported.verb("ibv_advise_mr", () -> domain.advise(MemoryAdvice.PREFETCH_NO_FAULT, false, part));
        }
    }

    /** Registers some memory, pinned, when it is asked for paging on demand. */
    private static final class Pretending extends RecordingProvider {
        private final MemorySegment memory;

        Pretending(MemorySegment memory) {
            super(LabDevices.first()
                    .providerDevice()
                    .provider()
                    .open(LabDevices.first().providerDevice()));
            this.memory = memory;
        }

        @Override
        public long registerMemory(long protectionDomain, long address, long length, long iova, int access) {
            int allowed = access & ~AccessFlag.ON_DEMAND.code();
            return length == -1
                    ? super.registerMemory(protectionDomain, memory.address(), 4096, memory.address(), allowed)
                    : super.registerMemory(protectionDomain, address, length, iova, allowed);
        }
    }

    @Test
    void shouldBuildAdviceAsCDoes() throws IOException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            MemorySegment memory = arena.allocate(4096, 4096);
            Pretending recording = new Pretending(memory);
            ProtectionDomain domain =
                    Context.open(arena, LabDevices.first(), () -> recording).allocateProtectionDomain();
            MemoryRegion region = domain.register(memory, AccessFlag.ON_DEMAND);
            recording.keepBytes("advise", 32);
            Unsupported.verb(
                    "ibv_advise_mr",
                    () -> domain.advise(MemoryAdvice.PREFETCH, true, region.part(8, 100), region.part(0, 4096)));
            CStructs.assertSame(
                    """
                    struct ibv_sge x[2] = {{.addr = %1$dUL + 8, .length = 100, .lkey = %2$dU},
                                           {.addr = %1$dUL, .length = 4096, .lkey = %2$dU}};
                    """.formatted(region.address(), Integer.toUnsignedLong(region.lkey())),
                    recording.bytesOf("advise"));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> domain.advise(MemoryAdvice.PREFETCH_WRITE, true, region.part(0, 8)));
            assertThrows(IllegalArgumentException.class, () -> domain.advise(MemoryAdvice.PREFETCH, true));
            assertThrows(IndexOutOfBoundsException.class, () -> region.part(4090, 8));
            MemoryRegion pinned = domain.register(memory);
            assertThrows(
                    IllegalArgumentException.class,
                    () -> domain.advise(MemoryAdvice.PREFETCH, true, pinned.part(0, 8)));
        }
    }

    @Test
    void shouldAskTheDriverForOtherKindsOfRegions() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            Unsupported.verb("ibv_alloc_null_mr", domain::allocateNullRegion);
            Unsupported.verb(
                    "ibv_reg_dmabuf_mr", () -> domain.registerDmaBuffer(0, 4096, 8192, 0, AccessFlag.LOCAL_WRITE));
            assertThrows(IllegalArgumentException.class, () -> domain.registerDmaBuffer(-1, 0, 4096, 0));
            assertThrows(IllegalArgumentException.class, () -> domain.registerDmaBuffer(0, -1, 4096, 0));
            assertThrows(IllegalArgumentException.class, () -> domain.registerDmaBuffer(0, 0, 0, 0));
            assertThrows(IllegalArgumentException.class, () -> domain.registerDmaBuffer(0, 8, 4096, 0));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> domain.registerDmaBuffer(0, 0, 4096, 0, AccessFlag.REMOTE_WRITE));
            assertThrows(
                    IllegalArgumentException.class, () -> domain.registerDmaBuffer(0, 0, 4096, 0, AccessFlag.MW_BIND));
        }
    }

    @Test
    void shouldAskTheDriverForDeviceMemory() throws IOException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            RecordingProvider recording = RecordingProvider.of(LabDevices.first());
            Context context = Context.open(arena, LabDevices.first(), () -> recording);
            recording.keepBytes("allocateDeviceMemory", ibv_alloc_dm_attr.sizeof());
            Unsupported.verb("ibv_alloc_dm", () -> context.allocateDeviceMemory(1000, 3));
            CStructs.assertSame(
                    "struct ibv_alloc_dm_attr x; memset(&x, 0, sizeof x); x.length = 1000; x.log_align_req = 3;",
                    recording.bytesOf("allocateDeviceMemory"));
            assertThrows(IllegalArgumentException.class, () -> context.allocateDeviceMemory(0, 0));
            assertThrows(IllegalArgumentException.class, () -> context.allocateDeviceMemory(8, -1));
            assertThrows(IllegalArgumentException.class, () -> context.allocateDeviceMemory(8, 64));
            DeviceMemory owned = DeviceMemory.ofNativeAddress(
                    context, FakeStructs.of(context, ibv_dm.layout(), ibv_dm.context$offset()), 64, Ownership.OWNED);
            Unsupported.reached("ibv_free_dm", assertThrows(VerbsException.class, owned::close));
        }
    }

    @Test
    @Shows(
            value = {"ibv_memcpy_to_dm", "ibv_memcpy_from_dm"},
            standIn = true)
    void shouldCopyToAndFromDeviceMemory() {
        LabDevices.assumeHasDriver();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            WithDeviceMemory device = new WithDeviceMemory(arena);
            Context context = Context.open(arena, LabDevices.first(), () -> device);
            ProtectionDomain domain = context.allocateProtectionDomain();
            DeviceMemory memory = context.allocateDeviceMemory(256, 0);
            assertEquals(256, memory.byteSize());
            assertEquals(9, memory.handle());
            MemorySegment own = arena.allocate(16).fill((byte) 5);
            memory.copyFrom(100, own);
            memory.copyFrom(116, MemorySegment.ofArray(new byte[] {1, 2, 3}));
            byte[] back = new byte[20];
            memory.copyTo(99, MemorySegment.ofArray(back));
            assertEquals(0, back[0]);
            assertEquals(5, back[1]);
            assertEquals(5, back[16]);
            assertEquals(3, back[19]);
            MemorySegment target = arena.allocate(3);
            memory.copyTo(116, target);
            assertEquals(2, target.get(JAVA_BYTE, 1));
            assertThrows(IndexOutOfBoundsException.class, () -> memory.copyFrom(241, own));
            assertThrows(IndexOutOfBoundsException.class, () -> memory.copyTo(-1, own));
            assertThrows(IllegalArgumentException.class, () -> memory.copyTo(0, own.asReadOnly()));

            assertThrows(IndexOutOfBoundsException.class, () -> domain.registerDeviceMemory(memory, 200, 57));
            assertThrows(IllegalArgumentException.class, () -> domain.registerDeviceMemory(memory, 0, 0));
            MemoryRegion region = domain.registerDeviceMemory(memory, 64, 128, AccessFlag.LOCAL_WRITE);
            assertEquals(0, region.address());
            assertEquals(128, region.byteSize());
            assertEquals(Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.ZERO_BASED), region.access());
            assertThrows(UnsupportedOperationException.class, region::memory);
            SendWorkRequest request = SendWorkRequest.allocate(arena, 1).add(region, 0, 128);
            assertThrows(IllegalArgumentException.class, () -> request.inline(true));
            int before = device.verbs().size();
            memory.close();
            assertFalse(region.isOpen(), "a region goes before the device memory that it is made of");
            assertEquals("dereg_mr", device.verbs().get(before));
            assertThrows(IllegalStateException.class, () -> memory.copyFrom(0, own));
        }
    }

    @Test
    void shouldAskTheDriverToRegisterDeviceMemory() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            long struct = arena.allocate(ibv_dm.layout()).address();
            DeviceMemory memory = DeviceMemory.ofNativeAddress(context, struct, 256, Ownership.BORROWED);
            Unsupported.verb("ibv_reg_dm_mr", () -> domain.registerDeviceMemory(memory, 0, 128));
        }
    }

    /** Plays a device with memory: the library's side of it is real. */
    private static final class WithDeviceMemory extends RecordingProvider {
        private final MemorySegment struct;
        private final MemorySegment bytes;
        private int grain = 1;

        @SuppressWarnings("restricted")
        WithDeviceMemory(VerbsArena arena) {
            super(LabDevices.first()
                    .providerDevice()
                    .provider()
                    .open(LabDevices.first().providerDevice()));
            struct = arena.allocate(ibv_dm.layout());
            ibv_dm.handle(struct, 9);
            bytes = arena.allocate(4096, 4096);
            ibv_dm.memcpy_to_dm(
                    struct,
                    ibv_dm.memcpy_to_dm.allocate(
                            (dm, offset, host, length) -> {
                                if (offset % grain != 0 || length % grain != 0) {
                                    return Errno.EINVAL;
                                }
                                bytes.asSlice(offset, length).copyFrom(host.reinterpret(length));
                                return 0;
                            },
                            arena));
            ibv_dm.memcpy_from_dm(
                    struct,
                    ibv_dm.memcpy_from_dm.allocate(
                            (host, dm, offset, length) -> {
                                if (offset % grain != 0 || length % grain != 0) {
                                    return Errno.EINVAL;
                                }
                                host.reinterpret(length).copyFrom(bytes.asSlice(offset, length));
                                return 0;
                            },
                            arena));
        }

        @Override
        public long allocateDeviceMemory(long attributes) {
            return struct.address();
        }

        @Override
        public int freeDeviceMemory(long deviceMemory) {
            return 0;
        }

        @Override
        public long registerDeviceMemory(
                long protectionDomain, long deviceMemory, long offset, long length, int access) {
            assertTrue((access & AccessFlag.ZERO_BASED.code()) != 0, "C asks for the flag");
            return super.registerMemory(protectionDomain, bytes.address(), length, 0, access);
        }
    }

    @Test
    void shouldAskTheDriverForObjectsOfOtherProcesses() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            MemoryRegion region = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
            Unsupported.verb("ibv_import_pd", () -> context.importProtectionDomain(domain.handle()));
            Unsupported.verb("ibv_import_mr", () -> domain.importMemoryRegion(region.handle(), region.address()));
            Unsupported.verb("ibv_import_dm", () -> context.importDeviceMemory(1, 64));
            assertThrows(IllegalArgumentException.class, () -> Context.importFrom(arena, -1));
            assertThrows(IllegalArgumentException.class, () -> Context.importFrom(arena, 0));
            assertTrue(context.queryDevice().physicalPorts() > 0, "the context is as it was");
        }
    }

    @Test
    void shouldAskTheDriverForAContextOfAnotherProcess() {
        LabDevices.assumeHasDescriptors();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            int descriptor = context.commandFileDescriptor();
            assertTrue(descriptor > 2);
            Unsupported.verb("ibv_import_device", () -> Context.importFrom(arena, descriptor));
            assertTrue(context.queryDevice().physicalPorts() > 0, "the context is as it was");
        }
    }

    /** Stands for another process, by making what is to be imported. */
    private static final class Importing extends RecordingProvider {
        private final MemorySegment memory;
        private long deviceMemory;

        Importing(MemorySegment memory) {
            super(RecordingProvider.of(LabDevices.first()));
            this.memory = memory;
        }

        @Override
        public long importProtectionDomain(int handle) {
            return allocateProtectionDomain();
        }

        @Override
        public long importMemoryRegion(long protectionDomain, int handle) {
            return registerMemory(protectionDomain, memory.address(), memory.byteSize(), memory.address(), 0);
        }

        @Override
        public long importDeviceMemory(int handle) {
            return deviceMemory;
        }
    }

    /** The driver has nothing to do for it, and the native objects stay. */
    @Test
    @Shows(
            value = {"ibv_unimport_pd", "ibv_unimport_mr", "ibv_unimport_dm"},
            standIn = true)
    void shouldGiveUpWhatItImported() {
        LabDevices.assumeOurs("it may end what was not imported");
        LabDevices.assumeHasDriver();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Importing provider = new Importing(arena.allocate(64));
            Context context = Context.open(arena, LabDevices.first(), () -> provider);
            provider.deviceMemory = FakeStructs.of(context, ibv_dm.layout(), ibv_dm.context$offset());
            ProtectionDomain domain = context.importProtectionDomain(1);
            MemoryRegion region = domain.importMemoryRegion(2, provider.memory.address());
            DeviceMemory memory = context.importDeviceMemory(3, 64);
            long nativeRegion = region.nativeAddress();
            long nativeDomain = domain.nativeAddress();
            domain.close();
            memory.close();
            assertFalse(region.isOpen());
            assertEquals(
                    List.of(
                            new RecordingProvider.Call("unimport_mr", nativeRegion),
                            new RecordingProvider.Call("unimport_pd", nativeDomain),
                            new RecordingProvider.Call("unimport_dm", provider.deviceMemory)),
                    provider.calls());
            assertEquals(0, provider.deregisterMemory(nativeRegion));
            assertEquals(0, provider.deallocateProtectionDomain(nativeDomain));
        }
    }

    @Test
    void shouldWrapARegionOfOtherCode() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            MemorySegment memory = pair.b.arena.allocate(64);
            ProviderContext provider = pair.b.context.provider();
            int access = Codes.mask(Set.of(WRITABLE), AccessFlag::code);
            long made = provider.registerMemory(pair.b.domain.address, memory.address(), 64, memory.address(), access);
            MemoryRegion region = MemoryRegion.ofNativeAddress(pair.b.domain, made, Ownership.BORROWED, WRITABLE);
            assertEquals(memory.address(), region.memory().address());
            assertEquals(64, region.byteSize());
            pair.a.memory.set(JAVA_LONG, 0, 5);
            write(pair, region, 8);
            assertEquals(5, memory.get(JAVA_LONG, 8));
            region.close();
            assertEquals(0, provider.deregisterMemory(made), "it was only borrowed");
        }
    }

    @Test
    void shouldNotTakeARegionOfElsewhereForMemory() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, LabDevices.first()).allocateProtectionDomain();
            // As drivers describe memory of other processes or of the device, of nothing, and of everything.
            for (long[] addressAndLength : new long[][] {{0, 4096}, {0, -1}, {4096, 0}, {4096, -1}}) {
                MemorySegment struct = arena.allocate(ibv_mr.layout());
                ibv_mr.addr(struct, MemorySegment.ofAddress(addressAndLength[0]));
                ibv_mr.length(struct, addressAndLength[1]);
                assertThrows(
                        IllegalArgumentException.class,
                        () -> MemoryRegion.ofNativeAddress(domain, struct.address(), Ownership.BORROWED));
            }
        }
    }

    @Test
    void shouldKeepAllMemoryWhenARegionOfEverythingStays() {
        VerbsArena arena = VerbsArena.ofConfined();
        MemorySegment memory = arena.allocate(4096, 4096);
        Pretending provider = new Pretending(memory);
        ProtectionDomain domain =
                Context.open(arena, LabDevices.first(), () -> provider).allocateProtectionDomain();
        MemoryRegion everything = domain.registerImplicit(AccessFlag.LOCAL_WRITE);
        provider.failOnce("dereg_mr", Errno.EIO);
        assertThrows(VerbsException.class, everything::close);
        provider.failOnce("dereg_mr", Errno.EIO);
        assertThrows(VerbsException.class, arena::close, "it was tried again");
        assertTrue(memory.scope().isAlive(), "the device may still write there");
    }

    @Test
    void shouldServeNoBuffersOfARegionThatChanged() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Changing provider = new Changing();
            ProtectionDomain domain =
                    Context.open(arena, LabDevices.first(), () -> provider).allocateProtectionDomain();
            MemoryRegion region = domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE);
            RegisteredPool pool = RegisteredPool.over(region);
            pool.allocate(64);
            region.reregister(new Reregistration().access(WRITABLE));
            pool.allocate(64);
            region.reregister(new Reregistration().memory(arena.allocate(8192, 4096)));
            assertThrows(IllegalStateException.class, () -> pool.allocate(64));
            pool.close();
        }
    }

    @Test
    void shouldSayWhatDeviceMemoryCanCopy() {
        LabDevices.assumeHasDriver();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            WithDeviceMemory device = new WithDeviceMemory(arena);
            device.grain = 4;
            DeviceMemory memory =
                    Context.open(arena, LabDevices.first(), () -> device).allocateDeviceMemory(256, 0);
            memory.copyFrom(4, arena.allocate(8));
            VerbsException writing = assertThrows(VerbsException.class, () -> memory.copyFrom(4, arena.allocate(7)));
            assertTrue(writing.cure().contains("multiples of 4"), writing::getMessage);
            VerbsException reading = assertThrows(VerbsException.class, () -> memory.copyTo(3, arena.allocate(8)));
            assertTrue(reading.cure().contains("multiples of 4"), reading::getMessage);
        }
    }

    @Test
    void shouldCountARegionAsLostWhenTheDriverSaysSo() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, LabDevices.first()).allocateProtectionDomain();
            MemoryRegion region = domain.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE);
            MemorySegment bigger = arena.allocate(8192);
            Unsupported.verb(
                    "ibv_rereg_mr",
                    () -> region.reregister(new Reregistration().memory(bigger).access(WRITABLE)));
            assertTrue(region.isOpen());
            if ("soft0".equals(Lab.FIRST_DEVICE)) {
                assertTrue(region.isUsable(), "nothing was changed");
                return;
            }
            assertFalse(region.isUsable());
            SendWorkRequest request = SendWorkRequest.allocate(arena, 1);
            assertThrows(IllegalStateException.class, () -> request.add(region, 0, 8));
            assertThrows(
                    IllegalStateException.class,
                    () -> region.reregister(new Reregistration().access(AccessFlag.LOCAL_WRITE)));
            region.close();
        }
    }

    @Test
    void shouldRefuseChangesThatCannotBeRight() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            MemoryRegion region = domain.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE);
            ProtectionDomain foreign = Context.open(arena, LabDevices.second()).allocateProtectionDomain();
            Reregistration[] wrong = {
                new Reregistration(),
                new Reregistration().access(AccessFlag.REMOTE_WRITE),
                new Reregistration().memory(MemorySegment.ofArray(new byte[8])),
                new Reregistration().memory(arena.allocate(8).asReadOnly()),
                new Reregistration().protectionDomain(foreign)
            };
            for (Reregistration changes : wrong) {
                assertThrows(IllegalArgumentException.class, () -> region.reregister(changes), changes::toString);
            }
            ProtectionDomain closed = context.allocateProtectionDomain();
            closed.close();
            assertThrows(
                    IllegalStateException.class,
                    () -> region.reregister(new Reregistration().protectionDomain(closed)));
            assertTrue(region.isUsable());
        }
    }

    /** Answers a change as it is told, as no driver of the lab does. */
    private static final class Changing extends RecordingProvider {
        private int code;

        Changing() {
            super(LabDevices.first()
                    .providerDevice()
                    .provider()
                    .open(LabDevices.first().providerDevice()));
        }

        /** In the kernel the region has not moved: its domain is still in use. The device takes both with it. */
        @Override
        public int deallocateProtectionDomain(long protectionDomain) {
            return 0;
        }

        @Override
        @SuppressWarnings("restricted")
        public int reregisterMemory(
                long memoryRegion,
                int flags,
                long protectionDomain,
                long address,
                long length,
                int access,
                long codeAt) {
            MemorySegment.ofAddress(codeAt).reinterpret(4).set(JAVA_INT, 0, code);
            return code == 0 ? 0 : -Errno.ENOMEM;
        }
    }

    @Test
    void shouldChangeEverythingAboutARegion() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Changing provider = new Changing();
            Context context = Context.open(arena, LabDevices.first(), () -> provider);
            ProtectionDomain old = context.allocateProtectionDomain();
            ProtectionDomain other = context.allocateProtectionDomain();
            MemoryRegion region = old.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE);
            MemorySegment bigger = arena.allocate(8192);
            region.reregister(
                    new Reregistration().memory(bigger).access(WRITABLE).protectionDomain(other));
            assertEquals(bigger, region.memory());
            assertEquals(bigger.address(), region.address());
            assertEquals(8192, region.byteSize());
            assertEquals(Set.of(WRITABLE), region.access());
            assertSame(other, region.protectionDomain());
            old.close();
            assertTrue(region.isOpen(), "it is no longer of that domain");
            other.close();
            assertFalse(region.isOpen());
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = ReregistrationFailure.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"UNKNOWN"})
    void shouldTellWhatAFailedChangeLeaves(ReregistrationFailure failure) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Changing provider = new Changing();
            ProtectionDomain domain =
                    Context.open(arena, LabDevices.first(), () -> provider).allocateProtectionDomain();
            MemorySegment memory = arena.allocate(4096);
            MemorySegment bigger = arena.allocate(8192);
            MemoryRegion region = domain.register(memory, AccessFlag.LOCAL_WRITE);
            provider.code = failure.code();
            ReregistrationException thrown = assertThrows(
                    ReregistrationException.class, () -> region.reregister(new Reregistration().memory(bigger)));
            assertEquals(failure, thrown.failure());
            assertEquals("ENOMEM", thrown.errnoName());
            assertTrue(thrown.getMessage().contains("RLIMIT_MEMLOCK"), thrown::getMessage);
            assertTrue(thrown.getMessage().contains("8192 bytes"), thrown::getMessage);
            assertEquals(failure.leavesNew() ? bigger : memory, region.memory());
            assertEquals(failure.leavesOld() || failure.leavesNew(), region.isUsable());
        }
    }
}
