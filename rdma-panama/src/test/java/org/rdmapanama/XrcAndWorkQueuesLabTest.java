package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_ops_wr;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_rwq_ind_table_init_attr;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_wq;
import org.rdmapanama.ffm.verbs.ibv_wq_attr;
import org.rdmapanama.ffm.verbs.ibv_wq_init_attr;
import org.rdmapanama.ffm.verbs.ibv_xrcd_init_attr;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.OpenFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.WorkQueueFlag;
import org.rdmapanama.queue.WorkQueueState;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.LabDevices;

/**
 * XRC, tag matching and work queues, none of which Soft-RoCE has: that the calls reach the driver with what a C program
 * would pass. Objects that could not be made are stood for by zeroed memory, which the driver never looks into.
 */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class XrcAndWorkQueuesLabTest {
    private VerbsArena arena;
    private WorkQueuePosts provider;
    private Context context;
    private ProtectionDomain domain;
    private CompletionQueue queue;

    /** Takes receives for work queues instead of a driver. */
    private static final class WorkQueuePosts extends RecordingProvider {
        private int result;
        private long bad;

        WorkQueuePosts(Device device) {
            super(RecordingProvider.of(device));
        }

        @Override
        public int postWorkQueueReceive(long workQueue, long workRequest, long badAt) {
            Native.struct(badAt, ValueLayout.JAVA_LONG).set(ValueLayout.JAVA_LONG, 0, bad);
            return result;
        }
    }

    @BeforeEach
    void open() {
        LabDevices.assumeOurs("it may have what this calls with memory that is no object");
        // Each test runs in a thread of its own, because of the timeout.
        arena = VerbsArena.ofShared();
        provider = new WorkQueuePosts(LabDevices.first());
        context = Context.open(arena, LabDevices.first(), () -> provider);
        domain = context.allocateProtectionDomain();
        queue = context.createCompletionQueue(16);
    }

    @AfterEach
    void close() {
        if (arena != null) {
            arena.close();
        }
    }

    private long standIn() {
        return arena.allocate(1024, 8).address();
    }

    private XrcDomain xrcDomain() {
        return XrcDomain.ofNativeAddress(context, standIn(), Ownership.BORROWED);
    }

    private WorkQueue workQueue() {
        return WorkQueue.ofNativeAddress(
                domain, new WorkQueueOptions(queue).maxSegments(2), standIn(), Ownership.BORROWED);
    }

    private static String pointer(VerbsObject object) {
        return "(void *) 0x%xUL".formatted(object.address);
    }

    @Test
    void shouldOpenXrcDomains() throws Exception {
        provider.keepBytes("openXrcDomain", ibv_xrcd_init_attr.sizeof());
        Unsupported.verb("ibv_open_xrcd", () -> context.openXrcDomain());
        CStructs.assertSame("""
                struct ibv_xrcd_init_attr x; memset(&x, 0, sizeof x);
                x.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS; x.fd = -1; x.oflags = 0100;
                """, provider.bytesOf("openXrcDomain"));
        Unsupported.verb("ibv_open_xrcd", () -> context.openXrcDomain(7, OpenFlag.CREAT, OpenFlag.EXCL));
        CStructs.assertSame("""
                struct ibv_xrcd_init_attr x; memset(&x, 0, sizeof x);
                x.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS; x.fd = 7; x.oflags = 0300;
                """, provider.bytesOf("openXrcDomain"));
        assertThrows(IllegalArgumentException.class, () -> context.openXrcDomain(-1));
    }

    @Test
    void shouldMakeXrcReceiveQueues() throws Exception {
        XrcDomain xrcDomain = xrcDomain();
        provider.keepBytes("createExtendedSharedReceiveQueue", ibv_srq_init_attr_ex.sizeof());
        SharedReceiveQueueOptions options = new SharedReceiveQueueOptions()
                .maxWorkRequests(33)
                .maxSegments(2)
                .tagMatching(1, 1, queue)
                .xrc(xrcDomain, queue);
        // Soft-RoCE reports EINVAL, and its capabilities tell why.
        UnsupportedVerbException thrown =
                assertThrows(UnsupportedVerbException.class, () -> domain.createSharedReceiveQueue(options));
        assertEquals("ibv_create_srq_ex", thrown.verb());
        assertTrue(thrown.capability().contains("XRC"), thrown::getMessage);
        CStructs.assertSame(
                """
                struct ibv_srq_init_attr_ex x; memset(&x, 0, sizeof x);
                x.attr.max_wr = 33; x.attr.max_sge = 2; x.srq_type = IBV_SRQT_XRC;
                x.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD
                        | IBV_SRQ_INIT_ATTR_CQ;
                x.pd = %s; x.xrcd = %s; x.cq = %s;
                """.formatted(pointer(domain), pointer(xrcDomain), pointer(queue)),
                provider.bytesOf("createExtendedSharedReceiveQueue"));
    }

    @Test
    void shouldMakeReceiveQueuesThatMatchTags() throws Exception {
        provider.keepBytes("createExtendedSharedReceiveQueue", ibv_srq_init_attr_ex.sizeof());
        SharedReceiveQueueOptions options = new SharedReceiveQueueOptions()
                .maxWorkRequests(33)
                .maxSegments(2)
                .tagMatching(64, 16, queue);
        Unsupported.verb("ibv_create_srq_ex", () -> domain.createSharedReceiveQueue(options));
        CStructs.assertSame(
                """
                struct ibv_srq_init_attr_ex x; memset(&x, 0, sizeof x);
                x.attr.max_wr = 33; x.attr.max_sge = 2; x.srq_type = IBV_SRQT_TM;
                x.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TM
                        | IBV_SRQ_INIT_ATTR_CQ;
                x.pd = %s; x.cq = %s; x.tm_cap.max_num_tags = 64; x.tm_cap.max_ops = 16;
                """.formatted(pointer(domain), pointer(queue)), provider.bytesOf("createExtendedSharedReceiveQueue"));
    }

    @Test
    void shouldMakeXrcReceivingQueuePairs() throws Exception {
        XrcDomain xrcDomain = xrcDomain();
        provider.keepBytes("createExtendedQueuePair", ibv_qp_init_attr_ex.sizeof());
        QueuePairOptions options = QueuePairOptions.xrcReceive(xrcDomain);
        Unsupported.verb("ibv_create_qp_ex", () -> domain.createQueuePair(options));
        CStructs.assertSame("""
                struct ibv_qp_init_attr_ex x; memset(&x, 0, sizeof x);
                x.qp_type = IBV_QPT_XRC_RECV; x.comp_mask = IBV_QP_INIT_ATTR_XRCD; x.xrcd = %s;
                """.formatted(pointer(xrcDomain)), provider.bytesOf("createExtendedQueuePair"));
    }

    @Test
    void shouldRefuseXrcOptionsThatDoNotFit() {
        QueuePairOptions receiving = QueuePairOptions.xrcReceive(xrcDomain());
        for (QueuePairType type : List.of(QueuePairType.XRC_RECV, QueuePairType.XRC_SEND)) {
            assertThrows(IllegalArgumentException.class, () -> new QueuePairOptions(type, queue));
        }
        SharedReceiveQueue receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
        assertThrows(IllegalArgumentException.class, () -> receiving.sharedReceiveQueue(receives));
    }

    @Test
    void shouldNameTheReceiveQueueOfAPeer() throws Exception {
        SendWorkRequest send = SendWorkRequest.allocate(arena, 0).id(3).toSharedReceiveQueue(0x123456);
        long address = send.address;
        MemorySegment struct = Native.struct(address, ibv_send_wr.layout());
        CStructs.assertSame("""
                struct ibv_send_wr x; memset(&x, 0, sizeof x);
                x.wr_id = 3; x.sg_list = (void *) 0x%xUL; x.opcode = IBV_WR_SEND;
                x.qp_type.xrc.remote_srqn = 0x123456;
                """.formatted(address + ibv_send_wr.sizeof()), struct.toArray(ValueLayout.JAVA_BYTE));
    }

    @Test
    void shouldAskForTheNumberOfAReceiveQueue() {
        SharedReceiveQueue receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
        Unsupported.verb("ibv_get_srq_num", receives::number);
    }

    @Test
    void shouldMakeWorkQueues() throws Exception {
        provider.keepBytes("createWorkQueue", ibv_wq_init_attr.sizeof());
        WorkQueueOptions options =
                new WorkQueueOptions(queue).maxWorkRequests(44).maxSegments(3);
        Unsupported.verb("ibv_create_wq", () -> domain.createWorkQueue(options));
        CStructs.assertSame("""
                struct ibv_wq_init_attr x; memset(&x, 0, sizeof x);
                x.wq_type = IBV_WQT_RQ; x.max_wr = 44; x.max_sge = 3; x.pd = %s; x.cq = %s;
                """.formatted(pointer(domain), pointer(queue)), provider.bytesOf("createWorkQueue"));
        options.flags(WorkQueueFlag.values());
        Unsupported.verb("ibv_create_wq", () -> domain.createWorkQueue(options));
        CStructs.assertSame("""
                struct ibv_wq_init_attr x; memset(&x, 0, sizeof x);
                x.wq_type = IBV_WQT_RQ; x.max_wr = 44; x.max_sge = 3; x.pd = %s; x.cq = %s;
                x.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
                x.create_flags = IBV_WQ_FLAGS_CVLAN_STRIPPING | IBV_WQ_FLAGS_SCATTER_FCS | IBV_WQ_FLAGS_DELAY_DROP
                        | IBV_WQ_FLAGS_PCI_WRITE_END_PADDING;
                """.formatted(pointer(domain), pointer(queue)), provider.bytesOf("createWorkQueue"));
    }

    @Test
    void shouldModifyWorkQueues() throws Exception {
        WorkQueue workQueue = workQueue();
        assertEquals(WorkQueueState.RESET, workQueue.state());
        provider.keepBytes("modifyWorkQueue", ibv_wq_attr.sizeof());
        Unsupported.verb("ibv_modify_wq", () -> workQueue.modify(new WorkQueueAttributes().state(WorkQueueState.RDY)));
        CStructs.assertSame("""
                struct ibv_wq_attr x; memset(&x, 0, sizeof x);
                x.attr_mask = IBV_WQ_ATTR_STATE; x.wq_state = IBV_WQS_RDY;
                """, provider.bytesOf("modifyWorkQueue"));
        WorkQueueAttributes all = new WorkQueueAttributes()
                .state(WorkQueueState.ERR)
                .currentState(WorkQueueState.RDY)
                .flag(WorkQueueFlag.CVLAN_STRIPPING, false)
                .flag(WorkQueueFlag.DELAY_DROP, true);
        Unsupported.verb("ibv_modify_wq", () -> workQueue.modify(all));
        CStructs.assertSame("""
                struct ibv_wq_attr x; memset(&x, 0, sizeof x);
                x.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_FLAGS;
                x.wq_state = IBV_WQS_ERR; x.curr_wq_state = IBV_WQS_RDY; x.flags = IBV_WQ_FLAGS_DELAY_DROP;
                x.flags_mask = IBV_WQ_FLAGS_DELAY_DROP | IBV_WQ_FLAGS_CVLAN_STRIPPING;
                """, provider.bytesOf("modifyWorkQueue"));
        assertThrows(IllegalArgumentException.class, () -> new WorkQueueAttributes().state(WorkQueueState.UNKNOWN));
    }

    @Test
    void shouldPostToWorkQueues() {
        WorkQueue workQueue = workQueue();
        ReceiveWorkRequest second = ReceiveWorkRequest.allocate(arena, 0);
        ReceiveWorkRequest first = ReceiveWorkRequest.allocate(arena, 0).next(second);
        workQueue.postReceive(first);
        provider.result = QueuePair.QUEUE_FULL;
        provider.bad = second.address;
        assertEquals(QueuePair.QUEUE_FULL, workQueue.tryPostReceive(first));
        assertSame(second, workQueue.firstNotReceiving(first));
        provider.result = -Errno.EINVAL;
        provider.bad = 1;
        VerbsException thrown = assertThrows(VerbsException.class, () -> workQueue.postReceive(first));
        assertEquals("ibv_post_wq_recv", thrown.verb());
        assertNull(workQueue.firstNotReceiving(first));
        MemoryRegion region = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        ReceiveWorkRequest large = ReceiveWorkRequest.allocate(arena, 3)
                .add(region, 0, 1)
                .add(region, 1, 1)
                .add(region, 2, 1);
        assertThrows(IllegalArgumentException.class, () -> workQueue.postReceive(large));
    }

    @Test
    @Shows(value = "ibv_post_wq_recv", standIn = true)
    void shouldCallWhatADriverHasForReceives() {
        LabDevices.assumeHasDriver();
        Context real = Context.open(arena, LabDevices.first());
        MemorySegment struct = arena.allocate(1024, 8);
        List<Long> posted = new ArrayList<>();
        ibv_wq.post_recv(
                struct,
                ibv_wq.post_recv.allocate(
                        (wq, request, bad) -> {
                            posted.add(wq.address());
                            posted.add(request.address());
                            return 0;
                        },
                        arena));
        WorkQueue workQueue = WorkQueue.ofNativeAddress(
                real.allocateProtectionDomain(),
                new WorkQueueOptions(real.createCompletionQueue(1)),
                struct.address(),
                Ownership.BORROWED);
        ReceiveWorkRequest request = ReceiveWorkRequest.allocate(arena, 0);
        workQueue.postReceive(request);
        assertEquals(List.of(struct.address(), request.address), posted);
    }

    @Test
    void shouldMakeIndirectionTables() throws Exception {
        WorkQueue one = workQueue();
        WorkQueue two = workQueue();
        List<WorkQueue> queues = List.of(one, two, one, two);
        provider.keepBytes("createIndirectionTable", ibv_rwq_ind_table_init_attr.sizeof());
        Unsupported.verb("ibv_create_rwq_ind_table", () -> context.createReceiveIndirectionTable(queues));
        byte[] crossed = provider.bytesOf("createIndirectionTable");
        MemorySegment struct = MemorySegment.ofArray(crossed);
        long list = struct.get(ValueLayout.JAVA_LONG_UNALIGNED, ibv_rwq_ind_table_init_attr.ind_tbl$offset());
        CStructs.assertSame("""
                struct ibv_rwq_ind_table_init_attr x; memset(&x, 0, sizeof x);
                x.log_ind_tbl_size = 2; x.ind_tbl = (void *) 0x%xUL;
                """.formatted(list), crossed);
        for (int wrong : new int[] {0, 3}) {
            List<WorkQueue> few = queues.subList(0, wrong);
            assertThrows(IllegalArgumentException.class, () -> context.createReceiveIndirectionTable(few));
        }
    }

    @Test
    void shouldCloseTablesBeforeTheirWorkQueues() {
        WorkQueue one = workQueue();
        ReceiveIndirectionTable table = ReceiveIndirectionTable.ofNativeAddress(
                context, List.of(one, workQueue(), one, one), standIn(), Ownership.BORROWED);
        assertEquals(4, table.workQueues().size());
        one.close();
        assertTrue(!table.isOpen() && queue.isOpen());
    }

    /** The calls reach the driver, which refuses them: the first refusal is thrown, and carries the others. */
    @Test
    void shouldEndThemInOrder() {
        XrcDomain.ofNativeAddress(context, standIn(), Ownership.OWNED);
        WorkQueue workQueue =
                WorkQueue.ofNativeAddress(domain, new WorkQueueOptions(queue), standIn(), Ownership.OWNED);
        ReceiveIndirectionTable.ofNativeAddress(context, List.of(workQueue), standIn(), Ownership.OWNED);
        domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
        domain.register(arena.allocate(64));
        VerbsException thrown = assertThrows(VerbsException.class, context::close);
        assertEquals("ibv_destroy_rwq_ind_table", thrown.verb());
        assertEquals(Errno.EOPNOTSUPP, thrown.errno());
        assertEquals(2, thrown.getSuppressed().length);
        Unsupported.reached("ibv_destroy_rwq_ind_table", thrown);
        Unsupported.reached("ibv_destroy_wq", (VerbsException) thrown.getSuppressed()[0]);
        Unsupported.reached("ibv_close_xrcd", (VerbsException) thrown.getSuppressed()[1]);
        List<String> ended = provider.verbs();
        assertTrue(ended.indexOf("destroy_rwq_ind_table") < ended.indexOf("destroy_wq"), ended::toString);
        assertTrue(ended.indexOf("destroy_wq") < ended.indexOf("dereg_mr"), ended::toString);
        assertTrue(ended.indexOf("destroy_srq") < ended.indexOf("dereg_mr"), ended::toString);
        assertTrue(ended.indexOf("destroy_cq") < ended.indexOf("close_xrcd"), ended::toString);
        assertTrue(ended.indexOf("close_xrcd") < ended.indexOf("close_device"), ended::toString);
    }

    @Test
    void shouldPostTagOperations() throws Exception {
        SharedReceiveQueue receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
        MemoryRegion region = domain.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE);
        provider.keepBytes("postSharedOperations", ibv_ops_wr.sizeof());

        TagOperation delete = TagOperation.allocate(arena, 0).id(5).deleteTag(77);
        TagOperation add = TagOperation.allocate(arena, 2)
                .id(0x1122334455667788L)
                .addTag(0xabcdL, -1, 99)
                .add(region, 8, 16)
                .add(region, 100, 200)
                .signaled(true)
                .unexpectedCount(3)
                .next(delete);
        Unsupported.verb("ibv_post_srq_ops", () -> receives.postTagOperation(add));
        long segments = add.address + ibv_ops_wr.sizeof();
        CStructs.assertSame("""
                struct ibv_ops_wr x; memset(&x, 0, sizeof x);
                x.wr_id = 0x1122334455667788; x.next = (void *) 0x%xUL; x.opcode = IBV_WR_TAG_ADD;
                x.flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC; x.tm.unexpected_cnt = 3;
                x.tm.add.recv_wr_id = 99; x.tm.add.sg_list = (void *) 0x%xUL; x.tm.add.num_sge = 2;
                x.tm.add.tag = 0xabcd; x.tm.add.mask = 0xffffffffffffffff;
                """.formatted(delete.address, segments), provider.bytesOf("postSharedOperations"));
        assertSame(add, receives.firstNotOperated(add));

        Unsupported.verb("ibv_post_srq_ops", () -> receives.postTagOperation(delete));
        CStructs.assertSame(
                """
                struct ibv_ops_wr x; memset(&x, 0, sizeof x);
                x.wr_id = 5; x.opcode = IBV_WR_TAG_DEL; x.tm.handle = 77;
                x.tm.add.sg_list = (void *) 0x%xUL;
                """.formatted(delete.address + ibv_ops_wr.sizeof()), provider.bytesOf("postSharedOperations"));

        TagOperation synchronize = TagOperation.allocate(arena, 0).synchronize(12);
        Unsupported.verb("ibv_post_srq_ops", () -> receives.postTagOperation(synchronize));
        CStructs.assertSame(
                """
                struct ibv_ops_wr x; memset(&x, 0, sizeof x);
                x.opcode = IBV_WR_TAG_SYNC; x.flags = IBV_OPS_TM_SYNC; x.tm.unexpected_cnt = 12;
                x.tm.add.sg_list = (void *) 0x%xUL;
                """.formatted(synchronize.address + ibv_ops_wr.sizeof()), provider.bytesOf("postSharedOperations"));
    }

    @Test
    void shouldCheckTagOperations() {
        MemoryRegion region = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        TagOperation add = TagOperation.allocate(arena, 2)
                .addTag(1, -1, 1)
                .add(region, 0, 8)
                .add(region, 8, 8);
        add.check(2, 10);
        assertThrows(IllegalArgumentException.class, () -> add.check(1, 10));
        TagOperation delete = TagOperation.allocate(arena, 0).deleteTag(11);
        delete.check(1, 11);
        assertThrows(IllegalArgumentException.class, () -> delete.check(1, 10));
        assertThrows(
                IllegalArgumentException.class,
                () -> TagOperation.allocate(arena, 0).deleteTag(-1).check(1, 10));
        TagOperation chain = TagOperation.allocate(arena, 0).next(delete);
        assertThrows(IllegalArgumentException.class, () -> chain.check(1, 10));
        assertThrows(IllegalArgumentException.class, () -> delete.next(chain));
        chain.firstNotPosted(delete.address);
        assertSame(delete, ChainedRequest.rest(chain));
        chain.firstNotPosted(0);
        assertNull(ChainedRequest.rest(chain));
        assertEquals(0, add.unexpectedCount(4).withoutUnexpectedCount().clear().handle());
        try (VerbsArena other = VerbsArena.ofConfined()) {
            TagOperation foreign = TagOperation.allocate(other, 0);
            SharedReceiveQueue receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
            assertThrows(IllegalArgumentException.class, () -> receives.postTagOperation(foreign));
        }
    }
}
