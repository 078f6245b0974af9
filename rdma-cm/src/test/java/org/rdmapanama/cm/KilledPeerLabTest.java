package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** Peers in other processes that hang, or die by SIGKILL, at every step of a connection, over RoCE and over iWARP. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are only there
class KilledPeerLabTest {
    private static final int PORT = 7501;

    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        Lab.assumeInLab("rping does not know it");
        before = Lab.resources();
    }

    @AfterEach
    void seeThatNothingIsLeft() throws Exception {
        Lab.assertNothingLeft(before);
    }

    private static RdmaConnectionOptions options() {
        return new RdmaConnectionOptions().sendWorkRequests(8).receiveWorkRequests(8);
    }

    /**
     * For a client that is rping, which sends as soon as it is connected. Software iWARP ends a connection where nothing has
     * been posted to receive that.
     */
    private static RdmaConnectionOptions receiving(VerbsArena arena) {
        return options().prepare(connection -> {
            MemoryRegion region = connection.register(64, AccessFlag.LOCAL_WRITE);
            ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(arena, 1).add(region, 0, 64);
            connection.queuePair().postReceive(receive);
        });
    }

    private static RdmaConnection connect(LabWire network, VerbsArena arena, Duration timeout)
            throws InterruptedException {
        return new RdmaClient(arena).connect(network.second(PORT), options().localAddress(network.first(0)), timeout);
    }

    @ParameterizedTest
    @EnumSource
    void shouldGiveUpOnAServerThatHangs(LabWire network) throws Exception {
        try (Program server = Rping.server(network, PORT);
                VerbsArena arena = VerbsArena.ofConfined()) {
            server.signal("STOP");
            // Software iWARP waits for an answer of its own protocol, up to ten seconds, before it lets the id go.
            Bound bound = Bound.ofSeconds(network == LabWire.ROCE ? 10 : 25);
            ConnectionException exception =
                    assertThrows(ConnectionException.class, () -> connect(network, arena, Duration.ofSeconds(1)));
            assertEquals("ETIMEDOUT", exception.errnoName(), exception::getMessage);
            bound.check("connecting went on after its timeout");
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldBeToldWhenAServerDiesBeforeItAccepts(LabWire network) throws Exception {
        try (Program server = Rping.server(network, PORT);
                VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            server.signal("STOP");
            Future<RdmaConnection> connecting = threads.submit(() -> connect(network, arena, Lab.SECONDS));
            Thread.sleep(700);
            assertFalse(connecting.isDone());
            server.kill();
            ExecutionException failed =
                    assertThrows(ExecutionException.class, () -> connecting.get(10, TimeUnit.SECONDS));
            RejectedException rejected = assertInstanceOf(RejectedException.class, failed.getCause());
            assertEquals("ECONNREFUSED", rejected.errnoName());
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldBeToldWhenAServerDies(LabWire network) throws Exception {
        try (Program server = Rping.server(network, PORT);
                VerbsArena arena = VerbsArena.ofConfined();
                RdmaConnection connection = connect(network, arena, Lab.SECONDS)) {
            assertTrue(connection.isConnected());
            assertFalse(connection.awaitDisconnect(Duration.ofMillis(100)));
            server.kill();
            assertTrue(connection.awaitDisconnect(Lab.SECONDS));
            assertFalse(connection.isConnected());
            assertSendIsFlushed(network, arena, connection);
        }
    }

    /**
     * What is posted for a peer that is gone ends when this side ends the connection. Software iWARP forgets what is posted
     * after the end.
     */
    private static void assertSendIsFlushed(LabWire network, VerbsArena arena, RdmaConnection connection)
            throws Exception {
        MemoryRegion region = connection.protectionDomain().register(arena.allocate(64));
        connection
                .queuePair()
                .postSend(SendWorkRequest.allocate(arena, 1)
                        .id(5)
                        .send()
                        .add(region, 0, 64)
                        .signaled(true));
        connection.disconnect(Lab.SECONDS);
        WorkCompletions completions = new WorkCompletions(arena, 1);
        if (network == LabWire.IWARP) {
            Thread.sleep(100);
            assertEquals(0, connection.sendQueue().poll(completions));
            region.close();
            return;
        }
        Bound.of(Lab.SECONDS)
                .await("no completion", () -> connection.sendQueue().poll(completions) > 0);
        assertEquals(5, completions.id(0));
        assertEquals(CompletionStatus.WR_FLUSH_ERR, completions.status(0), () -> completions.describe(0));
        region.close();
    }

    @ParameterizedTest
    @EnumSource
    void shouldNotAcceptAClientThatDied(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined();
                RdmaServer server = listen(arena, network)) {
            ConnectionRequest request;
            try (Program client = Rping.client(network, PORT)) {
                request = server.awaitRequest(Lab.SECONDS).orElseThrow();
                client.kill();
            }
            // The word of it arrives a moment later.
            Thread.sleep(500);
            Bound bound = Bound.usual();
            assertThrows(ConnectionException.class, () -> request.accept(receiving(arena), Lab.SECONDS));
            bound.check("the client is dead, and was waited for");
            assertServes(network, server);
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldBeToldWhenAClientDiesBeforeItIsReady(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, network);
                ExecutorService threads = Executors.newCachedThreadPool();
                Program client = Rping.client(network, PORT)) {
            ConnectionRequest request = server.awaitRequest(Lab.SECONDS).orElseThrow();
            client.signal("STOP");
            Future<RdmaConnection> accepting = threads.submit(() -> request.accept(receiving(arena), Lab.SECONDS));
            if (network == LabWire.IWARP) {
                // There the connection is when it is accepted.
                try (RdmaConnection connection = accepting.get(10, TimeUnit.SECONDS)) {
                    assertTrue(connection.isConnected());
                    client.kill();
                    assertTrue(connection.awaitDisconnect(Lab.SECONDS));
                }
            } else {
                Thread.sleep(700);
                assertFalse(accepting.isDone());
                client.kill();
                ExecutionException failed =
                        assertThrows(ExecutionException.class, () -> accepting.get(10, TimeUnit.SECONDS));
                assertInstanceOf(ConnectionException.class, failed.getCause());
            }
            assertServes(network, server);
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldBeToldWhenAClientDies(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined();
                RdmaServer server = listen(arena, network);
                Program client = Rping.client(network, PORT);
                RdmaConnection connection = server.accept(Lab.SECONDS).orElseThrow()) {
            assertTrue(connection.isConnected());
            client.kill();
            assertTrue(connection.awaitDisconnect(Lab.SECONDS));
            assertSendIsFlushed(network, arena, connection);
            assertServes(network, server);
        }
    }

    private static RdmaServer listen(VerbsArena arena, LabWire network) {
        return RdmaServer.listen(
                arena,
                network.second(PORT),
                new RdmaServerOptions().connections(request -> Optional.of(receiving(arena))));
    }

    /** The next one is served as if nothing had been. */
    private static void assertServes(LabWire network, RdmaServer server) throws Exception {
        try (Program client = Rping.client(network, PORT);
                RdmaConnection connection = server.accept(Lab.SECONDS).orElseThrow()) {
            assertTrue(connection.isConnected(), client::toString);
        }
    }
}
