package org.rdmapanama.ffm.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.ffm.verbs.sockaddr_storage;

class SocketAddressesTest {
    private static InetSocketAddress address(String host, int port) throws UnknownHostException {
        return new InetSocketAddress(InetAddress.getByName(host), port);
    }

    private static byte[] start(MemorySegment struct, int bytes) {
        return struct.asSlice(0, bytes).toArray(ValueLayout.JAVA_BYTE);
    }

    @Test
    void shouldWriteIpv4AsCDoes() throws UnknownHostException {
        try (Arena arena = Arena.ofConfined()) {
            InetSocketAddress address = address("192.0.2.7", 0x1234);
            MemorySegment struct = SocketAddresses.write(arena, address);
            byte[] expected = {2, 0, 0x12, 0x34, (byte) 192, 0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0};
            assertEquals(expected.length, SocketAddresses.length(address));
            assertArrayEquals(expected, start(struct, expected.length));
        }
    }

    @Test
    void shouldWriteIpv6AsCDoes() throws UnknownHostException {
        try (Arena arena = Arena.ofConfined()) {
            InetSocketAddress address =
                    new InetSocketAddress(Inet6Address.getByAddress(null, bytes("fe80::102"), 3), 0xfedc);
            MemorySegment struct = SocketAddresses.write(arena, address);
            byte[] expected = new byte[28];
            expected[0] = 10;
            expected[2] = (byte) 0xfe;
            expected[3] = (byte) 0xdc;
            expected[8] = (byte) 0xfe;
            expected[9] = (byte) 0x80;
            expected[22] = 1;
            expected[23] = 2;
            expected[24] = 3;
            assertEquals(expected.length, SocketAddresses.length(address));
            assertArrayEquals(expected, start(struct, expected.length));
        }
    }

    private static byte[] bytes(String host) throws UnknownHostException {
        return InetAddress.getByName(host).getAddress();
    }

    @ParameterizedTest
    @CsvSource({"0.0.0.0, 0", "127.0.0.1, 1", "255.255.255.255, 65535", "::, 0", "::1, 32768", "2001:db8::ff, 65535"})
    void shouldReadWhatItWrote(String host, int port) throws UnknownHostException {
        try (Arena arena = Arena.ofConfined()) {
            InetSocketAddress address = address(host, port);
            MemorySegment struct = SocketAddresses.write(arena, address);
            assertEquals(sockaddr_storage.sizeof(), struct.byteSize());
            assertEquals(address, SocketAddresses.read(struct));
            assertEquals(
                    address.getAddress().getHostAddress(),
                    SocketAddresses.read(struct).getAddress().getHostAddress());
        }
    }

    @Test
    void shouldKeepTheScope() throws UnknownHostException {
        try (Arena arena = Arena.ofConfined()) {
            Inet6Address host = Inet6Address.getByAddress(null, bytes("fe80::1"), 7);
            InetSocketAddress read = SocketAddresses.read(SocketAddresses.write(arena, new InetSocketAddress(host, 1)));
            assertEquals(
                    7, assertInstanceOf(Inet6Address.class, read.getAddress()).getScopeId());
        }
    }

    @Test
    void shouldReadMappedAddressesAsIpv4() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment struct = arena.allocate(SocketAddresses.STORAGE_BYTES);
            struct.set(ValueLayout.JAVA_SHORT, 0, (short) SocketAddresses.AF_INET6);
            struct.set(ValueLayout.JAVA_SHORT, 18, (short) -1);
            struct.set(ValueLayout.JAVA_BYTE, 23, (byte) 9);
            assertInstanceOf(Inet4Address.class, SocketAddresses.read(struct).getAddress());
        }
    }

    @Test
    void shouldReadAndWriteWithoutAlignment() throws UnknownHostException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment struct =
                    arena.allocate(SocketAddresses.STORAGE_BYTES + 1, 8).asSlice(1);
            InetSocketAddress address = address("2001:db8::1", 7471);
            SocketAddresses.write(struct, address);
            assertEquals(address, SocketAddresses.read(struct));
        }
    }

    @Test
    void shouldReadNothingOfOtherFamilies() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment struct = arena.allocate(SocketAddresses.STORAGE_BYTES);
            assertNull(SocketAddresses.read(struct), "unset");
            struct.set(ValueLayout.JAVA_SHORT, 0, (short) 1);
            assertNull(SocketAddresses.read(struct), "AF_UNIX");
        }
    }

    @Test
    void shouldRefuseUnresolvedNames() {
        try (Arena arena = Arena.ofConfined()) {
            InetSocketAddress unresolved = InetSocketAddress.createUnresolved("no.such.host", 1);
            IllegalArgumentException refused =
                    assertThrows(IllegalArgumentException.class, () -> SocketAddresses.write(arena, unresolved));
            assertTrue(refused.getMessage().contains("no.such.host"), refused.getMessage());
        }
    }
}
