package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.soft.net.UdpSockets;
import org.rdmapanama.soft.net.Wire;
import org.rdmapanama.testing.Bound;

/** Which ports of this machine are taken, without taking them. */
@EnabledOnOs(OS.LINUX)
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UdpSocketsTest {
    private static final int ROUNDS = 300;

    /** Who took a port would do so in each round. An emulated processor makes few of them in a second. */
    private static final int LEAST_ROUNDS = 20;

    /** Above the ports of tests that take theirs from the number of their process, and below those of the system. */
    private static final int PORT = 31_500;

    private static InetSocketAddress address(String ip, int port) {
        return new InetSocketAddress(InetAddress.ofLiteral(ip), port);
    }

    private static int portOf(DatagramChannel channel) throws IOException {
        return ((InetSocketAddress) channel.getLocalAddress()).getPort();
    }

    @ParameterizedTest
    @CsvSource({"127.0.0.1, 127.0.0.1", "::1, ::1", "0.0.0.0, 127.0.0.1", "::, ::1"})
    void shouldKnowWhatIsBound(String bound, String asked) throws IOException {
        int port;
        InetSocketAddress any = address(bound, 0);
        try (DatagramChannel channel = DatagramChannel.open(Wire.family(any.getAddress()))) {
            channel.bind(any);
            port = portOf(channel);
            assertTrue(UdpSockets.query().isBound(address(asked, port)));
        }
        assertFalse(UdpSockets.query().isBound(address(asked, port)));
    }

    /** Who looks for the device of a service leaves the ports of others alone. */
    @Test
    void shouldTakeNoPortToFindAPeer() throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        int[] found = {0};
        InetSocketAddress free = address("127.0.0.1", PORT + 60);
        Thread other = new Thread(() -> {
            while (!done.get()) {
                try (DatagramChannel channel = DatagramChannel.open(Wire.family(free.getAddress()))) {
                    channel.bind(free);
                } catch (BindException e) {
                    found[0]++;
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            }
        });
        try (CmFixture meeting = new CmFixture("port", Integer.toString(PORT))) {
            other.start();
            Bound bound = Bound.ofSeconds(30);
            for (int i = 0; i < ROUNDS && (i < LEAST_ROUNDS || !bound.isOver()); i++) {
                meeting.destroy(meeting.client(address("127.0.0.1", 17_471), 1, ""));
            }
        } finally {
            done.set(true);
            other.join();
        }
        assertEquals(0, found[0]);
    }
}
