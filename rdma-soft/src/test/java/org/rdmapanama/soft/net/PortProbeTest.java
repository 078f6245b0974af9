package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.testing.Bound;

/** What asks whether a device is at a port. */
class PortProbeTest {
    private static final int MILLIS = 30_000;

    @Test
    void shouldSendAHeaderThatDevicesIgnore() throws Exception {
        try (DatagramSocket there = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
            there.setSoTimeout(MILLIS);
            PortProbe probe = new PortProbe((InetSocketAddress) there.getLocalSocketAddress());
            assertFalse(probe.isRefused());
            DatagramPacket packet = new DatagramPacket(new byte[100], 100);
            there.receive(packet);
            probe.close();
            assertEquals(Bth.BYTES, packet.getLength());
            // Of version 0, to queue pair 0.
            assertArrayEquals(new byte[100], packet.getData());
        }
    }

    @Test
    void shouldNoticeThatNobodyIsThere() throws Exception {
        InetSocketAddress nobody;
        try (DatagramSocket there = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
            nobody = (InetSocketAddress) there.getLocalSocketAddress();
        }
        PortProbe probe = new PortProbe(nobody);
        Bound.ofSeconds(30).await("the port is not reported", probe::isRefused);
        probe.close();
    }
}
