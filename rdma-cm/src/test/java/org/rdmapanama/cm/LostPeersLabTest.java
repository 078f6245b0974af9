package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Flight;
import org.rdmapanama.testing.Lab;

/** Peers that are killed, stopped or unplugged, in processes of their own, and ports that another process has. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are only there, or closed earlier
class LostPeersLabTest {
    private static final int PORT = 7641;

    /** How long a peer may be silent, and how long it then has to answer: longer than JVMs pause on a busy machine. */
    private static final int SILENT_MILLIS = 200;

    private static final int ANSWER_MILLIS = 4000;

    /** Longer than a peer may be silent that has nothing to say. */
    private static final Duration QUIET = Duration.ofSeconds(6);

    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = Lab.resources();
    }

    @AfterEach
    void assertNothingLeft() throws Exception {
        Lab.assertNothingLeft(before);
    }

    private static Program leaver(String... what) throws Exception {
        List<String> words =
                new ArrayList<>(List.of(Lab.second(0).getAddress().getHostAddress(), Integer.toString(PORT)));
        words.addAll(List.of(what));
        return Program.java(List.of(), Leaver.class, words.toArray(String[]::new));
    }

    private static RdmaConnectionOptions keepAlive() {
        return new RdmaConnectionOptions()
                .keepAlive(Duration.ofMillis(SILENT_MILLIS), Duration.ofMillis(ANSWER_MILLIS));
    }

    private static void assertEnded(RdmaConnection connection) throws Exception {
        assertTrue(connection.awaitDisconnect(Lab.SECONDS));
        assertFalse(connection.isConnected());
        if (!Lab.isInLab()) {
            assertEquals(QueuePairState.ERR, connection.queuePair().query().state());
        }
    }

    @Test
    void shouldNoticeThatAClientWasKilled() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT));
                Program client = leaver("stay");
                RdmaConnection connection = server.accept(Lab.PATIENCE).orElseThrow()) {
            client.await("connected");
            MemoryRegion region = connection.register(64, AccessFlag.LOCAL_WRITE);
            connection
                    .queuePair()
                    .postReceive(ReceiveWorkRequest.allocate(arena, 1).id(3).add(region, 0, 64));
            assertTrue(connection.isConnected());
            assertEquals(null, server.nextEnded());
            client.kill();
            assertEnded(connection);
            assertSame(connection, server.nextEnded());
            // A kernel ends the connections of a process that was killed.
            assertEquals(Lab.isInLab() ? 0 : 1, server.counts().lost());
            connection.disconnect(Lab.SECONDS);
            assertCompletes(arena, connection, 3);
            // The server goes on.
            try (Program next = leaver("stay");
                    RdmaConnection second = server.accept(Lab.PATIENCE).orElseThrow()) {
                assertTrue(second.isConnected(), next::toString);
            }
        }
    }

    private static void assertCompletes(VerbsArena arena, RdmaConnection connection, int id) throws Exception {
        WorkCompletions completions = new WorkCompletions(arena, 1);
        Bound.of(Lab.SECONDS)
                .await("no completion", () -> connection.receiveQueue().poll(completions) > 0);
        assertEquals(id, completions.id(0));
        assertEquals(CompletionStatus.WR_FLUSH_ERR, completions.status(0), () -> completions.describe(0));
    }

    /** The recording tells why a connection was lost. */
    @Test
    void shouldTellARecordingWhyAPeerIsGone() throws Exception {
        assumeSoft("a kernel ends the connections of a process that was killed, and answers for one that is stopped");
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server =
                        RdmaServer.listen(arena, Lab.second(PORT), new RdmaServerOptions().connections(keepAlive()))) {
            for (String signal : List.of("TERM", "KILL", "STOP")) {
                try (Program client = leaver("stay");
                        RdmaConnection connection = server.accept(Lab.PATIENCE).orElseThrow();
                        Flight flight = new Flight("ConnectionLost")) {
                    client.await("connected");
                    client.signal(signal);
                    assertTrue(connection.awaitDisconnect(Lab.SECONDS));
                    String reason = switch (signal) {
                        case "TERM" -> "the peer has ended it";
                        case "KILL" -> "the process of the peer has ended without a word";
                        default -> "the peer does not answer";
                    };
                    assertEquals(reason, flight.only().getString("reason"));
                }
            }
            assertEquals(new ServerCounts(3, 0, 0, 0, 3, 2), server.counts());
        }
    }

    @Test
    void shouldNoticeThatAServerWasKilled() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                Program server = leaver("serve")) {
            server.await("listening");
            try (RdmaConnection connection = new RdmaClient(arena).connect(Lab.second(PORT), Lab.PATIENCE)) {
                server.await("connected");
                assertTrue(connection.isConnected());
                server.kill();
                assertEnded(connection);
            }
        }
    }

    /** Its device has said that the answer takes long, so nothing is sent again soon. */
    @Test
    void shouldNoticeThatAServerWasKilledThatDoesNotAnswer() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                Program server = leaver("listen")) {
            server.await("listening");
            FutureTask<RdmaConnection> connecting =
                    new FutureTask<>(() -> new RdmaClient(arena).connect(Lab.second(PORT), Lab.PATIENCE));
            Thread.ofPlatform().start(connecting);
            // Nothing here tells that the request has arrived.
            Thread.sleep(Duration.ofSeconds(Bound.patient(1)));
            assertFalse(connecting.isDone());
            server.kill();
            ExecutionException failed =
                    assertThrows(ExecutionException.class, () -> connecting.get(Bound.patient(6), TimeUnit.SECONDS));
            ConnectionException gone = assertInstanceOf(ConnectionException.class, failed.getCause());
            assertEquals(Lab.isInLab() ? "ECONNREFUSED" : "ECONNRESET", gone.errnoName(), gone::getMessage);
        }
    }

    /** The event says why, where nobody else could. */
    @Test
    void shouldTellADeathFromAnEnd() throws Exception {
        for (String signal : List.of("TERM", "KILL")) {
            try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT);
                    Program client = leaver("stay")) {
                CmEvent request = ids.passive.await(Lab.PATIENCE).orElseThrow();
                request.id().accept(TwoIds.parameters());
                assertEquals(
                        CmEventType.ESTABLISHED,
                        ids.passive.await(Lab.PATIENCE).orElseThrow().type());
                client.signal(signal);
                CmEvent end = ids.passive.await(Lab.PATIENCE).orElseThrow();
                assertEquals(CmEventType.DISCONNECTED, end.type());
                boolean known = !Lab.isInLab() && signal.equals("KILL");
                assertEquals(known ? -104 : 0, end.status());
                request.id().close();
            }
        }
    }

    /** A process that exits tells those as well that have not answered its request. */
    @ParameterizedTest
    @ValueSource(strings = {"TERM", "KILL"})
    void shouldNoticeThatAClientIsGoneBeforeItIsAccepted(String signal) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT));
                Program client = leaver("stay")) {
            ConnectionRequest request = server.awaitRequest(Lab.PATIENCE).orElseThrow();
            client.signal(signal);
            client.join();
            ConnectionException gone = assertThrows(
                    ConnectionException.class, () -> request.accept(new RdmaConnectionOptions(), Lab.SECONDS));
            assertNotEquals("ETIMEDOUT", gone.errnoName(), gone::getMessage);
        }
    }

    @Test
    void shouldRefuseAPortThatAnotherProcessHas() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                Program process = leaver("serve")) {
            process.await("listening");
            for (InetSocketAddress each : List.of(Lab.second(PORT), new InetSocketAddress(PORT))) {
                ConnectionException taken = assertThrows(
                        ConnectionException.class,
                        () -> RdmaServer.listen(arena, each).close());
                // The kernel says something else of the wildcard address.
                boolean other = Lab.isInLab() && each.getAddress().isAnyLocalAddress();
                assertEquals(other ? "EADDRNOTAVAIL" : "EADDRINUSE", taken.errnoName(), taken::getMessage);
                assertTrue(taken.getMessage().contains("another id"), taken::getMessage);
                assertTrue(taken.getMessage().contains(":" + PORT), taken::getMessage);
            }
            // A client may use the number, and another server another one.
            RdmaServer.listen(arena, Lab.second(0)).close();
            process.kill();
            Bound bound = Bound.of(Lab.SECONDS);
            RdmaServer free = null;
            while (free == null) {
                try {
                    free = RdmaServer.listen(arena, new InetSocketAddress(PORT));
                } catch (ConnectionException e) {
                    assertTrue(e.errnoName().startsWith("EADDR"), e::getMessage);
                    bound.check("the port of a dead process is still taken");
                    Thread.sleep(10);
                }
            }
            free.close();
        }
    }

    @Test
    void shouldNoticeThatAPeerWasStopped() throws Exception {
        assumeSoft("devices of the kernel answer for processes that are stopped");
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server =
                        RdmaServer.listen(arena, Lab.second(PORT), new RdmaServerOptions().connections(keepAlive()));
                Program client = leaver("stay");
                RdmaConnection connection = server.accept(Lab.PATIENCE).orElseThrow()) {
            client.await("connected");
            // It has nothing to say, but answers.
            assertFalse(connection.awaitDisconnect(QUIET));
            assertTrue(connection.isConnected());
            client.signal("STOP");
            assertEnded(connection);
            assertSame(connection, server.nextEnded());
            client.signal("CONT");
            client.await("ended: false");
        }
    }

    /** A process that has slept does not take its own silence for that of its peer. */
    @Test
    void shouldStayConnectedAfterItWasStoppedItself() throws Exception {
        assumeSoft("they have no keep-alive");
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT));
                Program client = leaver("stay", Integer.toString(SILENT_MILLIS), Integer.toString(ANSWER_MILLIS));
                RdmaConnection connection = server.accept(Lab.PATIENCE).orElseThrow()) {
            client.await("connected");
            client.signal("STOP");
            assertFalse(connection.awaitDisconnect(QUIET));
            client.signal("CONT");
            assertFalse(connection.awaitDisconnect(QUIET));
            assertFalse(client.output().contains("ended"), client::toString);
        }
    }

    private static void assumeSoft(String why) {
        assumeTrue(!Lab.isInLab(), why);
    }

    /** A lost question, or a lost answer, is no lost peer. */
    @Test
    void shouldStayConnectedOverAWireThatLosesPackets() throws Exception {
        assumeSoft("the wire of soft0 can be told to lose packets");
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server =
                        RdmaServer.listen(arena, Lab.second(PORT), new RdmaServerOptions().connections(keepAlive()));
                Program client = Program.javaWith(
                        List.of("-Dorg.rdmapanama.soft.faults=loss=0.3,seed=5"),
                        Leaver.class,
                        Lab.SECOND_HOST,
                        Integer.toString(PORT),
                        "stay",
                        Integer.toString(SILENT_MILLIS),
                        Integer.toString(ANSWER_MILLIS));
                RdmaConnection connection = server.accept(Lab.PATIENCE).orElseThrow()) {
            client.await("connected");
            assertFalse(connection.awaitDisconnect(QUIET));
            assertFalse(client.output().contains("ended"), client::toString);
            client.signal("STOP");
            assertEnded(connection);
        }
    }

    @Test
    void shouldRefuseTimesOutOfRange() {
        RdmaConnectionOptions options = new RdmaConnectionOptions();
        Duration second = Duration.ofSeconds(1);
        for (Duration each : List.of(Duration.ZERO, Duration.ofMillis(9), Duration.ofDays(2))) {
            assertThrows(IllegalArgumentException.class, () -> options.keepAlive(each, second), each::toString);
            assertThrows(IllegalArgumentException.class, () -> options.keepAlive(second, each), each::toString);
        }
        assertThrows(NullPointerException.class, () -> options.keepAlive(null, second));
        assertThrows(NullPointerException.class, () -> options.keepAlive(second, null));
    }

    /** A program asks on any device. The peer's processes may be stopped there: its device answers. */
    @Test
    void shouldAskInALoopOfTheProgram() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(
                        arena,
                        Lab.second(PORT),
                        new RdmaServerOptions()
                                .connections(new RdmaConnectionOptions()
                                        .parameters(new ConnectionParameters().retryCount(2))));
                Program client = leaver("stay");
                RdmaConnection connection = server.accept(Lab.PATIENCE).orElseThrow()) {
            client.await("connected");
            SendWorkRequest question = KeepAlive.question(arena, 77);
            KeepAlive keepAlive = new KeepAlive(connection, question, Duration.ofMillis(SILENT_MILLIS));
            WorkCompletions completions = new WorkCompletions(arena, 1);
            for (int answers = 0; answers < 3; answers++) {
                assertEquals(CompletionStatus.SUCCESS, ask(keepAlive, connection, completions));
                assertTrue(keepAlive.answered(CompletionStatus.SUCCESS));
                // It has just been heard.
                assertFalse(keepAlive.check());
            }
            assertTrue(connection.isConnected());
            if (!Lab.isInLab()) {
                client.signal("STOP");
                assertEquals(CompletionStatus.RETRY_EXC_ERR, ask(keepAlive, connection, completions));
                assertFalse(keepAlive.answered(completions.status(0)));
                assertEnded(connection);
                assertSame(connection, server.nextEnded());
                client.signal("CONT");
                client.await("ended: false");
            }
        }
    }

    @Test
    void shouldNoticeInALoopOfTheProgramThatACableWasCut() throws Exception {
        Lab.assumeInLab("the interface is of the lab");
        try (VethPair wire = VethPair.add("rxe");
                VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, wire.right(PORT))) {
            FutureTask<RdmaConnection> accepting =
                    new FutureTask<>(() -> server.accept(Lab.PATIENCE).orElseThrow());
            Thread.ofPlatform().start(accepting);
            // Three times after 67 milliseconds.
            RdmaConnectionOptions options = new RdmaConnectionOptions()
                    .localAddress(wire.left(0))
                    .parameters(new ConnectionParameters().retryCount(2))
                    .prepare(each -> each.id().acknowledgeTimeout(14));
            try (RdmaConnection connection = new RdmaClient(arena).connect(wire.right(PORT), options, Lab.PATIENCE);
                    RdmaConnection accepted = accepting.get(60, TimeUnit.SECONDS)) {
                KeepAlive keepAlive =
                        new KeepAlive(connection, KeepAlive.question(arena, 77), Duration.ofMillis(SILENT_MILLIS));
                WorkCompletions completions = new WorkCompletions(arena, 1);
                assertEquals(CompletionStatus.SUCCESS, ask(keepAlive, connection, completions));
                assertTrue(keepAlive.answered(CompletionStatus.SUCCESS));
                Program.run("tc", "qdisc", "add", "dev", wire.left, "root", "netem", "loss", "100%");
                assertEquals(CompletionStatus.RETRY_EXC_ERR, ask(keepAlive, connection, completions));
                assertFalse(keepAlive.answered(completions.status(0)));
                assertEnded(connection);
                assertTrue(accepted.isConnected(), "it could not be told");
            }
        }
    }

    /** Asks when it is time; what comes of it. */
    private static CompletionStatus ask(KeepAlive keepAlive, RdmaConnection connection, WorkCompletions completions)
            throws Exception {
        Bound.of(Lab.SECONDS).await("never asked", keepAlive::check);
        assertFalse(keepAlive.check());
        Bound.of(Lab.PATIENCE).await("no answer", () -> connection.sendQueue().poll(completions) > 0);
        assertEquals(77, completions.id(0));
        return completions.status(0);
    }

    /** soft0 in a network namespace of its own, as if on another machine, asks the kernel's device, until its cable is cut. */
    @Test
    void shouldNoticeThatADeviceOfTheKernelWasUnplugged() throws Exception {
        Lab.assumeInLab("it needs a device of the kernel, and an interface");
        String name = "cut";
        Program.run("bash", "-ec", """
                ip netns add $name
                ip link add ${name}0 type veth peer name ${name}1 netns $name
                ip addr add 10.81.0.1/24 dev ${name}0
                ip -n $name addr add 10.81.0.2/24 dev ${name}1
                ip -n $name link set lo up
                ip -n $name link set ${name}1 up
                ip link set ${name}0 up
                rdma link add rxe_$name type rxe netdev ${name}0
                for try in $(seq 100); do
                    grep -q ffff:0a51 /sys/class/infiniband/rxe_$name/ports/1/gids/[01] && exit 0
                    sleep 0.1
                done
                exit 1
                """.replace("$name", name).replace("${name}", name));
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress("10.81.0.1", PORT));
                Program client = Program.java(
                        List.of("ip", "netns", "exec", name, "env", "RDMA_DEVICE=soft0", "RDMA_SOFT_ADDRESS=all"),
                        Leaver.class,
                        "10.81.0.1",
                        Integer.toString(PORT),
                        "stay",
                        Integer.toString(SILENT_MILLIS),
                        Integer.toString(ANSWER_MILLIS));
                RdmaConnection connection = server.accept(Lab.PATIENCE).orElseThrow()) {
            client.await("connected");
            assertFalse(connection.awaitDisconnect(QUIET), client::toString);
            assertFalse(client.output().contains("ended"), client::toString);
            Program.run("tc", "qdisc", "add", "dev", name + "0", "root", "netem", "loss", "100%");
            client.await("ended: false");
            // Only packets to soft0 are lost, so the other side learns of its decision.
            assertEnded(connection);
        } finally {
            Program.run("ip", "netns", "delete", name);
            Process removal = VethPair.remove("rxe_" + name);
            Bound bound = Bound.of(Lab.SECONDS);
            while (removal.isAlive()) {
                bound.check("somebody has the device open");
                RdmaDevices.names();
                Thread.sleep(100);
            }
        }
    }

    @Test
    void shouldSayThatTheKernelsDevicesDoNotAskByThemselves() throws Exception {
        Lab.assumeInLab("it does");
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT))) {
            UnsupportedOperationException not = assertThrows(
                    UnsupportedOperationException.class,
                    () -> new RdmaClient(arena).connect(Lab.second(PORT), keepAlive(), Lab.SECONDS));
            assertTrue(not.getMessage().contains("KeepAlive"), not::getMessage);
        }
    }
}
