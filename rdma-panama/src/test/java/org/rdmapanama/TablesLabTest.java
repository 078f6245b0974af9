package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.address.GidType;
import org.rdmapanama.device.RawClock;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.verbs.ibv_values_ex;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.LabDevices;

/** The tables of a port, place by place, and the clock of a device. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TablesLabTest {
    private static VerbsArena arena;
    private static Context context;

    @BeforeAll
    static void open() {
        arena = VerbsArena.ofShared();
        context = Context.open(arena, LabDevices.first());
    }

    @AfterAll
    static void close() {
        if (arena != null) {
            arena.close();
        }
    }

    private static int emptyPlace() {
        int length = context.queryPort(1).gidTableLength();
        for (int index = 0; index < length; index++) {
            int place = index;
            if (context.queryGidTable().stream().noneMatch(entry -> entry.port() == 1 && entry.index() == place)) {
                return index;
            }
        }
        LabDevices.assumeHas(false, "an empty place in its GID table");
        return -1;
    }

    @Test
    @Shows({"ibv_query_gid", "ibv_query_gid_table"})
    void shouldReadOneGid() {
        assertFalse(context.queryGidTable().isEmpty());
        for (GidEntry entry : context.queryGidTable()) {
            Gid gid = context.queryGid(entry.port(), entry.index()).orElseThrow();
            assertEquals(entry.gid(), gid);
        }
        assertEquals(Optional.empty(), context.queryGid(1, emptyPlace()));
    }

    @Test
    void shouldReadTheGidsThatTheKernelTells() throws Exception {
        LabDevices.assumeSeenByPrograms("file of /sys");
        for (GidEntry entry : context.queryGidTable()) {
            Gid gid = context.queryGid(entry.port(), entry.index()).orElseThrow();
            String inSysfs = Files.readString(Path.of(
                    "/sys/class/infiniband", context.deviceName(), "ports/" + entry.port() + "/gids/" + entry.index()));
            assertEquals(
                    inSysfs.strip().replace(":", ""), "%016x%016x".formatted(gid.subnetPrefix(), gid.interfaceId()));
        }
    }

    @Test
    @Shows("ibv_query_gid_ex")
    void shouldReadOneEntryOfTheGidTable() {
        for (GidEntry entry : context.queryGidTable()) {
            assertEquals(Optional.of(entry), context.queryGidEntry(entry.port(), entry.index()));
        }
        assertEquals(Optional.empty(), context.queryGidEntry(1, emptyPlace()));
    }

    @Test
    void shouldRefusePlacesThatATableDoesNotHave() {
        int length = context.queryPort(1).gidTableLength();
        for (int index : new int[] {-1, length, Integer.MAX_VALUE}) {
            String message = assertThrows(IndexOutOfBoundsException.class, () -> context.queryGid(1, index))
                    .getMessage();
            assertTrue(message.contains("below " + length + ": " + index), message);
            assertThrows(IndexOutOfBoundsException.class, () -> context.queryGidEntry(1, index));
        }
        for (int port : new int[] {0, 9}) {
            assertThrows(IllegalArgumentException.class, () -> context.queryGid(port, 0));
            assertThrows(IllegalArgumentException.class, () -> context.queryGidEntry(port, 0));
            assertThrows(IllegalArgumentException.class, () -> context.pkeyIndex(port, 0xffff));
            assertThrows(IllegalArgumentException.class, () -> context.pkey(port, 0));
            String message = assertThrows(IllegalArgumentException.class, () -> context.gid(port, 0))
                    .getMessage();
            assertTrue(message.endsWith(": " + port), message);
        }
        assertThrows(IllegalArgumentException.class, () -> context.pkeyIndex(1, 0x1_0000));
        assertThrows(IllegalArgumentException.class, () -> context.pkeyIndex(1, -1));
    }

    @Test
    void shouldNameTheNetworkDeviceBehindAnAddress() throws Exception {
        for (GidEntry entry : context.queryGidTable()) {
            Optional<String> name = entry.netDeviceName();
            assertEquals(entry.netDeviceIndex() != 0, name.isPresent());
            if (name.isPresent()) {
                Path index = Path.of("/sys/class/net", name.get(), "ifindex");
                assertEquals(
                        entry.netDeviceIndex(),
                        Integer.parseInt(Files.readString(index).strip()));
            }
        }
        if (LabDevices.areSoftRoce()) {
            assertEquals(Optional.of("veth0"), context.gid(1, 1).netDeviceName());
        }
        assertEquals(Optional.empty(), new GidEntry(1, 0, Gid.ZERO, GidType.IB, 0).netDeviceName());
        assertEquals(Optional.empty(), new GidEntry(1, 0, Gid.ZERO, GidType.IB, 1 << 30).netDeviceName());
    }

    @Test
    @Shows({"ibv_get_pkey_index", "ibv_query_pkey"})
    void shouldFindPartitionKeys() {
        int key = context.pkey(1, 0);
        assertNotEquals(0, key);
        assertEquals(OptionalInt.of(0), context.pkeyIndex(1, key));
        assertEquals(OptionalInt.empty(), context.pkeyIndex(1, 0x1234));
    }

    @Test
    void shouldReadTheClockOfADeviceThatHasOne() throws Exception {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        try (VerbsArena own = VerbsArena.ofConfined()) {
            Context recorded = Context.open(own, LabDevices.first(), () -> recording);
            recording.keepBytes("queryRealTime", ibv_values_ex.sizeof());
            Unsupported.verb("ibv_query_rt_values_ex", recorded::realTimeClock);
            CStructs.assertSame(
                    "struct ibv_values_ex x; memset(&x, 0, sizeof x); x.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;",
                    recording.bytesOf("queryRealTime"));
        }
    }

    @Test
    void shouldTakeWhatADriverPutsIntoTheClock() {
        assertEquals(-1L, new RawClock(0, -1).ticks());
        assertThrows(IllegalStateException.class, () -> new RawClock(1, 2).ticks());
    }
}
