package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.StandardProtocolFamily;
import org.junit.jupiter.api.Test;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.queue.SendOperation;

/** What options and parameters say of themselves. */
class TextsTest {
    @Test
    void shouldSayWhatOptionsAre() {
        assertTrue(new ConnectionParameters().queuePairNumber(0x1f).toString().startsWith("queue pair 0x00001f, "));
        assertEquals(
                "16 sends, 8 receives, extended by [RDMA_WRITE]; " + new ConnectionParameters(),
                new RdmaConnectionOptions()
                        .sendWorkRequests(16)
                        .receiveWorkRequests(8)
                        .sendOperations(SendOperation.RDMA_WRITE)
                        .toString());
        assertEquals(
                "backlog 5, at most 1024 pending, handshakes of at most PT10S, patience of PT1S",
                new RdmaServerOptions().backlog(5).toString());
        assertEquals(
                "to connect, TCP, RC, INET",
                new AddressInfoOptions().family(StandardProtocolFamily.INET).toString());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            assertEquals("client in " + arena, new RdmaClient(arena).toString());
        }
    }
}
