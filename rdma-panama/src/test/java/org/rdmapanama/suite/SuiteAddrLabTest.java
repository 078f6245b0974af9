package org.rdmapanama.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.device.LinkLayer;
import org.rdmapanama.device.PortAttributes;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.testing.LabDevices;

/** The cases of the class AHTest of rdma-core's own suite, file test_addr.py. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteAddrLabTest {
    private VerbsArena arena;
    private Context context;
    private ProtectionDomain domain;

    @BeforeEach
    void open() {
        // Each test runs in a thread of its own.
        arena = VerbsArena.ofShared();
        context = Context.open(arena, LabDevices.first());
        domain = context.allocateProtectionDomain();
    }

    @AfterEach
    void close() {
        arena.close();
    }

    /** To itself, as the suite's global route is. */
    private AddressVector toItself(GidEntry own) {
        PortAttributes port = context.queryPort(1);
        assertTrue(port.isUp());
        AddressVector way = AddressVector.toGid(1, own.index(), own.gid());
        return port.linkLayer() == LinkLayer.INFINIBAND
                ? new AddressVector(1, port.lid(), true, own.gid(), own.index(), 64, 0, 0, 0)
                : way;
    }

    @Test
    @Shows({"ibv_create_ah"})
    void test_create_ah() {
        for (GidEntry own : context.queryGidTable()) {
            AddressVector way = toItself(own);
            AddressHandle handle = domain.createAddressHandle(way);
            assertEquals(way, handle.path());
            assertTrue(handle.nativeAddress() != 0);
        }
    }

    @Test
    @Shows({"ibv_create_ah"})
    void test_create_ah_roce() {
        LabDevices.assumeHas(context.queryPort(1).linkLayer() == LinkLayer.ETHERNET, "Ethernet ports");
        AddressVector withoutHeader = AddressVector.toLid(1, 0);
        VerbsException refused = assertThrows(VerbsException.class, () -> domain.createAddressHandle(withoutHeader));
        assertEquals("ibv_create_ah", refused.verb());
        assertEquals("EINVAL", refused.errnoName());
    }

    @Test
    @Shows({"ibv_destroy_ah"})
    void test_destroy_ah() {
        AddressHandle handle =
                domain.createAddressHandle(toItself(context.preferredGid(1).orElseThrow()));
        handle.close();
        assertFalse(handle.isOpen());
        handle.close();
        assertThrows(IllegalStateException.class, handle::nativeAddress);
    }
}
