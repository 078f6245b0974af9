package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.address.Gid;
import org.rdmapanama.device.RxHashField;
import org.rdmapanama.device.RxHashFunction;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.verbs.ibv_ece;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_qp_open_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_rate_limit_attr;
import org.rdmapanama.ffm.verbs.ibv_rx_hash_conf;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.Ece;
import org.rdmapanama.queue.QueuePairCreateFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.RateLimit;
import org.rdmapanama.queue.RxHash;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.queue.WorkRequestOpcode;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.standin.RecordingSendVerbs;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.LabDevices;

/** What few devices have, or few programs ask of a queue pair. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class QueuePairVerbsLabTest {
    private final VerbsArena arena = VerbsArena.ofShared();
    private final RecordingProvider recording = RecordingProvider.of(LabDevices.first());
    private final Context context = Context.open(arena, LabDevices.first(), () -> recording);
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final CompletionQueue queue = context.createCompletionQueue(16);

    @AfterEach
    void close() {
        arena.close();
    }

    private QueuePair queuePair(QueuePairType type) {
        QueuePair queuePair = domain.createQueuePair(new QueuePairOptions(type, queue));
        queuePair.localEndpoint(LabDevices.connectOptions());
        return queuePair;
    }

    @Test
    void shouldPassOptionsOfConnectionEstablishment() throws IOException {
        QueuePair queuePair = queuePair(QueuePairType.RC);
        UnsupportedVerbException query = Unsupported.verb("ibv_query_ece", queuePair::queryEce);
        assertTrue(query.capability().contains("mlx5"), query::capability);
        recording.keepBytes("setEce", ibv_ece.sizeof());
        Unsupported.verb("ibv_set_ece", () -> queuePair.setEce(new Ece(0x15b3, 0x8000_0001, 3)));
        CStructs.assertSame(
                "struct ibv_ece x; memset(&x, 0, sizeof x);"
                        + " x.vendor_id = 0x15b3; x.options = 0x80000001; x.comp_mask = 3;",
                recording.bytesOf("setEce"));
    }

    @Test
    void shouldPassRateLimits() throws IOException {
        QueuePair queuePair = queuePair(QueuePairType.UD);
        recording.keepBytes("modifyRateLimit", ibv_qp_rate_limit_attr.sizeof());
        Unsupported.verb(
                "ibv_modify_qp_rate_limit", () -> queuePair.modifyRateLimit(new RateLimit(100_000, 3000, 40_000)));
        CStructs.assertSame(
                "struct ibv_qp_rate_limit_attr x; memset(&x, 0, sizeof x);"
                        + " x.rate_limit = 100000; x.max_burst_sz = 3000; x.typical_pkt_sz = 40000;",
                recording.bytesOf("modifyRateLimit"));
        assertEquals(new RateLimit(5, 0, 0), new RateLimit(5));
        assertThrows(IllegalArgumentException.class, () -> new RateLimit(-1));
        assertThrows(IllegalArgumentException.class, () -> new RateLimit(1, -1, 0));
        assertThrows(IllegalArgumentException.class, () -> new RateLimit(1, 0, 65_536));
    }

    @Test
    @Shows("ibv_query_qp_data_in_order")
    void shouldPromiseNoOrderThatTheDriverDoesNotPromise() {
        LabDevices.assumeOurs("it may write in order");
        QueuePair queuePair = queuePair(QueuePairType.RC);
        for (WorkRequestOpcode opcode : WorkRequestOpcode.values()) {
            assertEquals(Set.of(), queuePair.queryDataInOrder(opcode));
        }
        assertThrows(NullPointerException.class, () -> queuePair.queryDataInOrder(null));
    }

    @Test
    @Shows({"ibv_attach_mcast", "ibv_detach_mcast"})
    void shouldJoinGroups() throws IOException {
        QueuePair queuePair = queuePair(QueuePairType.UD);
        Gid ipv4 = Gid.of(InetAddress.getByName("239.1.2.3"));
        Gid ipv6 = Gid.of(InetAddress.getByName("ff0e::77"));
        queuePair.attachMulticast(ipv4, 0);
        queuePair.attachMulticast(ipv4, 0);
        queuePair.attachMulticast(ipv6, 0);
        queuePair.detachMulticast(ipv6, 0);
        VerbsException twice = assertThrows(VerbsException.class, () -> queuePair.detachMulticast(ipv6, 0));
        assertEquals("ibv_detach_mcast", twice.verb());
        // The kernel would refuse to destroy what is attached.
        queuePair.close();
        assertTrue(recording.verbs().contains("destroy_qp"));

        QueuePair connected = queuePair(QueuePairType.RC);
        assertThrows(IllegalArgumentException.class, () -> connected.attachMulticast(ipv6, 0));
        QueuePair datagrams = queuePair(QueuePairType.UD);
        assertThrows(IllegalArgumentException.class, () -> datagrams.attachMulticast(Gid.ZERO, 0));
        Gid unicast = Gid.of(InetAddress.getByName("10.0.0.1"));
        assertThrows(IllegalArgumentException.class, () -> datagrams.attachMulticast(unicast, 0));
        assertThrows(IllegalArgumentException.class, () -> datagrams.attachMulticast(ipv6, 65_536));
        assertThrows(IllegalArgumentException.class, () -> datagrams.detachMulticast(ipv6, -1));
    }

    @Test
    void shouldSayThatTypesAreMissing() {
        UnsupportedVerbException raw = Unsupported.verb(
                "ibv_create_qp", () -> domain.createQueuePair(new QueuePairOptions(QueuePairType.RAW_PACKET, queue)));
        assertTrue(raw.capability().contains("rawPacketCapabilities"), raw::capability);
        Unsupported.verb(
                "ibv_create_qp", () -> domain.createQueuePair(new QueuePairOptions(QueuePairType.DRIVER, queue)));
        UnsupportedVerbException xrc =
                missing("ibv_create_qp", () -> domain.createQueuePair(QueuePairOptions.xrcSend(queue)));
        assertTrue(xrc.capability().contains("XRC"), xrc::capability);
        missing("ibv_create_qp_ex", () -> domain.createQueuePair(QueuePairOptions.xrcReceive(xrcDomain())));
    }

    /** For one that this device cannot open. */
    private XrcDomain xrcDomain() {
        return XrcDomain.ofNativeAddress(context, arena.allocate(1024, 8).address(), Ownership.BORROWED);
    }

    /** Soft-RoCE says EINVAL where it means that it has no such type. */
    private static UnsupportedVerbException missing(String verb, Executable call) {
        UnsupportedVerbException thrown = assertThrows(UnsupportedVerbException.class, call);
        assertEquals(verb, thrown.verb());
        return thrown;
    }

    @Test
    void shouldRefuseOptionsOutOfRange() {
        QueuePairOptions options = new QueuePairOptions(QueuePairType.RC, queue);
        assertThrows(IllegalArgumentException.class, () -> options.createFlags(QueuePairCreateFlag.SOURCE_QPN));
        assertThrows(IllegalArgumentException.class, () -> options.sourceQueuePair(1 << 24));
        assertThrows(IllegalArgumentException.class, () -> options.maxTsoHeader(65_536));
    }

    @Test
    void shouldOpenQueuePairsOfOthers() throws IOException {
        recording.keepBytes("openQueuePair", ibv_qp_open_attr.sizeof());
        XrcDomain xrcDomain = xrcDomain();
        Unsupported.verb("ibv_open_qp", () -> xrcDomain.openQueuePair(0x1234));
        CStructs.assertSame(
                "struct ibv_qp_open_attr x; memset(&x, 0, sizeof x);"
                        + " x.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;"
                        + " x.qp_num = 0x1234; x.qp_type = IBV_QPT_XRC_RECV; x.xrcd = (void *) "
                        + xrcDomain.nativeAddress() + "L;",
                recording.bytesOf("openQueuePair"));
        assertThrows(IllegalArgumentException.class, () -> xrcDomain.openQueuePair(-1));
    }

    @Test
    void shouldBuildTheExtendedAttributes() throws IOException {
        SharedReceiveQueue receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
        QueuePairOptions options = new QueuePairOptions(QueuePairType.RAW_PACKET, queue)
                .maxSendWorkRequests(3)
                .maxReceiveWorkRequests(4)
                .maxSegments(5, 6)
                .maxInlineData(7)
                .signalAll(true)
                .createFlags(QueuePairCreateFlag.SCATTER_FCS, QueuePairCreateFlag.CVLAN_STRIPPING)
                .sourceQueuePair(0x00ab_cdef)
                .maxTsoHeader(40_000)
                .sendOperations(SendOperation.TSO, SendOperation.SEND);
        String rest = " x.send_cq = x.recv_cq = " + pointer(queue) + ";"
                + " x.cap.max_send_wr = 3; x.cap.max_send_sge = 5; x.cap.max_inline_data = 7;"
                + " x.qp_type = IBV_QPT_RAW_PACKET; x.sq_sig_all = 1;"
                + " x.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS"
                + " | IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;"
                + " x.pd = " + pointer(domain) + ";"
                + " x.create_flags = IBV_QP_CREATE_SCATTER_FCS | IBV_QP_CREATE_CVLAN_STRIPPING"
                + " | IBV_QP_CREATE_SOURCE_QPN; x.max_tso_header = 40000;"
                + " x.source_qpn = 0xabcdef; x.send_ops_flags = IBV_QP_EX_WITH_TSO | IBV_QP_EX_WITH_SEND;";
        assertWrites(options, attributes -> " x.cap.max_recv_wr = 4; x.cap.max_recv_sge = 6;" + rest);
        assertWrites(options.sharedReceiveQueue(receives), attributes -> " x.srq = " + pointer(receives) + ";" + rest);
    }

    @Test
    void shouldSpreadPacketsOverWorkQueues() throws IOException {
        byte[] key = new byte[40];
        key[0] = 1;
        RxHash hash = new RxHash(
                RxHashFunction.TOEPLITZ,
                key,
                Set.of(RxHashField.SRC_IPV4, RxHashField.DST_PORT_UDP, RxHashField.INNER));
        assertArrayEquals(key, hash.key());
        assertEquals(RxHashFunction.TOEPLITZ, hash.function());
        assertThrows(
                IllegalArgumentException.class, () -> new RxHash(RxHashFunction.TOEPLITZ, new byte[256], Set.of()));
        WorkQueue workQueue = WorkQueue.ofNativeAddress(
                domain, new WorkQueueOptions(queue), arena.allocate(1024, 8).address(), Ownership.BORROWED);
        ReceiveIndirectionTable table = ReceiveIndirectionTable.ofNativeAddress(
                context, List.of(workQueue), arena.allocate(1024, 8).address(), Ownership.BORROWED);
        assertThrows(
                IllegalArgumentException.class,
                () -> QueuePairOptions.receiveSideScaling(QueuePairType.RC, table, hash));
        QueuePairOptions options = QueuePairOptions.receiveSideScaling(QueuePairType.RAW_PACKET, table, hash);
        assertWrites(options, attributes -> {
            long keyAddress = ibv_rx_hash_conf
                    .rx_hash_key(ibv_qp_init_attr_ex.rx_hash_conf(attributes))
                    .address();
            assertArrayEquals(key, RecordingSendVerbs.at(keyAddress, 40).toArray(ValueLayout.JAVA_BYTE));
            return " x.qp_type = IBV_QPT_RAW_PACKET; x.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE"
                    + " | IBV_QP_INIT_ATTR_RX_HASH; x.pd = " + pointer(domain) + ";"
                    + " x.rwq_ind_tbl = " + pointer(table) + ";"
                    + " x.rx_hash_conf.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;"
                    + " x.rx_hash_conf.rx_hash_key_len = 40;"
                    + " x.rx_hash_conf.rx_hash_key = (void *) " + keyAddress + "L;"
                    + " x.rx_hash_conf.rx_hash_fields_mask"
                    + " = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_PORT_UDP | IBV_RX_HASH_INNER;";
        });
        Unsupported.verb("ibv_create_qp_ex", () -> domain.createQueuePair(options));
    }

    private static String pointer(VerbsObject object) {
        return "(void *) " + object.nativeAddress() + "L";
    }

    private void assertWrites(QueuePairOptions options, Function<MemorySegment, String> statements) throws IOException {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_init_attr_ex.layout());
            options.write(attributes, domain.address, temporary);
            String expected = CStructs.hexOf(
                    "struct ibv_qp_init_attr_ex x; memset(&x, 0, sizeof x);" + statements.apply(attributes));
            assertEquals(expected, HexFormat.of().formatHex(attributes.toArray(ValueLayout.JAVA_BYTE)));
        }
    }

    @Test
    void shouldBuildEveryWorkRequest() throws IOException {
        MemoryRegion region = domain.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
        MemoryWindow window = domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
        int rkey = window.nextRkey();
        MemorySegment header = arena.allocate(40);
        same(
                "x.opcode = IBV_WR_SEND_WITH_INV; x.invalidate_rkey = 0x01020304;",
                request().sendWithInvalidate(0x01020304));
        same(
                "x.opcode = IBV_WR_LOCAL_INV; x.invalidate_rkey = 0x01020304;",
                request().localInvalidate(0x01020304));
        same(
                "x.opcode = IBV_WR_SEND; x.qp_type.xrc.remote_srqn = 99; x.send_flags = IBV_SEND_IP_CSUM;",
                request().toSharedReceiveQueue(99).ipChecksum(true));
        same(
                "x.opcode = IBV_WR_TSO; x.tso.hdr = (void *) " + header.address() + "L;"
                        + " x.tso.hdr_sz = 40; x.tso.mss = 40000;",
                request().tso(header, 40_000));
        // What the operation before left behind would make drivers refuse this one.
        same(
                "x.opcode = IBV_WR_BIND_MW; x.bind_mw.mw = (void *) " + window.nativeAddress() + "L;"
                        + " x.bind_mw.rkey = " + rkey + "; x.bind_mw.bind_info.mr = (void *) " + region.nativeAddress()
                        + "L;"
                        + " x.bind_mw.bind_info.addr = " + (region.address() + 8) + "L;"
                        + " x.bind_mw.bind_info.length = 16;"
                        + " x.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;",
                request()
                        .sendWithImmediate(5)
                        .bindMemoryWindow(
                                window, rkey, new MemoryWindowBinding(region, 8, 16, AccessFlag.REMOTE_READ)));
        assertThrows(IllegalArgumentException.class, () -> request().tso(MemorySegment.ofArray(new byte[4]), 1));
        assertThrows(IllegalArgumentException.class, () -> request().tso(header, 0));
        assertThrows(IllegalArgumentException.class, () -> request().tso(header, 65_536));
        try (Arena other = Arena.ofConfined()) {
            MemorySegment foreign = other.allocate(4);
            assertThrows(IllegalArgumentException.class, () -> request().tso(foreign, 1));
        }
        // The queue pair was made without headers.
        QueuePair queuePair = queuePair(QueuePairType.RC);
        assertThrows(
                IllegalArgumentException.class,
                () -> queuePair.postSend(request().tso(header, 1)));
    }

    private SendWorkRequest request() {
        return SendWorkRequest.allocate(arena, 0);
    }

    private void same(String statements, SendWorkRequest request) throws IOException {
        long address = request.address;
        byte[] made = RecordingSendVerbs.at(address, ibv_send_wr.sizeof()).toArray(ValueLayout.JAVA_BYTE);
        String expected = CStructs.hexOf("struct ibv_send_wr x; memset(&x, 0, sizeof x); x.sg_list = (void *) "
                + (address + ibv_send_wr.sizeof()) + "L; " + statements);
        assertEquals(expected, HexFormat.of().formatHex(made));
    }

    @Test
    @Shows("ibv_wr_opcode_str")
    void shouldKnowTheNamesOfOpcodes() {
        assertEquals(
                List.of("rdma-write", "atomic-cmp-and-swp", "driver1"),
                List.of(
                        WorkRequestOpcode.RDMA_WRITE.text(),
                        WorkRequestOpcode.ATOMIC_CMP_AND_SWP.text(),
                        WorkRequestOpcode.DRIVER1.text()));
    }
}
