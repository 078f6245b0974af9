package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_ex;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.SendVerbs;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.FlushLevel;
import org.rdmapanama.memory.FlushType;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.standin.RecordingSendVerbs;
import org.rdmapanama.testing.LabDevices;

/**
 * What a driver is told, call by call: also of operations that Soft-RoCE does not have. The queue pair is a real one; the
 * driver's builder is replaced by one that writes down.
 */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkRequestBuilderLabTest {
    private final RecordingSendVerbs recorded = new RecordingSendVerbs();

    /** Whether calls go through the structure of the queue pair, in which a test puts functions of its own. */
    private boolean throughTheStructure;

    /** Grants every operation and every type, by asking the device for less. */
    private final class Generous extends RecordingProvider {
        Generous() {
            super(LabDevices.first()
                    .providerDevice()
                    .provider()
                    .open(LabDevices.first().providerDevice()));
        }

        @Override
        public SendVerbs prepareSendBatches() {
            return throughTheStructure ? super.prepareSendBatches() : recorded;
        }

        @Override
        public long createExtendedQueuePair(long attributes) {
            MemorySegment struct = RecordingSendVerbs.at(attributes, ibv_qp_init_attr_ex.sizeof());
            assertTrue((ibv_qp_init_attr_ex.comp_mask(struct) & rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS()) != 0);
            ibv_qp_init_attr_ex.send_ops_flags(struct, rdma_h.IBV_QP_EX_WITH_SEND());
            int mask = ibv_qp_init_attr_ex.comp_mask(struct);
            ibv_qp_init_attr_ex.comp_mask(struct, mask & ~rdma_h.IBV_QP_INIT_ATTR_MAX_TSO_HEADER());
            boolean datagrams = ibv_qp_init_attr_ex.qp_type(struct) == QueuePairType.UD.code();
            ibv_qp_init_attr_ex.qp_type(struct, datagrams ? QueuePairType.UD.code() : QueuePairType.RC.code());
            ibv_qp_init_attr_ex.recv_cq(struct, ibv_qp_init_attr_ex.send_cq(struct));
            long queuePair = super.createExtendedQueuePair(attributes);
            // As if it were connected: what follows is never posted.
            ibv_qp.state(RecordingSendVerbs.at(queuePair, ibv_qp.sizeof()), QueuePairState.RTS.code());
            return queuePair;
        }
    }

    private void with(QueuePairType type, BiConsumer<ExtendedQueuePair, MemoryRegion> test) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first(), Generous::new);
            CompletionQueue queue = context.createCompletionQueue(16);
            ProtectionDomain domain = context.allocateProtectionDomain();
            QueuePairOptions options = type == QueuePairType.XRC_SEND
                    ? QueuePairOptions.xrcSend(queue)
                    : new QueuePairOptions(type, queue);
            ExtendedQueuePair queuePair = domain.createExtendedQueuePair(options.maxSegments(4, 1)
                    .maxInlineData(64)
                    .maxTsoHeader(40)
                    .sendOperations(SendOperation.values()));
            assertEquals(EnumSet.allOf(SendOperation.class), queuePair.sendOperations());
            test.accept(queuePair, domain.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND));
        }
    }

    private void assertCalls(String... expected) {
        assertEquals(List.of(expected), recorded.calls);
        recorded.calls.clear();
    }

    private static MemorySegment bytes(int count) {
        return MemorySegment.ofArray(new byte[count]);
    }

    @Test
    void shouldTakeRemoteMemory() {
        with(QueuePairType.RC, (queuePair, region) -> {
            RemoteMemory memory = new RemoteMemory(8000, 9, 8);
            WorkRequestBuilder batch = queuePair.startWorkRequests();
            batch.rdmaRead(memory);
            batch.rdmaWrite(memory);
            batch.rdmaWriteWithImmediate(memory, 1);
            batch.compareAndSwap(memory, 2, 3).add(region, 0, 8);
            batch.fetchAndAdd(memory, 4).add(region, 0, 8);
            batch.atomicWrite(memory, 5);
            batch.flush(memory, Set.of(FlushType.GLOBAL), FlushLevel.RANGE);
            batch.complete();
            List<String> calls = List.copyOf(recorded.calls);
            recorded.calls.clear();
            batch = queuePair.startWorkRequests();
            batch.rdmaRead(8000, 9);
            batch.rdmaWrite(8000, 9);
            batch.rdmaWriteWithImmediate(8000, 9, 1);
            batch.compareAndSwap(8000, 9, 2, 3).add(region, 0, 8);
            batch.fetchAndAdd(8000, 9, 4).add(region, 0, 8);
            batch.atomicWrite(8000, 9, 5);
            batch.flush(8000, 9, 8, Set.of(FlushType.GLOBAL), FlushLevel.RANGE);
            batch.complete();
            assertCalls(calls.toArray(String[]::new));

            WorkRequestBuilder open = queuePair.startWorkRequests();
            RemoteMemory odd = new RemoteMemory(8004, 9, 8);
            assertThrows(IllegalArgumentException.class, () -> open.fetchAndAdd(odd, 1));
            assertThrows(IllegalArgumentException.class, () -> open.compareAndSwap(odd, 1, 2));
            assertThrows(IllegalArgumentException.class, () -> open.atomicWrite(memory.slice(1), 1));
            open.abort();
            assertCalls("start", "abort");
        });
    }

    @Test
    void shouldPassWhatEachOperationTakes() {
        with(QueuePairType.RC, (queuePair, region) -> {
            WorkRequestBuilder batch = queuePair.startWorkRequests();
            batch.send();
            batch.sendWithImmediate(0x0102_0304).add(region, 0, 1);
            batch.sendWithInvalidate(7).inlineData(bytes(5));
            batch.rdmaRead(1000, 8).add(region, 0, 2).add(region, 2, 3);
            batch.rdmaWrite(2000, 9).inlineData(bytes(1)).inlineData(bytes(2));
            batch.rdmaWriteWithImmediate(3000, 10, 0x0506_0708);
            batch.compareAndSwap(4000, 11, 12, 13).add(region, 0, 8);
            batch.fetchAndAdd(5000, 14, 15).add(region, 0, 8);
            batch.atomicWrite(6000, 16, 17);
            batch.flush(7000, 18, 4096, Set.of(FlushType.PERSISTENT), FlushLevel.RANGE);
            batch.flush(8000, 19, 0, EnumSet.allOf(FlushType.class), FlushLevel.MR);
            batch.localInvalidate(20);
            batch.complete();
            assertCalls(
                    "start",
                    "send",
                    "set_sge_list 0",
                    "send_imm 4030201",
                    "set_sge 1",
                    "send_inv 7",
                    "set_inline_data 5",
                    "rdma_read 8 1000",
                    "set_sge_list 2",
                    "rdma_write 9 2000",
                    "set_inline_data_list 1+2",
                    "rdma_write_imm 10 3000 8070605",
                    "set_sge_list 0",
                    "atomic_cmp_swp 11 4000 12 13",
                    "set_sge 8",
                    "atomic_fetch_add 14 5000 15",
                    "set_sge 8",
                    "atomic_write 16 6000 17",
                    "flush 18 7000 4096 2 0",
                    "flush 19 8000 0 3 1",
                    "local_inv 20",
                    "complete");
        });
    }

    @Test
    void shouldPassTheHeadersOfSegmentedSends() {
        with(QueuePairType.UD, (queuePair, region) -> {
            GidEntry own = queuePair.context().preferredGid(1).orElseThrow();
            AddressHandle handle =
                    queuePair.protectionDomain().createAddressHandle(AddressVector.toGid(1, own.index(), own.gid()));
            WorkRequestBuilder batch = queuePair.startWorkRequests();
            MemorySegment header = MemorySegment.ofArray("headers\0".getBytes(StandardCharsets.US_ASCII));
            batch.tso(header, 40_000).to(handle, 5, 6).add(region, 0, 4096);
            header.fill((byte) 'x');
            assertThrows(IllegalArgumentException.class, () -> batch.tso(bytes(41), 1));
            assertThrows(IllegalArgumentException.class, () -> batch.tso(header, 0));
            assertThrows(IllegalArgumentException.class, () -> batch.tso(header, 65_536));
            batch.complete();
            assertCalls("start", "send_tso headers 8 40000", "set_ud_addr 5 6", "set_sge 4096", "complete");
        });
    }

    @Test
    void shouldSayWhichSharedReceiveQueueTakesAMessage() {
        with(QueuePairType.XRC_SEND, (queuePair, region) -> {
            WorkRequestBuilder batch = queuePair.startWorkRequests();
            batch.send().add(region, 0, 4);
            String message =
                    assertThrows(IllegalStateException.class, batch::complete).getMessage();
            assertTrue(message.contains("toSharedReceiveQueue"), message);
            batch.toSharedReceiveQueue(77);
            batch.localInvalidate(3);
            batch.complete();
            assertCalls("start", "send", "set_xrc_srqn 77", "set_sge 4", "local_inv 3", "complete");
        });
    }

    @Test
    void shouldCheckWhatAFlushIsTold() {
        with(QueuePairType.RC, (queuePair, region) -> {
            WorkRequestBuilder batch = queuePair.startWorkRequests();
            assertThrows(IllegalArgumentException.class, () -> batch.flush(0, 0, 1, Set.of(), FlushLevel.MR));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> batch.flush(0, 0, -1, Set.of(FlushType.GLOBAL), FlushLevel.MR));
            assertThrows(NullPointerException.class, () -> batch.flush(0, 0, 1, Set.of(FlushType.GLOBAL), null));
            batch.abort();
            assertCalls("start", "abort");
        });
    }

    @Test
    void shouldTellAFullQueueFromAFailure() {
        with(QueuePairType.RC, (queuePair, region) -> {
            recorded.result = -Errno.ENOMEM;
            assertEquals(
                    QueuePair.QUEUE_FULL, queuePair.startWorkRequests().send().tryComplete());
            recorded.result = -Errno.EIO;
            VerbsException failure = assertThrows(
                    VerbsException.class,
                    () -> queuePair.startWorkRequests().send().complete());
            assertEquals(Errno.EIO, failure.errno());
            recorded.result = 0;
            queuePair.startWorkRequests().send().complete();
        });
    }

    /** A work request that the driver has seen a half of must not be posted. */
    @Test
    void shouldAbortWhatATornWorkRequestIsPartOf() {
        with(QueuePairType.RC, (queuePair, region) -> {
            recorded.broken = "set_sge";
            WorkRequestBuilder batch = queuePair.startWorkRequests();
            batch.send().add(region, 0, 4);
            assertThrows(UnsupportedOperationException.class, batch::complete);
            assertThrows(IllegalStateException.class, batch::complete);
            assertCalls("start", "send", "set_sge 4", "abort");
            recorded.broken = "start";
            assertThrows(UnsupportedOperationException.class, queuePair::startWorkRequests);
            recorded.broken = null;
            recorded.calls.clear();
            queuePair.startWorkRequests().send().complete();
        });
    }

    /** The functions that a driver would have put into the structure. */
    private MemorySegment functionsOf(ExtendedQueuePair queuePair) {
        long extended = queuePair.provider.extended(queuePair.address);
        MemorySegment struct = RecordingSendVerbs.at(extended + Pthread.MUTEX_GROWTH, ibv_qp_ex.sizeof());
        VerbsArena arena = queuePair.arena;
        ibv_qp_ex.wr_start(struct, ibv_qp_ex.wr_start.allocate(qp -> recorded.wrStart(qp.address()), arena));
        ibv_qp_ex.wr_complete(struct, ibv_qp_ex.wr_complete.allocate(qp -> recorded.wrComplete(qp.address()), arena));
        ibv_qp_ex.wr_send(struct, ibv_qp_ex.wr_send.allocate(qp -> recorded.wrSend(qp.address()), arena));
        ibv_qp_ex.wr_set_sge(
                struct,
                ibv_qp_ex.wr_set_sge.allocate(
                        (qp, lkey, address, length) -> recorded.wrSetSge(qp.address(), lkey, address, length), arena));
        return struct;
    }

    @Test
    @Shows(
            value = {"ibv_wr_flush", "ibv_wr_atomic_write"},
            standIn = true)
    void shouldCallWhatADriverHasForPersistentMemory() {
        LabDevices.assumeHasDriver();
        throughTheStructure = true;
        with(QueuePairType.RC, (queuePair, region) -> {
            MemorySegment struct = functionsOf(queuePair);
            ibv_qp_ex.wr_flush(
                    struct,
                    ibv_qp_ex.wr_flush.allocate(
                            (qp, rkey, remote, length, type, level) ->
                                    recorded.wrFlush(qp.address(), rkey, remote, length, type, level),
                            queuePair.arena));
            ibv_qp_ex.wr_atomic_write(
                    struct,
                    ibv_qp_ex.wr_atomic_write.allocate(
                            (qp, rkey, remote, value) ->
                                    recorded.wrAtomicWrite(qp.address(), rkey, remote, value.address()),
                            queuePair.arena));
            WorkRequestBuilder batch = queuePair.startWorkRequests();
            batch.flush(7000, 18, 1L << 40, EnumSet.allOf(FlushType.class), FlushLevel.MR);
            batch.atomicWrite(1L << 50, 16, 0x1122_3344_5566_7788L);
            batch.complete();
            assertCalls(
                    "start",
                    "flush 18 7000 1099511627776 3 1",
                    "atomic_write 16 1125899906842624 1234605616436508552",
                    "complete");
        });
    }

    @Test
    @Shows(value = "ibv_wr_send_tso", standIn = true)
    void shouldCallWhatADriverHasForSegmentedSends() {
        LabDevices.assumeHasDriver();
        throughTheStructure = true;
        with(QueuePairType.UD, (queuePair, region) -> {
            MemorySegment struct = functionsOf(queuePair);
            ibv_qp_ex.wr_send_tso(
                    struct,
                    ibv_qp_ex.wr_send_tso.allocate(
                            (qp, header, size, mss) -> recorded.wrSendTso(qp.address(), header.address(), size, mss),
                            queuePair.arena));
            ibv_qp_ex.wr_set_ud_addr(
                    struct,
                    ibv_qp_ex.wr_set_ud_addr.allocate(
                            (qp, handle, number, qkey) ->
                                    recorded.wrSetUdAddr(qp.address(), handle.address(), number, qkey),
                            queuePair.arena));
            GidEntry own = queuePair.context().preferredGid(1).orElseThrow();
            AddressHandle handle =
                    queuePair.protectionDomain().createAddressHandle(AddressVector.toGid(1, own.index(), own.gid()));
            WorkRequestBuilder batch = queuePair.startWorkRequests();
            MemorySegment header = MemorySegment.ofArray("headers\0".getBytes(StandardCharsets.US_ASCII));
            batch.tso(header, 40_000).to(handle, 5, 6).add(region, 0, 4096);
            batch.complete();
            assertCalls("start", "send_tso headers 8 40000", "set_ud_addr 5 6", "set_sge 4096", "complete");
        });
    }

    @Test
    @Shows(value = "ibv_wr_set_xrc_srqn", standIn = true)
    void shouldCallWhatADriverHasForXrc() {
        LabDevices.assumeHasDriver();
        throughTheStructure = true;
        with(QueuePairType.XRC_SEND, (queuePair, region) -> {
            ibv_qp_ex.wr_set_xrc_srqn(
                    functionsOf(queuePair),
                    ibv_qp_ex.wr_set_xrc_srqn.allocate(
                            (qp, number) -> recorded.wrSetXrcSrqn(qp.address(), number), queuePair.arena));
            WorkRequestBuilder batch = queuePair.startWorkRequests();
            batch.send().toSharedReceiveQueue(77).add(region, 0, 4);
            batch.complete();
            assertCalls("start", "send", "set_xrc_srqn 77", "set_sge 4", "complete");
        });
    }
}
