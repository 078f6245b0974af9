package org.rdmapanama.address;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MacAddressTest {
    @Test
    void shouldBelongToAVirtualLanOrToNone() {
        assertFalse(new EthernetAddress(MacAddress.BROADCAST, -1).hasVlan());
        assertTrue(new EthernetAddress(MacAddress.BROADCAST, 4095).hasVlan());
        assertThrows(NullPointerException.class, () -> new EthernetAddress(null, 1));
        for (int vlan : new int[] {-2, 4096}) {
            assertThrows(IllegalArgumentException.class, () -> new EthernetAddress(MacAddress.BROADCAST, vlan));
        }
    }

    @Test
    void shouldBeTextBytesAndANumber() {
        MacAddress address = MacAddress.parse("66:11:22:33:44:f5");
        assertEquals(0x6611_2233_44f5L, address.bits());
        assertEquals("66:11:22:33:44:f5", address.toString());
        assertArrayEquals(new byte[] {0x66, 0x11, 0x22, 0x33, 0x44, (byte) 0xf5}, address.toBytes());
        assertEquals(address, MacAddress.of(address.toBytes()));
        assertEquals("00:00:00:00:00:01", new MacAddress(1).toString());
        assertEquals("ff:ff:ff:ff:ff:ff", MacAddress.BROADCAST.toString());
    }

    @Test
    void shouldKnowGroups() {
        assertTrue(MacAddress.BROADCAST.isMulticast());
        assertTrue(MacAddress.parse("01:00:5e:00:00:01").isMulticast());
        assertFalse(MacAddress.parse("66:11:22:33:44:55").isMulticast());
    }

    @Test
    void shouldRefuseWhatIsNone() {
        assertThrows(IllegalArgumentException.class, () -> new MacAddress(1L << 48));
        assertThrows(IllegalArgumentException.class, () -> new MacAddress(-1));
        assertThrows(IllegalArgumentException.class, () -> MacAddress.of(new byte[5]));
        for (String text : new String[] {"", "66:11:22:33:44", "66-11-22-33-44-55", "66:11:22:33:44:5g"}) {
            assertThrows(IllegalArgumentException.class, () -> MacAddress.parse(text));
        }
    }
}
