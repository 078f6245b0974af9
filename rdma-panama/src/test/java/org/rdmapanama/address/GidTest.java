package org.rdmapanama.address;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.internal.AddressStructs;

class GidTest {
    private static final Gid IPV4 = new Gid(0, 0xffff_0a4d_0001L);
    private static final Gid LINK_LOCAL = new Gid(0xfe80_0000_0000_0000L, 0x0000_0aff_fe4d_0001L);

    @Test
    void shouldMapIpv4Addresses() throws UnknownHostException {
        assertEquals(IPV4, Gid.of(InetAddress.getByName("10.77.0.1")));
        // The first byte is above 127, which must not spread into the bytes before it.
        assertEquals(new Gid(0, 0xffff_c0a8_01feL), Gid.of(InetAddress.getByName("192.168.1.254")));
        assertEquals(InetAddress.getByName("192.168.1.254"), new Gid(0, 0xffff_c0a8_01feL).toInetAddress());
    }

    @Test
    void shouldTakeIpv6Addresses() throws UnknownHostException {
        InetAddress address = InetAddress.getByName("2001:db8::ff:fe00:1");
        Gid gid = Gid.of(address);
        assertEquals(new Gid(0x2001_0db8_0000_0000L, 0x0000_00ff_fe00_0001L), gid);
        assertEquals(address, gid.toInetAddress());
    }

    @Test
    void shouldKnowKindsOfAddresses() {
        assertTrue(IPV4.isIpv4Mapped());
        assertFalse(IPV4.isLinkLocal());
        assertTrue(LINK_LOCAL.isLinkLocal());
        assertFalse(LINK_LOCAL.isIpv4Mapped());
        assertTrue(new Gid(0xfebf_ffff_ffff_ffffL, 1).isLinkLocal(), "the last of fe80::/10");
        assertFalse(new Gid(0xfec0_0000_0000_0000L, 1).isLinkLocal(), "the first behind fe80::/10");
        assertFalse(new Gid(1, 0xffff_0a4d_0001L).isIpv4Mapped());
        assertTrue(Gid.ZERO.isZero());
        assertFalse(new Gid(0, 1).isZero());
        assertFalse(new Gid(1, 0).isZero());
    }

    @Test
    void shouldWriteText() {
        assertEquals("0000:0000:0000:0000:0000:ffff:0a4d:0001", IPV4.toString());
        assertEquals("00000000000000000000ffff0a4d0001", IPV4.toHex());
        assertEquals("fe80:0000:0000:0000:0000:0aff:fe4d:0001", LINK_LOCAL.toString());
    }

    @Test
    void shouldReadItsOwnText() {
        for (Gid gid : new Gid[] {IPV4, LINK_LOCAL, Gid.ZERO, new Gid(-1, -1)}) {
            assertEquals(gid, Gid.parse(gid.toString()));
            assertEquals(gid, Gid.parse(gid.toHex()));
            assertEquals(gid, Gid.parse(gid.toHex().toUpperCase(Locale.ROOT)));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "fe80::1",
                "0000000000000000000000000000000",
                "000000000000000000000000000000000",
                "0000000000000000000000000000000g",
                "::ffff:10.77.0.1",
                " 00000000000000000000ffff0a4d0001",
                // Digits of other scripts are digits for Character, but not here.
                "\u0660\u0660\u0660\u0660000000000000000000000000000000",
                ":::::::00000000000000000000ffff0a4d0001"
            })
    void shouldRefuseOtherText(String text) {
        IllegalArgumentException exception = assertThrows(IllegalArgumentException.class, () -> Gid.parse(text));
        assertTrue(exception.getMessage().contains("'" + text + "'"), exception::getMessage);
    }

    @Test
    void shouldConvertToBytesAndBack() {
        byte[] bytes = {(byte) 0xfe, (byte) 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0x0a, (byte) 0xff, (byte) 0xfe, 0x4d, 0, 1};
        assertEquals(LINK_LOCAL, Gid.of(bytes));
        assertArrayEquals(bytes, LINK_LOCAL.toBytes());
        assertThrows(IllegalArgumentException.class, () -> Gid.of(new byte[15]));
        assertThrows(IllegalArgumentException.class, () -> Gid.of(new byte[17]));
    }

    @Test
    void shouldGoThroughNativeMemoryInNetworkOrder() {
        MemorySegment segment = MemorySegment.ofArray(new byte[20]);
        AddressStructs.writeGid(LINK_LOCAL, segment, 3);
        assertArrayEquals(LINK_LOCAL.toBytes(), segment.asSlice(3, 16).toArray(ValueLayout.JAVA_BYTE));
        assertEquals(LINK_LOCAL, AddressStructs.readGid(segment, 3));
    }

    @Test
    void shouldKnowGroups() throws UnknownHostException {
        for (String group : new String[] {"ff02::1", "ff0e::42", "224.0.0.1", "239.255.255.255"}) {
            assertTrue(Gid.of(InetAddress.getByName(group)).isMulticast(), group);
        }
        for (String single : new String[] {"fe80::1", "10.77.0.1", "223.255.255.255", "240.0.0.1", "::e000:1", "::"}) {
            assertFalse(Gid.of(InetAddress.getByName(single)).isMulticast(), single);
        }
    }
}
