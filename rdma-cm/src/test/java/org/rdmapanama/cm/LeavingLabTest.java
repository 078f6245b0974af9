package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Lab;

/** Peers learn that one leaves, however it does. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are closed earlier
class LeavingLabTest {
    private static final int PORT = 7623;

    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = Lab.resources();
    }

    @AfterEach
    void assertNothingLeft() throws Exception {
        Lab.assertNothingLeft(before);
    }

    @ParameterizedTest
    @EnumSource
    void shouldTellWhenTheArenaCloses(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, network.second(PORT))) {
            FutureTask<RdmaConnection> accepting =
                    new FutureTask<>(() -> server.accept(Lab.SECONDS).orElseThrow());
            Thread.ofPlatform().start(accepting);
            RdmaConnection connected;
            try (VerbsArena ofClient = VerbsArena.ofConfined()) {
                connected = new RdmaClient(ofClient)
                        .connect(
                                network.second(PORT),
                                new RdmaConnectionOptions().localAddress(network.first(0)),
                                Lab.SECONDS);
                assertTrue(accepting.get(30, TimeUnit.SECONDS).isConnected());
            }
            assertFalse(connected.isConnected());
            try (RdmaConnection accepted = accepting.get()) {
                assertTrue(accepted.awaitDisconnect(Lab.SECONDS));
            }
            connected.close();
        }
    }

    /** Servers as well: a request that waits is rejected, and a connection ends. */
    @Test
    void shouldTellWhenTheArenaOfAServerCloses() throws Exception {
        List<RdmaConnection> clients = new ArrayList<>();
        try (VerbsArena ofClients = VerbsArena.ofShared();
                TwoIds waiting = TwoIds.resolved(PortSpace.TCP, PORT)) {
            VerbsArena arena = VerbsArena.ofShared();
            RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT));
            FutureTask<RdmaConnection> accepting =
                    new FutureTask<>(() -> server.accept(Lab.SECONDS).orElseThrow());
            Thread.ofPlatform().start(accepting);
            clients.add(new RdmaClient(ofClients)
                    .connect(Lab.second(PORT), new RdmaConnectionOptions().localAddress(Lab.first(0)), Lab.SECONDS));
            accepting.get(30, TimeUnit.SECONDS);
            waiting.client.connect(TwoIds.parameters());
            assertTrue(server.awaitRequest(Lab.SECONDS).isPresent());
            arena.close();
            assertTrue(clients.getFirst().awaitDisconnect(Lab.SECONDS));
            CmEvents.await(waiting.active, CmEventType.REJECTED);
            // Nobody listens there any more.
            RdmaServer.listen(ofClients, Lab.second(PORT)).close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"exit", "stay"})
    void shouldTellWhenTheProcessEnds(String how) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT));
                Program leaver = Program.java(
                        List.of(), Leaver.class, Lab.second(0).getAddress().getHostAddress(), "" + PORT, how);
                RdmaConnection accepted = server.accept(Lab.PATIENCE).orElseThrow()) {
            if (how.equals("stay")) {
                leaver.await("connected");
                assertTrue(accepted.isConnected());
                leaver.signal("TERM");
            }
            assertTrue(accepted.awaitDisconnect(Lab.SECONDS), leaver::toString);
        }
    }
}
