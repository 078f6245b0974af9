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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.ffm.verbs.ibv_ece;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_qp_open_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_rate_limit_attr;
import org.rdmapanama.ffm.verbs.ibv_rx_hash_conf;
import org.rdmapanama.ffm.verbs.ibv_send_wr;

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
        LabDevices.assumeSoftRoce("it may write in order");
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
        // Any object stands in for a domain that this device cannot open.
        QueuePairOptions receiver =
                QueuePairOptions.withoutQueues(QueuePairType.XRC_RECV).xrcDomain(domain);
        missing("ibv_create_qp_ex", () -> domain.createQueuePair(receiver));
    }

    /** Soft-RoCE says EINVAL where it means that it has no such type. */
    private static UnsupportedVerbException missing(String verb, Executable call) {
        UnsupportedVerbException thrown = assertThrows(UnsupportedVerbException.class, call);
        assertEquals(verb, thrown.verb());
        return thrown;
    }

    @Test
    void shouldNeedWhatATypeNeeds() {
        assertThrows(
                IllegalArgumentException.class,
                () -> domain.createQueuePair(QueuePairOptions.withoutQueues(QueuePairType.XRC_RECV)));
        assertThrows(
                IllegalArgumentException.class,
                () -> domain.createQueuePair(QueuePairOptions.withoutQueues(QueuePairType.RC)));
        QueuePairOptions options = new QueuePairOptions(QueuePairType.RC, queue);
        assertThrows(IllegalArgumentException.class, () -> options.createFlags(QueuePairCreateFlag.SOURCE_QPN));
        assertThrows(IllegalArgumentException.class, () -> options.sourceQueuePair(1 << 24));
        assertThrows(IllegalArgumentException.class, () -> options.maxTsoHeader(65_536));
    }

    @Test
    void shouldOpenQueuePairsOfOthers() throws IOException {
        recording.keepBytes("openQueuePair", ibv_qp_open_attr.sizeof());
        Unsupported.verb("ibv_open_qp", () -> QueuePair.open(domain, 0x1234));
        CStructs.assertSame(
                "struct ibv_qp_open_attr x; memset(&x, 0, sizeof x);"
                        + " x.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;"
                        + " x.qp_num = 0x1234; x.qp_type = IBV_QPT_XRC_RECV; x.xrcd = (void *) "
                        + domain.nativeAddress() + "L;",
                recording.bytesOf("openQueuePair"));
        assertThrows(IllegalArgumentException.class, () -> QueuePair.open(domain, -1));
    }

    @Test
    void shouldBuildTheExtendedAttributes() throws IOException {
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
        QueuePairOptions options = new QueuePairOptions(QueuePairType.RAW_PACKET, queue)
                .maxSendWorkRequests(3)
                .maxReceiveWorkRequests(4)
                .maxSegments(5, 6)
                .maxInlineData(7)
                .signalAll(true)
                .createFlags(QueuePairCreateFlag.SCATTER_FCS, QueuePairCreateFlag.CVLAN_STRIPPING)
                .sourceQueuePair(0x00ab_cdef)
                .maxTsoHeader(40_000)
                .sharedReceiveQueue(queue)
                .xrcDomain(queue)
                .receiveSideScaling(queue, hash)
                .sendOperations(SendOperation.TSO, SendOperation.SEND);
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_init_attr_ex.layout());
            options.write(attributes, domain.address, temporary);
            long keyAddress = ibv_rx_hash_conf
                    .rx_hash_key(ibv_qp_init_attr_ex.rx_hash_conf(attributes))
                    .address();
            assertArrayEquals(key, RecordingSendVerbs.at(keyAddress, 40).toArray(ValueLayout.JAVA_BYTE));
            String queueAddress = "(void *) " + queue.nativeAddress() + "L";
            String expected = CStructs.hexOf("struct ibv_qp_init_attr_ex x; memset(&x, 0, sizeof x);"
                    + " x.send_cq = x.recv_cq = " + queueAddress + "; x.srq = " + queueAddress + ";"
                    + " x.cap.max_send_wr = 3; x.cap.max_recv_wr = 4; x.cap.max_send_sge = 5;"
                    + " x.cap.max_recv_sge = 6; x.cap.max_inline_data = 7;"
                    + " x.qp_type = IBV_QPT_RAW_PACKET; x.sq_sig_all = 1;"
                    + " x.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS"
                    + " | IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH"
                    + " | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;"
                    + " x.pd = (void *) " + domain.nativeAddress() + "L; x.xrcd = " + queueAddress + ";"
                    + " x.create_flags = IBV_QP_CREATE_SCATTER_FCS | IBV_QP_CREATE_CVLAN_STRIPPING"
                    + " | IBV_QP_CREATE_SOURCE_QPN;"
                    + " x.max_tso_header = 40000; x.rwq_ind_tbl = " + queueAddress + ";"
                    + " x.rx_hash_conf.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;"
                    + " x.rx_hash_conf.rx_hash_key_len = 40;"
                    + " x.rx_hash_conf.rx_hash_key = (void *) " + keyAddress + "L;"
                    + " x.rx_hash_conf.rx_hash_fields_mask"
                    + " = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_PORT_UDP | IBV_RX_HASH_INNER;"
                    + " x.source_qpn = 0xabcdef; x.send_ops_flags = IBV_QP_EX_WITH_TSO | IBV_QP_EX_WITH_SEND;");
            assertEquals(expected, HexFormat.of().formatHex(attributes.toArray(ValueLayout.JAVA_BYTE)));
        }
    }

    @Test
    void shouldBuildEveryWorkRequest() throws IOException {
        MemoryRegion region = domain.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
        TestWindow window = TestWindow.allocate(domain);
        MemorySegment header = arena.allocate(40);
        same(
                "x.opcode = IBV_WR_SEND_WITH_INV; x.invalidate_rkey = 0x01020304;",
                request().sendWithInvalidate(0x01020304));
        same(
                "x.opcode = IBV_WR_LOCAL_INV; x.invalidate_rkey = 0x01020304;",
                request().localInvalidate(0x01020304));
        same(
                "x.opcode = IBV_WR_SEND; x.qp_type.xrc.remote_srqn = 99; x.send_flags = IBV_SEND_IP_CSUM;",
                request().xrcSharedReceiveQueue(99).ipChecksum(true));
        same(
                "x.opcode = IBV_WR_TSO; x.tso.hdr = (void *) " + header.address() + "L;"
                        + " x.tso.hdr_sz = 40; x.tso.mss = 40000;",
                request().tso(header, 40_000));
        // What the operation before left behind would make drivers refuse this one.
        same(
                "x.opcode = IBV_WR_BIND_MW; x.bind_mw.mw = (void *) " + window.nativeAddress() + "L;"
                        + " x.bind_mw.rkey = 77; x.bind_mw.bind_info.mr = (void *) " + region.nativeAddress() + "L;"
                        + " x.bind_mw.bind_info.addr = " + (region.address() + 8) + "L;"
                        + " x.bind_mw.bind_info.length = 16;"
                        + " x.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;",
                request()
                        .sendWithImmediate(5)
                        .bindMemoryWindow(window, 77, region, 8, 16, Set.of(AccessFlag.REMOTE_READ)));
        assertThrows(
                IndexOutOfBoundsException.class,
                () -> request().bindMemoryWindow(window, 1, region, 8, 4096, Set.of()));
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
        long address = request.address(arena);
        byte[] made = RecordingSendVerbs.at(address, ibv_send_wr.sizeof()).toArray(ValueLayout.JAVA_BYTE);
        String expected = CStructs.hexOf("struct ibv_send_wr x; memset(&x, 0, sizeof x); x.sg_list = (void *) "
                + (address + ibv_send_wr.sizeof()) + "L; " + statements);
        assertEquals(expected, HexFormat.of().formatHex(made));
    }

    @Test
    void shouldBindAndInvalidateByWorkRequests() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                .open()) {
            TestWindow window = TestWindow.allocate(pair.b.domain);
            int rkey = window.nextRkey();
            SendWorkRequest bind = pair.b
                    .request(1, 0, 0)
                    .bindMemoryWindow(window, rkey, pair.b.region, 0, 64, Set.of(AccessFlag.REMOTE_WRITE));
            pair.b.post(bind);
            pair.b.await().is(CompletionOpcode.BIND_MW, 1);
            pair.a.memory.set(ValueLayout.JAVA_LONG, 0, 5);
            pair.a.post(pair.a.request(2, 0, 8).rdmaWrite(pair.b.region.address(), rkey));
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 2);
            assertEquals(5, pair.b.memory.get(ValueLayout.JAVA_LONG, 0));

            pair.b.postReceive(3, 0, 8);
            pair.a.post(pair.a.request(4, 0, 0).sendWithInvalidate(rkey));
            pair.a.await().is(CompletionOpcode.SEND, 4);
            pair.b.await().is(CompletionOpcode.RECV, 3);

            window.bound(rkey);
            int second = (rkey & 0xffff_ff00) | ((rkey + 1) & 0xff);
            pair.b.post(bind.bindMemoryWindow(window, second, pair.b.region, 0, 64, Set.of(AccessFlag.REMOTE_WRITE)));
            pair.b.await().is(CompletionOpcode.BIND_MW, 1);
            pair.b.post(pair.b.request(5, 0, 0).localInvalidate(second));
            pair.b.await().is(CompletionOpcode.LOCAL_INV, 5);
            pair.a.post(pair.a.request(6, 0, 8).rdmaWrite(pair.b.region.address(), second));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.a.await().status());

            // Drivers follow the pointer to the window when they post.
            window.close();
            assertThrows(IllegalStateException.class, () -> pair.b.queuePair.postSend(bind));
        }
    }

    @Test
    void shouldKnowTheNamesOfOpcodes() {
        assertEquals(
                List.of("rdma-write", "atomic-cmp-and-swp", "driver1"),
                List.of(
                        WorkRequestOpcode.RDMA_WRITE.text(),
                        WorkRequestOpcode.ATOMIC_CMP_AND_SWP.text(),
                        WorkRequestOpcode.DRIVER1.text()));
    }
}
