package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.NeedsVirtualMachine;

/** What a program is told that connects a RoCE end with an iWARP end, over a wire that has one of each. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@NeedsVirtualMachine("a librdmacm that survives the end of devices: with one processor, its lock once stayed taken")
class MixedTransportsLabTest {
    private static final int PORT = 7651;

    /** A RoCE end asks by datagrams, which an iWARP end does not receive. */
    private static final Duration SHORT = Duration.ofSeconds(2);

    @BeforeEach
    void needsTheKernel() {
        Lab.assumeInLab("it is no iWARP device");
    }

    /** Connects from the left end, and returns the failure. */
    private static ConnectionException connect(VethPair wire) throws IOException {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, wire.right(PORT))) {
            assertEquals(wire.right(PORT), server.localAddress());
            RdmaConnectionOptions options = new RdmaConnectionOptions().localAddress(wire.left(0));
            RdmaClient client = new RdmaClient(arena);
            return assertThrows(ConnectionException.class, () -> client.connect(wire.right(PORT), options, SHORT));
        }
    }

    @Test
    void shouldTellARoceEndThatTheOtherMayBeIwarp() throws Exception {
        List<String> before = Lab.resources();
        try (VethPair wire = VethPair.add("rxe", "siw")) {
            ConnectionException failure = connect(wire);
            assertEquals(Errno.ETIMEDOUT, failure.errno(), failure::getMessage);
            assertTrue(failure.getMessage().contains("both ends are RoCE or both are iWARP"), failure::getMessage);
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    void shouldTellAnIwarpEndThatTheOtherMayBeRoce() throws Exception {
        List<String> before = Lab.resources();
        try (VethPair wire = VethPair.add("siw", "rxe")) {
            ConnectionException failure = connect(wire);
            assertEquals(Errno.ECONNREFUSED, failure.errno(), failure::getMessage);
            String at = wire.right(PORT).getHostString() + ":" + PORT;
            assertTrue(failure.getMessage().contains("nobody listens at " + at), failure::getMessage);
            assertTrue(failure.getMessage().contains("one of RoCE does not understand iWARP"), failure::getMessage);
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    void shouldReferToTheConnectionManager() throws Exception {
        List<String> before = Lab.resources();
        try (VethPair wire = VethPair.add("rxe", "siw");
                VerbsArena arena = VerbsArena.ofConfined()) {
            Endpoint ofRoce = queuePair(arena, wire.leftDevice()).localEndpoint();
            Endpoint ofIwarp = queuePair(arena, wire.rightDevice()).localEndpoint();
            QueuePair iwarp = queuePair(arena, wire.rightDevice());
            VerbsException refusal = assertThrows(VerbsException.class, () -> iwarp.connect(ofIwarp));
            assertTrue(refusal.getMessage().contains("use RdmaClient and RdmaServer"), refusal::getMessage);
            assertTrue(refusal.getMessage().contains("the peer must be iWARP as well"), refusal::getMessage);
            VerbsException mixed = assertThrows(
                    VerbsException.class,
                    () -> queuePair(arena, wire.rightDevice()).connect(ofRoce));
            assertTrue(mixed.getMessage().contains("which cannot reach each other"), mixed::getMessage);
        }
        Lab.assertNothingLeft(before);
    }

    private static QueuePair queuePair(VerbsArena arena, String device) {
        Context context = Context.open(arena, device);
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        return domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
    }
}
