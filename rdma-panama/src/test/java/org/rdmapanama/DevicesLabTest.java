package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.address.GidType;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.device.LinkLayer;
import org.rdmapanama.device.NodeType;
import org.rdmapanama.device.PortAttributes;
import org.rdmapanama.device.PortState;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Commands;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.DummyDevice;
import org.rdmapanama.testing.LabDevices;

/** What devices say of themselves, compared with what ibv_devinfo says of them. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DevicesLabTest {
    private static final Duration LONG = Duration.ofSeconds(10);

    private static VerbsArena arena;
    private static Context context;
    private static String devinfo;

    @BeforeAll
    static void open() {
        arena = VerbsArena.ofShared();
        context = Context.open(arena, LabDevices.first());
    }

    /** Skips the test where there is no such program that could say something. */
    private static String devinfo() {
        LabDevices.assumeSeenByPrograms("ibv_devinfo to compare it with");
        try {
            if (devinfo == null) {
                devinfo = Commands.run("ibv_devinfo", "-v", "-d", context.deviceName());
            }
            return devinfo;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @AfterAll
    static void close() {
        if (arena != null) {
            arena.close();
        }
    }

    /** The value behind a name, without what it stands for in parentheses. */
    private static String infoText(String field) {
        Matcher line = Pattern.compile("(?m)^\\s*" + field + ":\\s*(.*?)\\s*$").matcher(devinfo());
        assertTrue(line.find(), () -> "ibv_devinfo says nothing of " + field + ": " + devinfo);
        return line.group(1);
    }

    private static long infoNumber(String field) {
        Matcher number = Pattern.compile("^(0x[0-9a-fA-F]+|\\d+)").matcher(infoText(field));
        assertTrue(number.find(), () -> field + " is no number: " + infoText(field));
        String digits = number.group(1);
        return digits.startsWith("0x") ? Long.parseUnsignedLong(digits.substring(2), 16) : Long.parseLong(digits);
    }

    /** The number in parentheses behind its name. */
    private static int infoCode(String field) {
        Matcher code = Pattern.compile("\\((\\d+)\\)$").matcher(infoText(field));
        assertTrue(code.find(), () -> field + " has no code: " + infoText(field));
        return Integer.parseInt(code.group(1));
    }

    @Test
    void shouldListDevices() throws Exception {
        LabDevices.assumeSeenByPrograms("ibv_devinfo to compare it with");
        String list = Commands.run("ibv_devinfo", "-l");
        List<Device> devices = LabDevices.ofTheKernel();
        assertFalse(devices.isEmpty());
        for (Device device : devices) {
            assertTrue(
                    Pattern.compile("(?m)^\\s*" + device.name() + "\\s*$")
                            .matcher(list)
                            .find(),
                    list);
        }
        assertTrue(list.contains(devices.size() + " HCA"), list);
    }

    @Test
    void shouldDescribeADeviceBeforeItIsOpened() {
        Device device = LabDevices.first();
        assertEquals(NodeType.CA, device.nodeType());
        assertEquals(TransportType.IB, device.transportType());
        assertEquals(LabDevices.areNative(), device.index() >= 0);
        assertEquals(device.name(), device.toString());
        assertEquals(device.guid(), context.queryDevice().nodeGuid());
    }

    @Test
    void shouldKnowTheGuidBeforeItIsOpened() {
        String guid = infoText("node_guid").replace(":", "");
        assertEquals(Long.parseUnsignedLong(guid, 16), LabDevices.first().guid());
    }

    @Test
    void shouldKnowItsDriver() {
        if (LabDevices.areSoftRoce()) {
            assertEquals("rxe", context.driverName());
        }
        assertNotEquals("unknown", context.driverName());
    }

    @Test
    void shouldQueryDeviceAttributes() {
        DeviceAttributes device = context.queryDevice();
        assertEquals(infoText("fw_ver"), device.firmwareVersion());
        assertEquals(infoNumber("vendor_id"), device.vendorId());
        assertEquals(infoNumber("vendor_part_id"), device.vendorPartId());
        assertEquals(infoNumber("hw_ver"), device.hardwareVersion());
        assertEquals(infoNumber("phys_port_cnt"), device.physicalPorts());
        assertEquals(infoNumber("max_mr_size"), device.maxMemoryRegionSize());
        assertEquals(infoNumber("page_size_cap"), device.pageSizes());
        assertEquals(infoNumber("max_qp"), device.maxQueuePairs());
        assertEquals(infoNumber("max_qp_wr"), device.maxWorkRequests());
        assertEquals(infoNumber("device_cap_flags"), Integer.toUnsignedLong(device.deviceCapabilityFlags()));
        assertEquals(infoNumber("max_sge"), device.maxSegments());
        assertEquals(infoNumber("max_sge_rd"), device.maxReadSegments());
        assertEquals(infoNumber("max_cq"), device.maxCompletionQueues());
        assertEquals(infoNumber("max_cqe"), device.maxCompletionQueueEntries());
        assertEquals(infoNumber("max_mr"), device.maxMemoryRegions());
        assertEquals(infoNumber("max_pd"), device.maxProtectionDomains());
        assertEquals(infoNumber("max_ah"), device.maxAddressHandles());
        assertEquals(infoNumber("max_srq"), device.maxSharedReceiveQueues());
        assertEquals(infoNumber("max_pkeys"), device.maxPartitions());
        assertEquals(infoNumber("local_ca_ack_delay"), device.localAckDelay());
        assertEquals(infoCode("atomic_cap"), device.atomicCapability().code());
    }

    @Test
    void shouldQueryMulticastAndAtomicLimits() {
        DeviceAttributes device = context.queryDevice();
        assertEquals(infoNumber("max_qp_rd_atom"), device.maxReadAtomicAsTarget());
        assertEquals(infoNumber("max_res_rd_atom"), device.maxReadAtomicResources());
        assertEquals(infoNumber("max_qp_init_rd_atom"), device.maxReadAtomicAsInitiator());
        assertEquals(infoNumber("max_mw"), device.maxMemoryWindows());
        assertEquals(infoNumber("max_mcast_grp"), device.maxMulticastGroups());
        assertEquals(infoNumber("max_mcast_qp_attach"), device.maxMulticastQueuePairs());
        assertEquals(infoNumber("max_total_mcast_qp_attach"), device.maxTotalMulticastQueuePairs());
        assertEquals(infoNumber("max_srq_wr"), device.maxSharedReceiveWorkRequests());
        assertEquals(infoNumber("max_srq_sge"), device.maxSharedReceiveSegments());
        assertEquals(infoNumber("device_cap_flags_ex"), device.extendedCapabilityFlags());
    }

    @Test
    void shouldHaveAPortThatIsUp() {
        PortAttributes port = context.queryPort(1);
        assertEquals(1, port.port());
        assertEquals(PortState.ACTIVE, port.state());
        assertTrue(port.isUp());
    }

    @Test
    void shouldQueryPorts() {
        PortAttributes port = context.queryPort(1);
        assertEquals(infoCode("state"), port.state().code());
        assertEquals(infoNumber("max_mtu"), port.maxMtu().bytes());
        assertEquals(infoNumber("active_mtu"), port.activeMtu().bytes());
        assertEquals(infoNumber("port_lid"), port.lid());
        assertEquals(infoNumber("max_msg_sz"), port.maxMessageSize());
        assertEquals(infoNumber("gid_tbl_len"), port.gidTableLength());
        assertEquals(infoNumber("pkey_tbl_len"), port.pkeyTableLength());
        assertEquals(infoNumber("port_cap_flags"), Integer.toUnsignedLong(port.capabilityFlags()));
        assertEquals(infoCode("active_width"), port.activeWidth());
        assertEquals(infoCode("active_speed"), port.activeSpeed());
        assertEquals(infoCode("phys_state"), port.physicalState());
        assertEquals(infoText("link_layer").equals("Ethernet"), port.linkLayer() == LinkLayer.ETHERNET);
    }

    @Test
    void shouldReadTheGidTable() {
        List<GidEntry> table = context.queryGidTable();
        assertFalse(table.isEmpty());
        for (GidEntry entry : table) {
            assertEquals(entry, context.gid(entry.port(), entry.index()));
        }
    }

    @Test
    void shouldFindAllPlacesOfTheGidTableThatAreFilled() {
        long filled =
                Pattern.compile("(?m)^\\s*GID\\[").matcher(devinfo()).results().count();
        assertEquals(filled, context.queryGidTable().size());
    }

    @Test
    void shouldKnowTheAddressesOfTheLab() throws Exception {
        LabDevices.assumeSoftRoce("its addresses are not known");
        List<GidEntry> table = context.queryGidTable();
        assertEquals(List.of(0, 1), table.stream().map(GidEntry::index).toList());
        assertTrue(table.stream().allMatch(entry -> entry.type() == GidType.ROCE_V2 && entry.port() == 1));
        assertTrue(table.get(0).gid().isLinkLocal());
        assertEquals(InetAddress.getByName("10.77.0.1"), table.get(1).gid().toInetAddress());
        int netDevice = Integer.parseInt(
                Files.readString(Path.of("/sys/class/net/veth0/ifindex")).strip());
        assertEquals(netDevice, table.get(1).netDeviceIndex());
        assertEquals(table.get(1), context.preferredGid(1).orElseThrow());
    }

    @Test
    void shouldPreferTheIpv4Address() {
        GidEntry preferred = context.preferredGid(1).orElseThrow();
        if (context.queryPort(1).linkLayer() == LinkLayer.ETHERNET) {
            assertEquals(GidType.ROCE_V2, preferred.type());
            assertTrue(preferred.gid().isIpv4Mapped());
        }
        assertEquals(Optional.empty(), context.preferredGid(9), "a port that is not there");
    }

    @Test
    void shouldReadThePartitionKeys() {
        assertEquals(0xffff, context.pkey(1, 0), "the default partition");
        int length = context.queryPort(1).pkeyTableLength();
        for (int index : new int[] {-1, length, 0xffff, Integer.MAX_VALUE}) {
            assertThrows(IndexOutOfBoundsException.class, () -> context.pkey(1, index));
        }
    }

    @Test
    void shouldWaitForEventsNoLongerThanAsked() throws Exception {
        assertEquals(Optional.empty(), context.awaitAsyncEvent(Duration.ZERO));
        long start = System.nanoTime();
        assertEquals(Optional.empty(), context.awaitAsyncEvent(Duration.ofMillis(200)));
        Duration waited = Duration.ofNanos(System.nanoTime() - start);
        assertTrue(waited.toMillis() >= 200 && waited.toSeconds() < 10, waited::toString);
    }

    @Test
    void shouldTellWhenAPortGoesDownAndUp() throws Exception {
        try (DummyDevice dummy = DummyDevice.add();
                VerbsArena own = VerbsArena.ofConfined()) {
            Context dummyContext = Context.open(own, dummy.device());
            dummy.down();
            AsyncEvent down = awaitEvent(dummyContext, AsyncEventType.PORT_ERR);
            assertEquals(1, down.port());
            assertEquals(PortState.DOWN, dummyContext.queryPort(1).state());
            dummy.up();
            assertEquals(1, awaitEvent(dummyContext, AsyncEventType.PORT_ACTIVE).port());
            assertEquals(PortState.ACTIVE, dummyContext.queryPort(1).state());
        }
    }

    @Test
    void shouldTellWhenAnAddressIsAdded() throws Exception {
        try (DummyDevice dummy = DummyDevice.add();
                VerbsArena own = VerbsArena.ofConfined()) {
            Context dummyContext = Context.open(own, dummy.device());
            Gid added = Gid.of(InetAddress.getByName("10.79.0.1"));
            assertFalse(hasGid(dummyContext, added));
            dummy.addAddress("10.79.0.1/24");
            assertEquals(1, awaitEvent(dummyContext, AsyncEventType.GID_CHANGE).port());
            // An earlier event, of the link-local address, may have been taken for this one.
            Bound.of(LONG).await("the table never had the address", () -> hasGid(dummyContext, added));
        }
    }

    private static boolean hasGid(Context device, Gid gid) {
        return device.queryGidTable().stream().anyMatch(entry -> entry.gid().equals(gid));
    }

    /** Waits for an event of a type; others may come before it. */
    private static AsyncEvent awaitEvent(Context device, AsyncEventType type) throws InterruptedException {
        List<AsyncEvent> others = new ArrayList<>();
        Bound bound = Bound.of(LONG);
        while (!bound.isOver()) {
            Optional<AsyncEvent> event = device.awaitAsyncEvent(LONG);
            if (event.isPresent() && event.get().type() == type) {
                return event.get();
            }
            event.ifPresent(others::add);
        }
        throw new AssertionError("no " + type + ", only " + others);
    }

    @Test
    void shouldTellWhenACompletionQueueOverruns() throws Exception {
        LabDevices.assumeOurs("drivers differ in what they do with a queue that overruns");
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).queueEntries(1).open()) {
            for (int i = 0; i < 10; i++) {
                pair.a.queuePair.postSend(pair.writeToB(i, 0, 8));
            }
            AsyncEvent event = awaitEvent(pair.a.context, AsyncEventType.CQ_ERR);
            assertEquals(pair.a.queue, event.source());
            assertEquals(0, event.port());
        }
    }
}
