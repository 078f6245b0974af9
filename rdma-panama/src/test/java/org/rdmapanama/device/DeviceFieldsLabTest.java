package org.rdmapanama.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.ToLongFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.Insides;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_port_attr;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.LabDevices;

/** Every field of a device and a port, next to what a C program reads of the same device. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DeviceFieldsLabTest {
    /** Opens the device; {@code device} and {@code port} are its attributes, zeroed before. */
    private static final String PROGRAM = """
            #include <string.h>
            #include <endian.h>
            int main(void) {
                struct ibv_device **list = ibv_get_device_list(NULL);
                struct ibv_context *context = NULL;
                for (int i = 0; list && list[i]; i++)
                    if (!strcmp(ibv_get_device_name(list[i]), "%s")) context = ibv_open_device(list[i]);
                static struct ibv_device_attr_ex device;
                static struct ibv_port_attr port;
                if (!context || ibv_query_device_ex(context, NULL, &device) || ibv_query_port(context, 1, &port))
                    return 1;
                %s
                return 0;
            }
            """;

    private static final String DUMP = """
                for (size_t i = 0; i < sizeof %1$s; i++) printf("%%02x", ((unsigned char *) &%1$s)[i]);
            """;

    /** What the program prints before each of its parts. */
    private static final String PART = "\n=== ";

    private static VerbsArena arena;
    private static Context context;
    private static DeviceAttributes device;
    private static PortAttributes port;

    /** What the C program prints, by the name of the part. */
    private static Map<String, String> inC;

    @BeforeAll
    static void open() {
        arena = VerbsArena.ofShared();
        context = Context.open(arena, LabDevices.first());
        device = context.queryDevice();
        port = context.queryPort(1);
    }

    @AfterAll
    static void close() {
        inC = null;
        if (arena != null) {
            arena.close();
        }
    }

    /** The statements of the C program, by the name of the part. */
    private static Map<String, String> parts() {
        Map<String, String> parts = new LinkedHashMap<>();
        parts.put("basic", printing("device.orig_attr.", basicFields().keySet()));
        parts.put("extended", printing("device.", extendedFields().keySet()));
        parts.put("mask", printing("device.", List.of("comp_mask")));
        parts.put("firmware", "printf(\"%s\", device.orig_attr.fw_ver);");
        parts.put("device", DUMP.formatted("device"));
        parts.put("port bytes", DUMP.formatted("port"));
        parts.put("port", printing("port.", portFields().keySet()));
        parts.put("vectors", printing("context->", List.of("num_comp_vectors")));
        parts.put("names", "for (int i = 0; list[i]; i++) puts(ibv_get_device_name(list[i]));");
        parts.put("identity", """
                printf("%llx\\n%d\\n", (unsigned long long) be64toh(ibv_get_device_guid(context->device)),
                    ibv_get_device_index(context->device));
                """);
        parts.put("closing", "if (ibv_close_device(context)) return 1;");
        return parts;
    }

    private static String printing(String variable, Collection<String> fields) {
        return fields.stream()
                .map(field -> field.endsWith("_guid") ? "be64toh(" + variable + field + ")" : variable + field)
                .map(expression -> "printf(\"%lld\\n\", (long long) (" + expression + "));")
                .collect(Collectors.joining("\n"));
    }

    /** What a part of the C program prints. One program has them all, because the compiler takes its time in the lab. */
    private static String inC(String part) throws IOException {
        LabDevices.assumeSeenByPrograms("C program that could open it");
        if (inC == null) {
            StringBuilder statements = new StringBuilder();
            parts().forEach((name, body) -> statements
                    .append("printf(\"%s\");%n".formatted(PART.replace("\n", "\\n") + name + "\\n"))
                    .append(body)
                    .append('\n'));
            String output = CStructs.run(PROGRAM.formatted(LabDevices.first().name(), statements), "-libverbs");
            Map<String, String> printed = new LinkedHashMap<>();
            for (String each : output.substring(PART.length()).split(PART, -1)) {
                int end = each.indexOf('\n');
                printed.put(each.substring(0, end), each.substring(end + 1));
            }
            inC = printed;
        }
        return inC.get(part);
    }

    /** The values of the fields that a part prints. */
    private static Map<String, Long> inC(String part, Collection<String> fields) throws IOException {
        List<String> lines = inC(part).lines().toList();
        assertEquals(fields.size(), lines.size(), part);
        Map<String, Long> values = new LinkedHashMap<>();
        int line = 0;
        for (String field : fields) {
            values.put(field, Long.parseLong(lines.get(line++)));
        }
        return values;
    }

    private static <E> long bits(Set<E> flags, ToLongFunction<E> code) {
        return flags.stream().mapToLong(code).reduce(0, (one, other) -> one | other);
    }

    private static long types(Set<QueuePairType> types) {
        return bits(types, type -> 1L << type.code());
    }

    private static long sizes(Set<PciAtomicSize> sizes) {
        return bits(sizes, PciAtomicSize::code);
    }

    private static long operations(Set<OdpOperation> operations) {
        return bits(operations, OdpOperation::code);
    }

    private static Map<String, Long> basicFields() {
        Map<String, Long> fields = new LinkedHashMap<>();
        fields.put("node_guid", device.nodeGuid());
        fields.put("sys_image_guid", device.systemImageGuid());
        fields.put("max_mr_size", device.maxMemoryRegionSize());
        fields.put("page_size_cap", device.pageSizes());
        fields.put("vendor_id", Integer.toUnsignedLong(device.vendorId()));
        fields.put("vendor_part_id", Integer.toUnsignedLong(device.vendorPartId()));
        fields.put("hw_ver", Integer.toUnsignedLong(device.hardwareVersion()));
        fields.put("max_qp", (long) device.maxQueuePairs());
        fields.put("max_qp_wr", (long) device.maxWorkRequests());
        fields.put("device_cap_flags", Integer.toUnsignedLong(device.deviceCapabilityFlags()));
        fields.put("max_sge", (long) device.maxSegments());
        fields.put("max_sge_rd", (long) device.maxReadSegments());
        fields.put("max_cq", (long) device.maxCompletionQueues());
        fields.put("max_cqe", (long) device.maxCompletionQueueEntries());
        fields.put("max_mr", (long) device.maxMemoryRegions());
        fields.put("max_pd", (long) device.maxProtectionDomains());
        fields.put("max_qp_rd_atom", (long) device.maxReadAtomicAsTarget());
        fields.put("max_ee_rd_atom", (long) device.maxEndToEndReadAtomicAsTarget());
        fields.put("max_res_rd_atom", (long) device.maxReadAtomicResources());
        fields.put("max_qp_init_rd_atom", (long) device.maxReadAtomicAsInitiator());
        fields.put("max_ee_init_rd_atom", (long) device.maxEndToEndReadAtomicAsInitiator());
        fields.put("atomic_cap", (long) device.atomicCapability().code());
        fields.put("max_ee", (long) device.maxEndToEndContexts());
        fields.put("max_rdd", (long) device.maxReliableDatagramDomains());
        fields.put("max_mw", (long) device.maxMemoryWindows());
        fields.put("max_raw_ipv6_qp", (long) device.maxRawIpv6QueuePairs());
        fields.put("max_raw_ethy_qp", (long) device.maxRawEthernetQueuePairs());
        fields.put("max_mcast_grp", (long) device.maxMulticastGroups());
        fields.put("max_mcast_qp_attach", (long) device.maxMulticastQueuePairs());
        fields.put("max_total_mcast_qp_attach", (long) device.maxTotalMulticastQueuePairs());
        fields.put("max_ah", (long) device.maxAddressHandles());
        fields.put("max_fmr", (long) device.maxFastMemoryRegions());
        fields.put("max_map_per_fmr", (long) device.maxMapsPerFastMemoryRegion());
        fields.put("max_srq", (long) device.maxSharedReceiveQueues());
        fields.put("max_srq_wr", (long) device.maxSharedReceiveWorkRequests());
        fields.put("max_srq_sge", (long) device.maxSharedReceiveSegments());
        fields.put("max_pkeys", (long) device.maxPartitions());
        fields.put("local_ca_ack_delay", (long) device.localAckDelay());
        fields.put("phys_port_cnt", (long) device.physicalPorts());
        return fields;
    }

    private static Map<String, Long> extendedFields() {
        Map<String, Long> fields = new LinkedHashMap<>();
        OnDemandPagingCapabilities odp = device.onDemandPaging();
        fields.put("odp_caps.general_caps", (odp.explicit() ? 1L : 0) | (odp.implicit() ? 2L : 0));
        fields.put("odp_caps.per_transport_caps.rc_odp_caps", operations(odp.reliableConnected()));
        fields.put("odp_caps.per_transport_caps.uc_odp_caps", operations(odp.unreliableConnected()));
        fields.put("odp_caps.per_transport_caps.ud_odp_caps", operations(odp.unreliableDatagram()));
        fields.put("xrc_odp_caps", operations(odp.extendedReliableConnected()));
        fields.put("completion_timestamp_mask", device.completionTimestampMask());
        fields.put("hca_core_clock", device.coreClockKilohertz());
        fields.put("device_cap_flags_ex", device.extendedCapabilityFlags());
        fields.put("tso_caps.max_tso", device.tsoCapabilities().maxPayload());
        fields.put("tso_caps.supported_qpts", types(device.tsoCapabilities().queuePairTypes()));
        RssCapabilities rss = device.rssCapabilities();
        fields.put("rss_caps.supported_qpts", types(rss.queuePairTypes()));
        fields.put("rss_caps.max_rwq_indirection_tables", rss.maxIndirectionTables());
        fields.put("rss_caps.max_rwq_indirection_table_size", rss.maxIndirectionTableSize());
        fields.put("rss_caps.rx_hash_fields_mask", bits(rss.hashFields(), RxHashField::code));
        fields.put("rss_caps.rx_hash_function", bits(rss.hashFunctions(), RxHashFunction::code));
        fields.put("max_wq_type_rq", device.maxWorkQueues());
        PacketPacingCapabilities pacing = device.packetPacing();
        fields.put("packet_pacing_caps.qp_rate_limit_min", pacing.minRate());
        fields.put("packet_pacing_caps.qp_rate_limit_max", pacing.maxRate());
        fields.put("packet_pacing_caps.supported_qpts", types(pacing.queuePairTypes()));
        fields.put("raw_packet_caps", bits(device.rawPacketCapabilities(), RawPacketCapability::code));
        TagMatchingCapabilities tags = device.tagMatching();
        fields.put("tm_caps.max_rndv_hdr_size", tags.maxRendezvousHeaderSize());
        fields.put("tm_caps.max_num_tags", tags.maxTags());
        fields.put("tm_caps.flags", bits(tags.transports(), TagMatchingTransport::code));
        fields.put("tm_caps.max_ops", tags.maxOperations());
        fields.put("tm_caps.max_sge", tags.maxSegments());
        CompletionQueueModerationCapabilities moderation = device.completionQueueModeration();
        fields.put("cq_mod_caps.max_cq_count", (long) moderation.maxCount());
        fields.put("cq_mod_caps.max_cq_period", (long) moderation.maxPeriodMicros());
        fields.put("max_dm_size", device.maxDeviceMemory());
        fields.put("pci_atomic_caps.fetch_add", sizes(device.pciAtomics().fetchAdd()));
        fields.put("pci_atomic_caps.swap", sizes(device.pciAtomics().swap()));
        fields.put("pci_atomic_caps.compare_swap", sizes(device.pciAtomics().compareSwap()));
        fields.put("phys_port_cnt_ex", device.physicalPortsExtended());
        return fields;
    }

    private static Map<String, Long> portFields() {
        Map<String, Long> fields = new LinkedHashMap<>();
        fields.put("state", (long) port.state().code());
        fields.put("max_mtu", (long) port.maxMtu().code());
        fields.put("active_mtu", (long) port.activeMtu().code());
        fields.put("gid_tbl_len", (long) port.gidTableLength());
        fields.put("port_cap_flags", Integer.toUnsignedLong(port.capabilityFlags()));
        fields.put("max_msg_sz", port.maxMessageSize());
        fields.put("bad_pkey_cntr", Integer.toUnsignedLong(port.badPkeyCounter()));
        fields.put("qkey_viol_cntr", Integer.toUnsignedLong(port.qkeyViolationCounter()));
        fields.put("pkey_tbl_len", (long) port.pkeyTableLength());
        fields.put("lid", (long) port.lid());
        fields.put("sm_lid", (long) port.subnetManagerLid());
        fields.put("lmc", (long) port.lidMaskControl());
        fields.put("max_vl_num", (long) port.maxVirtualLanes());
        fields.put("sm_sl", (long) port.subnetManagerServiceLevel());
        fields.put("subnet_timeout", (long) port.subnetTimeout());
        fields.put("init_type_reply", (long) port.initTypeReply());
        fields.put("active_width", (long) port.activeWidth());
        fields.put("active_speed", (long) port.activeSpeed());
        fields.put("phys_state", (long) port.physicalState());
        fields.put("link_layer", (long) port.linkLayer().code());
        fields.put("flags", (long) port.flags());
        fields.put("port_cap_flags2", (long) port.capabilityMask2());
        return fields;
    }

    private static void assertSameAsC(String part, Map<String, Long> ours) throws IOException {
        assertEquals(inC(part, ours.keySet()), ours);
    }

    /** The paths of all fields of a structure. */
    private static Set<String> fieldsOf(GroupLayout layout, String prefix) {
        Set<String> fields = new TreeSet<>();
        for (MemoryLayout member : layout.memberLayouts()) {
            if (member.name().isPresent()) {
                String name = prefix + member.name().get();
                if (member instanceof GroupLayout group) {
                    fields.addAll(fieldsOf(group, name + "."));
                } else {
                    fields.add(name);
                }
            }
        }
        return fields;
    }

    @Test
    @Shows("ibv_query_device_ex")
    void shouldReadTheDeviceAsCDoes() throws Exception {
        assertSameAsC("basic", basicFields());
        assertSameAsC("extended", extendedFields());
        assertEquals(Map.of("comp_mask", 0L), inC("mask", List.of("comp_mask")), "no more fields than these");
        assertEquals(inC("firmware"), device.firmwareVersion());
    }

    @Test
    void shouldReadEveryField() {
        Set<String> all = fieldsOf(ibv_device_attr_ex.layout(), "");
        basicFields().keySet().forEach(field -> assertTrue(all.remove("orig_attr." + field), field));
        extendedFields().keySet().forEach(field -> assertTrue(all.remove(field), field));
        assertEquals(Set.of("comp_mask", "orig_attr.fw_ver"), all);
        Set<String> ofPort = fieldsOf(ibv_port_attr.layout(), "");
        portFields().keySet().forEach(field -> assertTrue(ofPort.remove(field), field));
        assertEquals(Set.of("active_speed_ex"), ofPort, "activeSpeed() reads it too");
    }

    @Test
    void shouldGetTheSameBytesAsC() throws Exception {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment bytes = temporary.allocate(ibv_device_attr_ex.layout());
            assertEquals(0, Insides.provider(context).queryDevice(bytes.address()));
            assertEquals(inC("device"), hex(bytes));
            MemorySegment ofPort = temporary.allocate(ibv_port_attr.layout());
            assertEquals(0, Insides.provider(context).queryPort(1, ofPort.address()));
            // The structure of the installed header may be shorter than ours.
            String theirs = inC("port bytes");
            assertEquals(theirs, hex(ofPort).substring(0, theirs.length()));
        }
    }

    private static String hex(MemorySegment bytes) {
        return HexFormat.of().formatHex(bytes.toArray(ValueLayout.JAVA_BYTE));
    }

    @Test
    void shouldNameTheCapabilities() {
        Set<DeviceCapability> capabilities = device.capabilities();
        long low = bits(capabilities, DeviceCapability::code) & 0xffff_ffffL;
        long known = bits(Set.of(DeviceCapability.values()), DeviceCapability::code);
        assertEquals(Integer.toUnsignedLong(device.deviceCapabilityFlags()) & known, low);
        if (LabDevices.areSoftRoce()) {
            assertTrue(capabilities.containsAll(Set.of(
                    DeviceCapability.MEM_WINDOW,
                    DeviceCapability.MEM_WINDOW_TYPE_2B,
                    DeviceCapability.MEM_MGT_EXTENSIONS,
                    DeviceCapability.SRQ_RESIZE)));
            assertTrue(!capabilities.contains(DeviceCapability.XRC), capabilities::toString);
        }
    }

    @Test
    @Shows("ibv_query_port")
    void shouldReadThePortAsCDoes() throws Exception {
        assertSameAsC("port", portFields());
        assertEquals(port.capabilityFlags(), (int) bits(port.capabilities(), PortCapability::code));
        assertEquals(port.capabilityMask2(), (int) bits(port.extendedCapabilities(), ExtendedPortCapability::code));
        assertEquals((port.flags() & 1) != 0, port.grhRequired());
    }

    @Test
    void shouldKnowTheRateOfThePort() throws Exception {
        assertTrue(port.gigabitsPerSecond() > 0);
        assertEquals(port.lanes() * port.gigabitsPerSecondOfLane(), port.gigabitsPerSecond());
        LabDevices.assumeSeenByPrograms("file of /sys");
        String rate = Files.readString(
                Path.of("/sys/class/infiniband", LabDevices.first().name(), "ports/1/rate"));
        Matcher number = Pattern.compile("^([0-9.]+) Gb/sec \\((\\d+)X").matcher(rate);
        assertTrue(number.find(), rate);
        assertEquals(Double.parseDouble(number.group(1)), port.gigabitsPerSecond());
        assertEquals(Integer.parseInt(number.group(2)), port.lanes());
    }

    @Test
    void shouldKnowTheCompletionVectors() throws Exception {
        assertSameAsC("vectors", Map.of("num_comp_vectors", Long.valueOf(context.completionVectors())));
    }

    @Test
    void shouldMakeQueuesOfEveryCompletionVector() {
        assertTrue(context.completionVectors() > 0);
        for (int vector = 0; vector < context.completionVectors(); vector++) {
            CompletionChannel channel = context.createCompletionChannel();
            context.createCompletionQueue(1, channel, vector).close();
        }
    }

    @Test
    @Shows({"ibv_get_device_list", "ibv_free_device_list", "ibv_get_device_name"})
    void shouldListWhatCLists() throws Exception {
        assertEquals(
                inC("names").lines().toList(),
                LabDevices.ofTheKernel().stream().map(Device::name).toList());
    }

    @Test
    @Shows({"ibv_get_device_guid", "ibv_get_device_index", "ibv_open_device", "ibv_close_device"})
    void shouldIdentifyDevicesAsCDoes() throws Exception {
        Device first = LabDevices.first();
        try (VerbsArena own = VerbsArena.ofConfined()) {
            Context opened = Context.open(own, first);
            assertEquals(first.guid(), opened.queryDevice().nodeGuid());
            opened.close();
        }
        assertEquals(
                inC("identity").lines().toList(),
                List.of(Long.toHexString(first.guid()), Integer.toString(first.index())));
        assertEquals("", inC("closing"));
    }
}
