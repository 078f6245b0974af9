package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.internal.provider.ProviderException;
import org.rdmapanama.soft.net.LocalAddresses;
import org.rdmapanama.soft.net.Peer;
import org.rdmapanama.soft.net.Wire;

/** What becomes of the settings, and of sockets that cannot be had. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OpeningTest {
    private static final int PORT = 21_000;
    private static final int ROUNDS = 40;

    /** Opens the device with settings, and closes it; which port it had. */
    private static int open(String... settings) {
        SoftContext context = opened(settings);
        int port = context.device().wire().port();
        context.close();
        return port;
    }

    private static SoftContext opened(String... settings) {
        return DeviceProperties.with(settings, SoftDevice::open);
    }

    private static String failure(String... settings) {
        return assertThrows(ProviderException.class, () -> open(settings)).getMessage();
    }

    @Test
    void shouldLeaveNothingBehindWhenItCannotCapture(@TempDir Path folder) {
        String port = Integer.toString(PORT);
        String file = folder.resolve("no").resolve("packets").toString();
        String message = failure("port", port, "pcap", file);
        assertTrue(message.contains("packets") && message.contains(file), message);
        assertFalse(message.contains("sockets"), message);
        assertEquals(PORT, open("port", port));
    }

    /** Packets come from ports above: those are not where answers go. */
    @ParameterizedTest
    @ValueSource(strings = {"49152", "50000", "49089", "65535", "65536", "0", "-1", "x"})
    void shouldRefusePortsThatItCouldNotTellFromOthers(String port) {
        String message = failure("port", port);
        assertTrue(message.contains("org.rdmapanama.soft.port") && message.contains("49088"), message);
    }

    @ParameterizedTest
    @ValueSource(strings = {"true", "dcqcn,line=0", "dcqcn,speed=1"})
    void shouldRefuseOtherReactionsToCongestion(String congestion) {
        String message = failure("congestion", congestion);
        assertTrue(
                message.contains("org.rdmapanama.soft.congestion") && message.contains("'" + congestion + "'"),
                message);
    }

    @ParameterizedTest
    @ValueSource(strings = {"65", "-1", "x", ""})
    void shouldRefuseNumbersOfSourcePortsThatItCannotHave(String count) {
        String message = failure("source.ports", count);
        assertTrue(message.contains("org.rdmapanama.soft.source.ports") && message.contains("0 to 64"), message);
    }

    @Test
    void shouldTakeTheLastPortThatCanBe() {
        int port = open("port", "49088");
        assertTrue(port >= 49088 && port < 49152, () -> "port " + port);
    }

    @Test
    void shouldHaveOneAddressOnly() {
        SoftContext context = opened("address", "127.0.0.1");
        try {
            assertEquals(1, context.device().addresses().count());
            assertEquals(
                    InetAddress.ofLiteral("127.0.0.1"),
                    context.device().addresses().address(0));
        } finally {
            context.close();
        }
    }

    @Test
    void shouldHaveTheAddressesOfAnInterfaceOnly() throws Exception {
        InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
        SoftContext context =
                opened("address", NetworkInterface.getByInetAddress(loopback).getName());
        try {
            LocalAddresses addresses = context.device().addresses();
            for (int i = 0; i < addresses.count(); i++) {
                assertTrue(addresses.address(i).isLoopbackAddress());
            }
            assertTrue(addresses.indexOf(loopback) >= 0);
        } finally {
            context.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"203.0.113.7", "nosuch0", ""})
    void shouldRefuseAnAddressThatTheMachineDoesNotHave(String address) {
        String message = failure("address", address);
        assertTrue(message.contains("org.rdmapanama.soft.address") && message.contains("'" + address + "'"), message);
    }

    /** At this port, as where another process has the usual one, addresses of IPv6 have no GIDs. */
    @Test
    void shouldSayWhenNoAddressIsLeft() {
        assumeTrue(Wire.canBind(InetAddress.ofLiteral("::1")), "the machine has no IPv6");
        String message = failure("address", "::1", "port", Integer.toString(PORT));
        assertTrue(message.contains("IPv6") && message.contains("4791") && message.contains(PORT + ""), message);
    }

    @Test
    void shouldHaveTheSamePortWhenOthersCloseItMeanwhile() throws InterruptedException {
        String port = Integer.toString(PORT + 100);
        Set<Integer> ports = ConcurrentHashMap.newKeySet();
        Runnable open = () -> {
            for (int i = 0; i < ROUNDS; i++) {
                SoftContext context = SoftDevice.open();
                ports.add(context.device().wire().port());
                context.close();
            }
        };
        System.setProperty("org.rdmapanama.soft.port", port);
        try {
            Thread one = new Thread(open);
            Thread other = new Thread(open);
            one.start();
            other.start();
            one.join();
            other.join();
        } finally {
            System.clearProperty("org.rdmapanama.soft.port");
        }
        assertEquals(Set.of(PORT + 100), ports);
    }

    /** A packet that the system does not send is lost; that is told once. */
    @Test
    void shouldTellOnceOfAPeerThatPacketsAreNotSentTo() {
        SoftContext context = opened("address", "127.0.0.1");
        SoftDevice device = context.device();
        device.lock();
        try {
            // From the loopback there is no way to others.
            Peer peer = device.wire().peer(new InetSocketAddress(InetAddress.ofLiteral("203.0.113.7"), 4791));
            for (int i = 0; i < 3; i++) {
                assertNotEquals(0, device.wire().begin(peer, 0, 0));
                device.wire().send(32);
                assertTrue(device.wire().flush());
            }
            assertEquals(1, device.wire().unreachable());
        } finally {
            device.unlock();
            context.close();
        }
    }
}
