package org.rdmapanama.samples.calls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.testing.Lab;

@Tag("lab")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CallServerLabTest {
    private static final Duration LIMIT = Lab.SECONDS;

    /** For the first client there is no memory. */
    private static final class Scarce implements Service {
        private final AtomicInteger clients = new AtomicInteger();

        @Override
        public boolean accepts(byte[] privateData) {
            return true;
        }

        @Override
        public Client connecting(RdmaConnection connection) {
            if (clients.getAndIncrement() == 0) {
                throw new OutOfMemoryError("none for this client");
            }
            return new Client() {
                @Override
                public byte[] greeting() {
                    return new byte[0];
                }

                @Override
                public int answer(MemorySegment request, MemorySegment answer) {
                    CallMessage.write(answer, CallMessage.kind(request) + 1, 0, 0);
                    return CallMessage.HEADER;
                }
            };
        }
    }

    @Test
    void shouldServeTheNextClientAfterOneForWhichThereWasNoMemory() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                CallServer server = CallServer.start(Lab.freeAddress(Lab.SECOND_HOST), new Scarce(), 64, 4)) {
            RdmaClient client = new RdmaClient(arena);
            assertThrows(CallException.class, () -> CallClient.connect(client, server.address(), new byte[0], LIMIT));
            try (CallClient calls = CallClient.connect(client, server.address(), new byte[0], LIMIT)) {
                calls.allocateMessages(64);
                CallMessage.write(calls.request(), 41, 0, 0);
                calls.call(CallMessage.HEADER);
                assertEquals(42, CallMessage.kind(calls.answer()));
            }
        }
    }

    @Test
    void shouldTellAServerThatIsNotThereFromOneThatRefuses() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            RdmaClient client = new RdmaClient(arena);
            InetSocketAddress nobody = Lab.freeAddress(Lab.SECOND_HOST);
            CallException gone =
                    assertThrows(CallException.class, () -> CallClient.connect(client, nobody, new byte[0], LIMIT));
            assertTrue(gone.getMessage().contains("nobody listens"), gone.getMessage());
            assertFalse(gone.getMessage().contains("as many clients as it takes"), gone.getMessage());
        }
    }
}
