package org.rdmapanama.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.Insides;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.device.DeviceCapability;
import org.rdmapanama.device.LinkLayer;
import org.rdmapanama.device.NodeType;
import org.rdmapanama.device.PortAttributes;
import org.rdmapanama.device.PortState;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.testing.LabDevices;

/** Cases of rdma-core's own suite: test_device.py, class DeviceTest. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteDeviceLabTest {
    private static final long PAGE_SIZE = 4096;

    @FunctionalInterface
    private interface Check {
        void of(Device device, Context context) throws Exception;
    }

    /** The devices of the tests, opened one after another. */
    private static void forEachDevice(Check check) throws Exception {
        for (Device device : List.of(LabDevices.first(), LabDevices.second())) {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                check.of(device, Context.open(arena, device));
            }
        }
    }

    private static void assertPlausible(DeviceAttributes attributes, Device device) {
        if (device.nodeType() != NodeType.UNSPECIFIED && device.nodeType() != NodeType.UNKNOWN) {
            assertNotEquals(0, attributes.nodeGuid());
            assertNotEquals(0, attributes.systemImageGuid());
            assertEquals(device.guid(), attributes.nodeGuid());
        }
        assertTrue(Long.compareUnsigned(attributes.maxMemoryRegionSize(), PAGE_SIZE) > 0);
        assertTrue(Long.compareUnsigned(attributes.pageSizes(), PAGE_SIZE) >= 0);
        assertNotEquals(0, attributes.vendorId());
        assertTrue(attributes.maxQueuePairs() > 0);
        assertTrue(attributes.maxWorkRequests() > 0);
        assertTrue(attributes.maxSegments() > 0);
        assertTrue(attributes.maxReadSegments() >= 0);
        assertTrue(attributes.maxCompletionQueues() > 0);
        assertTrue(attributes.maxCompletionQueueEntries() > 0);
        assertTrue(attributes.maxMemoryRegions() > 0);
        assertTrue(attributes.maxProtectionDomains() > 0);
        if (device.nodeType() == NodeType.CA) {
            assertTrue(attributes.maxPartitions() > 0);
        }
    }

    @Test
    @Shows({"ibv_get_device_list", "ibv_free_device_list"})
    void test_dev_list() {
        Set<String> names = DeviceList.query().stream().map(Device::name).collect(Collectors.toSet());
        assertTrue(names.contains(LabDevices.first().name()), names::toString);
        assertTrue(names.contains(LabDevices.second().name()), names::toString);
    }

    @Test
    @Shows({"ibv_open_device", "ibv_close_device"})
    void test_open_dev() throws Exception {
        forEachDevice((device, context) -> {
            assertTrue(context.isOpen());
            assertEquals(device.name(), context.deviceName());
            assertNotEquals(0, context.nativeAddress());
            context.close();
            assertFalse(context.isOpen());
        });
    }

    @Test
    void test_query_device() throws Exception {
        // Soft-RoCE's driver knows the extended verb, so that is called; PlainQueryLabTest calls the plain one.
        forEachDevice((device, context) -> assertPlausible(context.queryDevice(), device));
    }

    @Test
    @Shows("ibv_query_device_ex")
    void test_query_device_ex() throws Exception {
        forEachDevice((device, context) -> {
            DeviceAttributes attributes = context.queryDevice();
            assertPlausible(attributes, device);
            assertEquals(
                    attributes.capabilities().contains(DeviceCapability.XRC),
                    (attributes.deviceCapabilityFlags() & 1 << 20) != 0);
            assertNotNull(attributes.onDemandPaging());
        });
    }

    @Test
    @Shows("ibv_query_device_ex")
    void test_phys_port_cnt_ex() throws Exception {
        forEachDevice((device, context) -> {
            DeviceAttributes attributes = context.queryDevice();
            long extended = attributes.physicalPortsExtended();
            assertEquals(Math.min(extended, 255), attributes.physicalPorts());
        });
    }

    @Test
    @Shows("ibv_query_pkey")
    void test_query_pkey() throws Exception {
        forEachDevice((device, context) -> {
            if (device.nodeType() == NodeType.CA) {
                assertEquals(expectedPkey(device, 0), context.pkey(1, 0));
            }
        });
    }

    /** As the kernel tells, or, of a device that is in this process only, the one that RoCE has. */
    private static int expectedPkey(Device device, int index) throws Exception {
        if (!LabDevices.isNative(device)) {
            return 0xffff;
        }
        Path file = Path.of("/sys/class/infiniband", device.name(), "ports/1/pkeys/" + index);
        return Integer.decode(Files.readString(file).strip());
    }

    @Test
    @Shows("ibv_get_pkey_index")
    void test_get_pkey_index() throws Exception {
        forEachDevice((device, context) -> {
            if (device.nodeType() == NodeType.CA) {
                assertEquals(0, context.pkeyIndex(1, expectedPkey(device, 0)).orElseThrow());
            }
        });
    }

    @Test
    @Shows("ibv_query_gid")
    void test_query_gid() throws Exception {
        forEachDevice((device, context) -> {
            if (context.queryPort(1).gidTableLength() > 0) {
                GidEntry inTable = context.queryGidTable().stream()
                        .filter(entry -> entry.port() == 1 && entry.index() == 0)
                        .findFirst()
                        .orElseThrow();
                assertEquals(Optional.of(inTable.gid()), context.queryGid(1, 0));
            }
        });
    }

    @Test
    @Shows("ibv_query_gid_table")
    void test_query_gid_table() throws Exception {
        forEachDevice((device, context) -> {
            List<GidEntry> table = context.queryGidTable();
            assertFalse(table.isEmpty());
            for (GidEntry entry : table) {
                assertNotEquals(Gid.ZERO, entry.gid());
                assertTrue(entry.index() < context.queryPort(entry.port()).gidTableLength());
            }
        });
    }

    /** The object model makes the buffer itself and large enough; the line below it reports one that is not. */
    @Test
    @Shows("ibv_query_gid_table")
    void test_query_gid_table_bad_flow() throws Exception {
        forEachDevice((device, context) -> {
            try (Arena temporary = Arena.ofConfined()) {
                MemorySegment entry = temporary.allocate(ibv_gid_entry.layout());
                assertEquals(-Errno.EINVAL, Insides.provider(context).queryGidTable(entry.address(), 0));
            }
        });
    }

    @Test
    @Shows("ibv_query_gid_ex")
    void test_query_gid_ex() throws Exception {
        forEachDevice((device, context) -> {
            GidEntry entry = context.queryGidEntry(1, 0).orElseThrow();
            assertTrue(context.queryGidTable().contains(entry), entry::toString);
            assertEquals(1, entry.port());
            assertEquals(0, entry.index());
        });
    }

    @Test
    @Shows("ibv_query_gid_ex")
    void test_query_gid_ex_bad_flow() throws Exception {
        forEachDevice((device, context) -> {
            Set<Integer> filled = context.queryGidTable().stream()
                    .filter(entry -> entry.port() == 1)
                    .map(GidEntry::index)
                    .collect(Collectors.toSet());
            int empty = IntStream.range(0, context.queryPort(1).gidTableLength())
                    .filter(index -> !filled.contains(index))
                    .findFirst()
                    .orElse(-1);
            LabDevices.assumeHas(empty >= 0, "an empty place in its GID table");
            assertEquals(Optional.empty(), context.queryGidEntry(1, empty));
            try (Arena temporary = Arena.ofConfined()) {
                MemorySegment entry = temporary.allocate(ibv_gid_entry.layout());
                assertEquals(-Errno.ENODATA, Insides.provider(context).queryGidEx(1, empty, entry.address()));
            }
        });
    }

    @Test
    @Shows("ibv_query_port")
    void test_query_port() throws Exception {
        forEachDevice((device, context) -> {
            PortAttributes port = context.queryPort(1);
            assertNotEquals(PortState.NOP, port.state());
            assertNotNull(port.maxMtu());
            assertNotNull(port.activeMtu());
            assertTrue(port.lanes() > 0);
            assertTrue(port.gigabitsPerSecondOfLane() > 0);
            assertNotEquals(LinkLayer.UNSPECIFIED, port.linkLayer());
            assertTrue(port.maxMessageSize() > 0x1000);
        });
    }

    @Test
    @Shows("ibv_query_port")
    void test_query_port_bad_flow() throws Exception {
        forEachDevice((device, context) -> {
            int ports = context.queryDevice().physicalPorts();
            for (int beyond = 1; beyond <= 10; beyond++) {
                int port = ports + beyond;
                String message = assertThrows(IllegalArgumentException.class, () -> context.queryPort(port))
                        .getMessage();
                assertTrue(message.contains("must be between 1 and " + ports + ": " + port), message);
            }
        });
    }
}
