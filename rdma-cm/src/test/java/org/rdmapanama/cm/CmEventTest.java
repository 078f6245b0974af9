package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.rdmapanama.address.AddressVector;

class CmEventTest {
    private static final InetSocketAddress GROUP = new InetSocketAddress("230.1.2.3", 0);

    @Test
    void shouldKeepWhatThePeerToldOfAConnection() {
        ConnectionParameters parameters =
                new ConnectionParameters().privateData((byte) 1, (byte) 2).queuePairNumber(17);
        CmEvent event = new CmEvent(CmEventType.REJECTED, 28, null, null, parameters, null, null);
        event.connection().queuePairNumber(18).privateData((byte) 3);
        event.privateData()[0] = 9;
        assertEquals(17, event.connection().queuePairNumber());
        assertArrayEquals(new byte[] {1, 2}, event.privateData());
        assertEquals(28, event.status());
        assertNull(event.datagram());
        assertNull(event.group());
        assertNull(event.listener());
        assertEquals("REJECTED with status 28 on null", event.toString());
    }

    @Test
    void shouldKeepHowToReachAPeer() {
        UdParameters parameters = new UdParameters(new byte[] {4}, AddressVector.toLid(1, 5), 18, 19);
        CmEvent event = new CmEvent(CmEventType.MULTICAST_ERROR, -19, null, null, null, parameters, GROUP);
        assertSame(parameters, event.datagram());
        assertNull(event.connection());
        assertArrayEquals(new byte[] {4}, event.privateData());
        assertEquals(GROUP, event.group());
        assertEquals("MULTICAST_ERROR with status -19 on null, group " + GROUP, event.toString());
    }

    @Test
    void shouldMakeExceptionsThatSayWhatTheEventSaid() {
        ConnectionParameters none = new ConnectionParameters();
        assertErrno("ECONNREFUSED", CmEventType.REJECTED, -111, none);
        assertErrno("ECONNREFUSED", CmEventType.UNREACHABLE, 1, none);
        assertErrno("ETIMEDOUT", CmEventType.UNREACHABLE, 0, none);
        assertErrno("EHOSTUNREACH", CmEventType.UNREACHABLE, -113, none);
        assertErrno("ECONNRESET", CmEventType.DISCONNECTED, 0, none);
        assertErrno("ENODEV", CmEventType.DEVICE_REMOVAL, 0, none);
        assertErrno("EIO", CmEventType.CONNECT_ERROR, 0, none);
        assertErrno("ENETUNREACH", CmEventType.ADDR_ERROR, -101, none);
    }

    @Test
    void shouldSayThatThePeerMayBeOfAnotherKind() {
        CmEvent event = new CmEvent(CmEventType.UNREACHABLE, -110, null, null, new ConnectionParameters(), null, null);
        String message = CmFailures.of("rdma_connect", event).getMessage();
        assertTrue(message.contains("both ends are RoCE or both are iWARP"), message);
    }

    private static void assertErrno(String errno, CmEventType type, int status, ConnectionParameters parameters) {
        ConnectionException exception =
                CmFailures.of("rdma_connect", new CmEvent(type, status, null, null, parameters, null, null));
        assertEquals(errno, exception.errnoName());
        assertEquals(status, exception.status());
        assertSame(type, exception.event());
    }
}
