package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.address.MacAddress;
import org.rdmapanama.ffm.verbs.ib_uverbs_flow_action_esp_encap;
import org.rdmapanama.ffm.verbs.ibv_counters;
import org.rdmapanama.ffm.verbs.ibv_flow;
import org.rdmapanama.ffm.verbs.ibv_flow_action;
import org.rdmapanama.ffm.verbs.ibv_flow_action_esp_attr;
import org.rdmapanama.flow.CounterDescription;
import org.rdmapanama.flow.CounterReadFlag;
import org.rdmapanama.flow.EspFlag;
import org.rdmapanama.flow.FlowActionEspOptions;
import org.rdmapanama.flow.FlowFilter;
import org.rdmapanama.flow.FlowFlag;
import org.rdmapanama.flow.FlowRule;
import org.rdmapanama.flow.FlowRuleType;
import org.rdmapanama.flow.FlowSpecification;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.LabDevices;

/** Flow steering, its actions and its counters: Soft-RoCE has none, and is given what C would give it. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FlowLabTest {
    /** A rule with one specification behind its attributes, as the manual page lays them out. */
    private static final String RULE = """
            struct { struct ibv_flow_attr attr; %s spec; } __attribute__((packed)) x;
            memset(&x, 0, sizeof x);
            x.attr.size = sizeof x; x.attr.num_of_specs = 1; x.attr.port = 1;
            x.spec.size = sizeof x.spec;
            """;

    private VerbsArena arena;
    private Context context;
    private RecordingProvider recording;
    private QueuePair queuePair;

    @BeforeEach
    void open() {
        // Each test runs in a thread of its own.
        arena = VerbsArena.ofShared();
        recording = RecordingProvider.of(LabDevices.first());
        context = Context.open(arena, LabDevices.first(), () -> recording);
        CompletionQueue queue = context.createCompletionQueue(4);
        queuePair = context.allocateProtectionDomain().createQueuePair(new QueuePairOptions(QueuePairType.UD, queue));
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private FlowActionEsp fakeAction() {
        long address = FakeStructs.of(context, ibv_flow_action.layout(), ibv_flow_action.context$offset());
        return FlowActionEsp.ofNativeAddress(context, address, Ownership.BORROWED);
    }

    private Counters fakeCounters() {
        long address = FakeStructs.of(context, ibv_counters.layout(), ibv_counters.context$offset());
        return Counters.ofNativeAddress(context, address, Ownership.BORROWED);
    }

    private Flow fakeFlow(Ownership ownership) {
        long address = FakeStructs.of(context, ibv_flow.layout(), ibv_flow.context$offset());
        return Flow.ofNativeAddress(queuePair, address, ownership);
    }

    private static Inet4Address ipv4(String text) throws UnknownHostException {
        return (Inet4Address) InetAddress.getByName(text);
    }

    private static Inet6Address ipv6(String text) throws UnknownHostException {
        return (Inet6Address) InetAddress.getByName(text);
    }

    @Test
    void shouldBuildTheSpecificationsThatCBuilds() throws IOException {
        Map<String, FlowSpecification> specifications = new LinkedHashMap<>();
        String masked = "x.spec.mask.";
        specifications.put(
                "struct ibv_flow_spec_eth|IBV_FLOW_SPEC_ETH|"
                        + "memcpy(x.spec.val.dst_mac, \"\\x66\\x11\\x22\\x33\\x44\\x55\", 6);"
                        + "memset(x.spec.mask.dst_mac, 0xff, 6);"
                        + "memcpy(x.spec.val.src_mac, \"\\x02\\x03\\x04\\x00\\x00\\x00\", 6);"
                        + "memset(x.spec.mask.src_mac, 0xff, 3);"
                        + "x.spec.val.ether_type = htons(0x0800); x.spec.mask.ether_type = 0xffff;"
                        + "x.spec.val.vlan_tag = htons(0x123); x.spec.mask.vlan_tag = htons(0xfff);",
                FlowFilter.ethernet()
                        .destination(MacAddress.parse("66:11:22:33:44:55"))
                        .source(MacAddress.parse("02:03:04:00:00:00"), MacAddress.parse("ff:ff:ff:00:00:00"))
                        .etherType(0x0800)
                        .vlanTag(0x123, 0xfff));
        String addresses =
                "x.spec.val.src_ip = inet_addr(\"10.1.0.0\"); x.spec.mask.src_ip = inet_addr(\"255.255.0.0\");"
                        + "x.spec.val.dst_ip = inet_addr(\"11.134.200.6\"); x.spec.mask.dst_ip = 0xffffffff;";
        specifications.put(
                "struct ibv_flow_spec_ipv4|IBV_FLOW_SPEC_IPV4|" + addresses,
                FlowFilter.ipv4().source(ipv4("10.1.0.0"), ipv4("255.255.0.0")).destination(ipv4("11.134.200.6")));
        specifications.put(
                "struct ibv_flow_spec_ipv4_ext|IBV_FLOW_SPEC_IPV4_EXT|" + addresses
                        + "x.spec.val.proto = 17; x.spec.mask.proto = 0xff; x.spec.val.tos = 0xa0; x.spec.mask.tos = 0xfc;"
                        + "x.spec.val.ttl = 64; x.spec.mask.ttl = 0xff; x.spec.val.flags = 2; x.spec.mask.flags = 0xff;",
                FlowFilter.ipv4Extended()
                        .source(ipv4("10.1.0.0"), ipv4("255.255.0.0"))
                        .destination(ipv4("11.134.200.6"))
                        .protocol(17)
                        .typeOfService(0xa0, 0xfc)
                        .timeToLive(64)
                        .flags(2));
        specifications.put(
                "struct ibv_flow_spec_ipv6|IBV_FLOW_SPEC_IPV6|"
                        + "inet_pton(AF_INET6, \"2001:db8::1\", x.spec.val.src_ip); memset(x.spec.mask.src_ip, 0xff, 16);"
                        + "inet_pton(AF_INET6, \"fe80::\", x.spec.val.dst_ip);"
                        + "inet_pton(AF_INET6, \"ffc0::\", x.spec.mask.dst_ip);"
                        + "x.spec.val.flow_label = htonl(0xabcde); x.spec.mask.flow_label = htonl(0xfffff);"
                        + "x.spec.val.next_hdr = 6; x.spec.mask.next_hdr = 0xff;"
                        + "x.spec.val.traffic_class = 0x10; x.spec.mask.traffic_class = 0xf0;"
                        + "x.spec.val.hop_limit = 255; x.spec.mask.hop_limit = 0xff;",
                FlowFilter.ipv6()
                        .source(ipv6("2001:db8::1"))
                        .destination(ipv6("fe80::"), ipv6("ffc0::"))
                        .flowLabel(0xabcde)
                        .nextHeader(6)
                        .trafficClass(0x10, 0xf0)
                        .hopLimit(255));
        String ports = "x.spec.val.dst_port = htons(4791); x.spec.mask.dst_port = 0xffff;"
                + "x.spec.val.src_port = htons(0xc000); x.spec.mask.src_port = htons(0xff00);";
        specifications.put(
                "struct ibv_flow_spec_tcp_udp|IBV_FLOW_SPEC_TCP|" + ports,
                FlowFilter.tcp().destinationPort(4791).sourcePort(0xc000, 0xff00));
        specifications.put(
                "struct ibv_flow_spec_tcp_udp|IBV_FLOW_SPEC_UDP|" + ports,
                FlowFilter.udp().destinationPort(4791).sourcePort(0xc000, 0xff00));
        specifications.put(
                "struct ibv_flow_spec_tcp_udp|IBV_FLOW_SPEC_UDP or IBV_FLOW_SPEC_INNER|" + ports,
                FlowFilter.udp()
                        .destinationPort(4791)
                        .sourcePort(0xc000, 0xff00)
                        .inner());
        specifications.put(
                "struct ibv_flow_spec_eth|IBV_FLOW_SPEC_ETH or IBV_FLOW_SPEC_INNER|"
                        + "x.spec.val.ether_type = htons(0x86dd); x.spec.mask.ether_type = 0xffff;",
                FlowFilter.ethernet().etherType(0x86dd).inner());
        specifications.put(
                "struct ibv_flow_spec_esp|IBV_FLOW_SPEC_ESP|x.spec.val.spi = htonl(0xfedcba98);" + masked
                        + "spi = 0xffffffff; x.spec.val.seq = htonl(0x100);" + masked + "seq = htonl(0xf00);",
                FlowFilter.esp().securityParametersIndex(0xfedcba98).sequence(0x100, 0xf00));
        specifications.put(
                "struct ibv_flow_spec_tunnel|IBV_FLOW_SPEC_VXLAN_TUNNEL|x.spec.val.tunnel_id = htonl(0x123456);"
                        + masked + "tunnel_id = htonl(0xffffff);",
                FlowFilter.vxlan().networkIdentifier(0x123456));
        specifications.put(
                "struct ibv_flow_spec_gre|IBV_FLOW_SPEC_GRE|x.spec.val.c_ks_res0_ver = htons(0x2000);" + masked
                        + "c_ks_res0_ver = htons(0xb007); x.spec.val.protocol = htons(0x0800);" + masked
                        + "protocol = 0xffff; x.spec.val.key = htonl(0x90abcdef);" + masked + "key = 0xffffffff;",
                FlowFilter.gre()
                        .flagsAndVersion(0x2000, 0xb007)
                        .protocol(0x0800)
                        .key(0x90abcdef));
        specifications.put(
                "struct ibv_flow_spec_mpls|IBV_FLOW_SPEC_MPLS|x.spec.val.label = htonl(0xabcde140);" + masked
                        + "label = 0xffffffff;",
                FlowFilter.mpls().entry(0xabcde140));
        specifications.put(
                "struct ibv_flow_spec_action_tag|IBV_FLOW_SPEC_ACTION_TAG|x.spec.tag_id = 0x89abcdef;",
                new FlowSpecification.Tag(0x89abcdef));
        specifications.put("struct ibv_flow_spec_action_drop|IBV_FLOW_SPEC_ACTION_DROP|", new FlowSpecification.Drop());
        FlowActionEsp action = fakeAction();
        specifications.put(
                "struct ibv_flow_spec_action_handle|IBV_FLOW_SPEC_ACTION_HANDLE|x.spec.action = (void *) "
                        + action.nativeAddress() + "UL;",
                new FlowSpecification.Apply(action));
        Counters counters = fakeCounters();
        specifications.put(
                "struct ibv_flow_spec_counter_action|IBV_FLOW_SPEC_ACTION_COUNT|x.spec.counters = (void *) "
                        + counters.nativeAddress() + "UL;",
                new FlowSpecification.Count(counters));
        assertEquals(16, specifications.size());
        Map<String, byte[]> crossed = new LinkedHashMap<>();
        specifications.forEach((c, specification) -> {
            String[] parts = c.split("\\|", -1);
            String type = parts[1].replace(" or ", " | ");
            crossed.put(
                    RULE.formatted(parts[0]) + "x.spec.type = " + type + ";" + parts[2],
                    bytesOf(new FlowRule(1).add(specification)));
        });
        CStructs.assertAllSame(crossed);
    }

    /** Makes the rule really reach the driver. */
    private byte[] bytesOf(FlowRule rule) {
        recording.keepBytes("createFlow", rule.toNative().length);
        Unsupported.verb("ibv_create_flow", () -> queuePair.createFlow(rule));
        return recording.bytesOf("createFlow");
    }

    @Test
    void shouldBuildARuleOfManyParts() throws IOException {
        FlowActionEsp action = fakeAction();
        Counters counters = fakeCounters();
        CStructs.assertSame(
                """
                struct {
                    struct ibv_flow_attr attr; struct ibv_flow_spec_eth eth; struct ibv_flow_spec_ipv4 ip;
                    struct ibv_flow_spec_tcp_udp udp; struct ibv_flow_spec_action_handle handle;
                    struct ibv_flow_spec_counter_action count; struct ibv_flow_spec_action_drop drop;
                } __attribute__((packed)) x;
                memset(&x, 0, sizeof x);
                x.attr.type = IBV_FLOW_ATTR_NORMAL; x.attr.size = sizeof x; x.attr.priority = 0x1234;
                x.attr.num_of_specs = 6; x.attr.port = 1;
                x.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS;
                x.eth.type = IBV_FLOW_SPEC_ETH; x.eth.size = sizeof x.eth;
                x.eth.val.ether_type = htons(0x0800); x.eth.mask.ether_type = 0xffff;
                x.ip.type = IBV_FLOW_SPEC_IPV4; x.ip.size = sizeof x.ip;
                x.udp.type = IBV_FLOW_SPEC_UDP; x.udp.size = sizeof x.udp;
                x.udp.val.dst_port = htons(53); x.udp.mask.dst_port = 0xffff;
                x.handle.type = IBV_FLOW_SPEC_ACTION_HANDLE; x.handle.size = sizeof x.handle;
                x.handle.action = (void *) %dUL;
                x.count.type = IBV_FLOW_SPEC_ACTION_COUNT; x.count.size = sizeof x.count;
                x.count.counters = (void *) %dUL;
                x.drop.type = IBV_FLOW_SPEC_ACTION_DROP; x.drop.size = sizeof x.drop;
                """.formatted(action.nativeAddress(), counters.nativeAddress()),
                bytesOf(new FlowRule(1)
                        .priority(0x1234)
                        .flags(FlowFlag.DONT_TRAP, FlowFlag.EGRESS)
                        .add(FlowFilter.ethernet().etherType(0x0800))
                        .add(FlowFilter.ipv4())
                        .add(FlowFilter.udp().destinationPort(53))
                        .add(new FlowSpecification.Apply(action))
                        .add(new FlowSpecification.Count(counters))
                        .add(new FlowSpecification.Drop())));
    }

    @Test
    void shouldBuildRulesOfEveryType() throws IOException {
        Map<String, byte[]> crossed = new LinkedHashMap<>();
        for (FlowRuleType type : FlowRuleType.values()) {
            crossed.put(
                    "struct ibv_flow_attr x; memset(&x, 0, sizeof x); x.size = sizeof x; x.port = 1;"
                            + " x.type = IBV_FLOW_ATTR_" + type + ";",
                    bytesOf(new FlowRule(1).type(type)));
        }
        CStructs.assertAllSame(crossed);
    }

    @Test
    void shouldRefuseRulesThatCannotBe() {
        assertThrows(IllegalArgumentException.class, () -> queuePair.createFlow(new FlowRule(2)), "no such port");
        assertThrows(
                IllegalArgumentException.class,
                () -> queuePair.createFlow(
                        new FlowRule(1).type(FlowRuleType.SNIFFER).flags(FlowFlag.DONT_TRAP)));
        QueuePair connected = queuePair
                .protectionDomain()
                .createQueuePair(new QueuePairOptions(QueuePairType.RC, queuePair.sendQueue()));
        assertThrows(IllegalArgumentException.class, () -> connected.createFlow(new FlowRule(1)));
        Counters closed = fakeCounters();
        closed.close();
        assertThrows(
                IllegalStateException.class,
                () -> queuePair.createFlow(new FlowRule(1).add(new FlowSpecification.Count(closed))));
        Context other = Context.open(arena, LabDevices.second());
        long address = FakeStructs.of(other, ibv_counters.layout(), ibv_counters.context$offset());
        Counters foreign = Counters.ofNativeAddress(other, address, Ownership.BORROWED);
        assertThrows(
                IllegalArgumentException.class,
                () -> queuePair.createFlow(new FlowRule(1).add(new FlowSpecification.Count(foreign))));
        assertEquals(null, recording.bytesOf("createFlow"));
    }

    @Test
    void shouldSayThatFlowsCannotBeDestroyed() {
        LabDevices.assumeOurs("its driver would follow the pointers of a forged structure");
        Flow flow = fakeFlow(Ownership.OWNED);
        assertEquals(queuePair, flow.queuePair());
        VerbsException failure = assertThrows(VerbsException.class, flow::close);
        assertEquals("ibv_destroy_flow", failure.verb());
        assertEquals("EOPNOTSUPP", failure.errnoName());
        Unsupported.reached("ibv_destroy_flow", failure);
    }

    @Test
    void shouldSayThatThereAreNoCounters() throws IOException {
        LabDevices.assumeOurs("its driver would follow the pointers of a forged structure");
        recording.keepBytes("createCounters", 4);
        recording.keepBytes("attachCountersToFlow", 12);
        Unsupported.verb("ibv_create_counters", () -> context.createCounters());
        Map<String, byte[]> crossed = new LinkedHashMap<>();
        crossed.put("struct ibv_counters_init_attr x; memset(&x, 0, sizeof x);", recording.bytesOf("createCounters"));
        Counters counters = fakeCounters();
        Flow flow = fakeFlow(Ownership.BORROWED);
        Unsupported.verb("ibv_attach_counters_point_flow", () -> counters.attach(CounterDescription.PACKETS, 3));
        crossed.put(
                "struct ibv_counter_attach_attr x; memset(&x, 0, sizeof x); x.counter_desc = IBV_COUNTER_PACKETS;"
                        + " x.index = 3;",
                recording.bytesOf("attachCountersToFlow"));
        Unsupported.verb(
                "ibv_attach_counters_point_flow", () -> counters.attachToFlow(CounterDescription.BYTES, 0, flow));
        crossed.put(
                "struct ibv_counter_attach_attr x; memset(&x, 0, sizeof x); x.counter_desc = IBV_COUNTER_BYTES;",
                recording.bytesOf("attachCountersToFlow"));
        CStructs.assertAllSame(crossed);
        Unsupported.verb("ibv_read_counters", () -> counters.read(2, CounterReadFlag.PREFER_CACHED));
        for (int count : new int[] {Integer.MIN_VALUE, 0, 8192, Integer.MAX_VALUE}) {
            assertThrows(IllegalArgumentException.class, () -> counters.read(count));
        }
        Unsupported.verb("ibv_read_counters", () -> counters.read(8191));
        assertThrows(IllegalArgumentException.class, () -> counters.attach(CounterDescription.BYTES, -1));
        assertThrows(NullPointerException.class, () -> counters.attach(null, 0));
        Counters owned = Counters.ofNativeAddress(
                context,
                FakeStructs.of(context, ibv_counters.layout(), ibv_counters.context$offset()),
                Ownership.OWNED);
        Unsupported.reached("ibv_destroy_counters", assertThrows(VerbsException.class, owned::close));
    }

    @Test
    void shouldSayThatThereIsNoIpsec() {
        LabDevices.assumeOurs("its driver would follow the pointers of a forged structure");
        FlowActionEspOptions options = new FlowActionEspOptions().securityParametersIndex(1);
        Unsupported.verb("ibv_create_flow_action_esp", () -> context.createFlowActionEsp(options));
        FlowActionEsp action = fakeAction();
        Unsupported.verb("ibv_modify_flow_action_esp", () -> action.modify(options));
        FlowActionEsp owned = FlowActionEsp.ofNativeAddress(
                context,
                FakeStructs.of(context, ibv_flow_action.layout(), ibv_flow_action.context$offset()),
                Ownership.OWNED);
        Unsupported.reached("ibv_destroy_flow_action", assertThrows(VerbsException.class, owned::close));
    }

    /** Follows the pointers of the attributes while they are there. */
    private static final class EspReader extends RecordingProvider {
        private final Map<String, byte[]> parts = new LinkedHashMap<>();

        EspReader(Device device) {
            super(device.providerDevice().provider().open(device.providerDevice()));
        }

        @Override
        public long createFlowActionEsp(long attributes) {
            MemorySegment struct = at(attributes, ibv_flow_action_esp_attr.sizeof());
            parts.put("attributes", struct.toArray(ValueLayout.JAVA_BYTE));
            keep("esp", ibv_flow_action_esp_attr.esp_attr(struct), 24);
            keep("keymat", ibv_flow_action_esp_attr.keymat_ptr(struct), ibv_flow_action_esp_attr.keymat_len(struct));
            keep("replay", ibv_flow_action_esp_attr.replay_ptr(struct), ibv_flow_action_esp_attr.replay_len(struct));
            MemorySegment encap = ibv_flow_action_esp_attr.esp_encap(struct);
            for (int i = 0; encap.address() != 0; i++) {
                MemorySegment element = at(encap.address(), ib_uverbs_flow_action_esp_encap.sizeof());
                int length = ib_uverbs_flow_action_esp_encap.len(element);
                parts.put("type " + i, new byte[] {(byte) ib_uverbs_flow_action_esp_encap.type(element)});
                keep("value " + i, ib_uverbs_flow_action_esp_encap.val_ptr(element), length);
                encap = ib_uverbs_flow_action_esp_encap.next_ptr(element);
            }
            return super.createFlowActionEsp(attributes);
        }

        private void keep(String name, MemorySegment pointer, long size) {
            if (pointer.address() != 0) {
                parts.put(name, at(pointer.address(), size).toArray(ValueLayout.JAVA_BYTE));
            }
        }

        @SuppressWarnings("restricted")
        private static MemorySegment at(long address, long size) {
            return MemorySegment.ofAddress(address).reinterpret(size);
        }

        /** A pointer that the attributes had, which differs each time. */
        long pointer(long offset) {
            return MemorySegment.ofArray(parts.get("attributes")).get(ValueLayout.JAVA_LONG_UNALIGNED, offset);
        }
    }

    @Test
    void shouldBuildTheIpsecAttributesThatCBuilds() throws IOException {
        EspReader reader = new EspReader(LabDevices.first());
        Context read = Context.open(arena, LabDevices.first(), () -> reader);
        byte[] key = HexFormat.of().parseHex("000102030405060708090a0b0c0d0e0f1011121314151617");
        FlowActionEspOptions options = new FlowActionEspOptions()
                .securityParametersIndex(0x12345678)
                .sequence(-2)
                .trafficFlowPadding(7)
                .hardLimitPackets(0x1122334455667788L)
                .flags(EspFlag.FULL_OFFLOAD, EspFlag.TRANSPORT, EspFlag.ENCRYPT, EspFlag.ESN_NEW_WINDOW)
                .aesGcm(key, 0xaabbccdd, 0x0102030405060708L, 16)
                .replayWindow(64)
                .encapsulation(
                        FlowFilter.ipv4().source(ipv4("10.1.2.3")),
                        FlowFilter.udp().destinationPort(4500))
                .extendedSequence(9);
        Unsupported.verb("ibv_create_flow_action_esp", () -> read.createFlowActionEsp(options));
        Map<String, byte[]> crossed = new LinkedHashMap<>();
        crossed.put(
                """
                struct ibv_flow_action_esp_attr x; memset(&x, 0, sizeof x);
                x.esp_attr = (void *) %dUL;
                x.keymat_proto = IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM;
                x.keymat_len = sizeof(struct ibv_flow_action_esp_keymat_aes_gcm); x.keymat_ptr = (void *) %dUL;
                x.replay_proto = IBV_FLOW_ACTION_ESP_REPLAY_BMP;
                x.replay_len = sizeof(struct ibv_flow_action_esp_replay_bmp); x.replay_ptr = (void *) %dUL;
                x.esp_encap = (void *) %dUL;
                x.comp_mask = IBV_FLOW_ACTION_ESP_MASK_ESN; x.esn = 9;
                """.formatted(
                                reader.pointer(ibv_flow_action_esp_attr.esp_attr$offset()),
                                reader.pointer(ibv_flow_action_esp_attr.keymat_ptr$offset()),
                                reader.pointer(ibv_flow_action_esp_attr.replay_ptr$offset()),
                                reader.pointer(ibv_flow_action_esp_attr.esp_encap$offset())),
                reader.parts.get("attributes"));
        crossed.put("""
                struct ibv_flow_action_esp x; memset(&x, 0, sizeof x);
                x.spi = 0x12345678; x.seq = -2; x.tfc_pad = 7; x.hard_limit_pkts = 0x1122334455667788UL;
                x.flags = IBV_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD | IBV_FLOW_ACTION_ESP_FLAGS_TRANSPORT
                        | IBV_FLOW_ACTION_ESP_FLAGS_ENCRYPT | IBV_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW;
                """, reader.parts.get("esp"));
        crossed.put("""
                struct ibv_flow_action_esp_keymat_aes_gcm x; memset(&x, 0, sizeof x);
                x.iv = 0x0102030405060708UL; x.iv_algo = IBV_FLOW_ACTION_IV_ALGO_SEQ; x.salt = 0xaabbccdd;
                x.icv_len = 16; x.key_len = 24;
                for (int i = 0; i < 24; i++) ((char *) x.aes_key)[i] = i;
                """, reader.parts.get("keymat"));
        crossed.put(
                "struct ibv_flow_action_esp_replay_bmp x; memset(&x, 0, sizeof x); x.size = 64;",
                reader.parts.get("replay"));
        assertEquals(0x30, reader.parts.get("type 0")[0]);
        crossed.put(
                "struct ibv_flow_ipv4_filter x; memset(&x, 0, sizeof x); x.src_ip = inet_addr(\"10.1.2.3\");",
                reader.parts.get("value 0"));
        assertEquals(0x41, reader.parts.get("type 1")[0]);
        crossed.put(
                "struct ibv_flow_tcp_udp_filter x; memset(&x, 0, sizeof x); x.dst_port = htons(4500);",
                reader.parts.get("value 1"));
        CStructs.assertAllSame(crossed);
        assertTrue(reader.parts.get("type 2") == null, "the list ends");
    }

    @Test
    void shouldLeaveOutIpsecAttributesThatAreNotSet() throws IOException {
        recording.keepBytes("createFlowActionEsp", ibv_flow_action_esp_attr.sizeof());
        Unsupported.verb("ibv_create_flow_action_esp", () -> context.createFlowActionEsp(new FlowActionEspOptions()));
        CStructs.assertSame(
                "struct ibv_flow_action_esp_attr x; memset(&x, 0, sizeof x);",
                recording.bytesOf("createFlowActionEsp"));
    }
}
