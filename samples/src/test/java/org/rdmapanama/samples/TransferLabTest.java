package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.LabDevices;

/** Transfers between two devices: all ways to connect, and all ways to end early. */
@Tag("lab")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TransferLabTest {
    private static final Duration LIMIT = Duration.ofSeconds(20);

    /** A timeout in seconds for a JVM that has just started, which is slow in a busy emulated machine. */
    private static final String COLD = "100";

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    /** A timeout in seconds that a test waits for. */
    private static final String SHORT = "10";

    /** How much longer each MiB of a checksum takes for a side that is busy. */
    private static final int BUSY_MILLIS = 100;

    /** So many MiB for each second of the timeout: a checksum takes two timeouts. */
    private static final long BUSY_SIZE = 20;

    /** Of a transfer that lasts long enough to be ended early: small messages, one after the other. */
    private static final List<String> LONG = List.of("-s", "32MiB", "--chunk", "128", "--depth", "1");

    /** Tells soon that a server is late. */
    private static final String SILENT_MILLIS = "300";

    /** Another process, for the tests in which it is not Ctrl-C that ends it. */
    private static ResidentJvm other;

    /** Another process, which is busy with checksums; null until a test needs it. */
    private static ResidentJvm busy;

    /** How the two sides meet: the options of the server and of the client. */
    private enum Way {
        CM(List.of(Lab.SECOND_HOST), List.of(Lab.SECOND_HOST, "-I", Lab.FIRST_HOST)),
        BACK(List.of(Lab.FIRST_HOST, "--cm"), List.of(Lab.FIRST_HOST, "--source", Lab.SECOND_HOST, "--cm")),
        IWARP(List.of("10.78.0.2"), List.of("10.78.0.2", "-I", "10.78.0.1")),
        IWARP_BACK(List.of("10.78.0.1"), List.of("10.78.0.1", "-I", "10.78.0.2")),
        TCP(List.of("--tcp", "-d", Lab.FIRST_DEVICE), List.of("127.0.0.1", "--tcp", "-d", Lab.SECOND_DEVICE));

        private final List<String> server;
        private final List<String> client;

        Way(List<String> server, List<String> client) {
            this.server = server;
            this.client = client;
        }

        /** Skips the test if it needs iWARP and the device is not iWARP. */
        private String[] arguments(String command, List<String> way, String port, String... more) {
            assumeTrue(
                    Lab.isInLab() || !(this == IWARP || this == IWARP_BACK),
                    () -> Lab.FIRST_DEVICE + " is not an iWARP device");
            List<String> all = new ArrayList<>(List.of(command));
            all.addAll(way);
            all.addAll(List.of("-p", port));
            all.addAll(List.of(more));
            return all.toArray(String[]::new);
        }

        String[] serving(String port, String... more) {
            return arguments("serve", server, port, more);
        }

        String[] moving(String port, String... more) {
            return arguments("transfer", client, port, more);
        }

        Run serve(String port, String... more) throws InterruptedException {
            Run run = Run.start(serving(port, more));
            run.await("waiting for a client");
            return run;
        }

        Run move(String port, String... more) {
            return Run.start(moving(port, more));
        }

        /** The arguments of a client that moves data for long. */
        String[] movingLong(String port, String timeout) {
            return moving(
                    port,
                    Stream.concat(LONG.stream(), Stream.of("--timeout", timeout))
                            .toArray(String[]::new));
        }

        Run moveLong(String port) {
            return moveLong(port, COLD);
        }

        Run moveLong(String port, String timeout) {
            return Run.start(movingLong(port, timeout));
        }
    }

    private List<String> before;

    @BeforeAll
    static void begin() throws Exception {
        System.setProperty(Patience.SILENT_MILLIS, SILENT_MILLIS);
        other = new ResidentJvm();
    }

    @AfterAll
    static void end() {
        System.clearProperty(Patience.SILENT_MILLIS);
        other.close();
        if (busy != null) {
            busy.close();
            busy = null;
        }
    }

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = resources();
    }

    /** Waits until the resources of a test are gone: the kernel keeps connection identifiers for a moment. */
    @AfterEach
    void seeThatNothingIsLeft() throws Exception {
        List<String> now = resources();
        for (int tries = 0; !now.equals(before) && tries < 100; tries++) {
            Thread.sleep(100);
            now = resources();
        }
        assertEquals(before, now);
    }

    /** Returns the kernel resources of a process, except for contexts, some of which librdmacm keeps. */
    private static List<String> resources() throws Exception {
        if (!NeedsKernelDevice.Condition.isMet()) {
            // soft0 has no resources in the kernel.
            return List.of();
        }
        return Lab.kernelResources().stream()
                .filter(line -> line.contains(" pid "))
                .toList();
    }

    private static void assertFailed(Run run, String message) throws InterruptedException {
        assertEquals(1, run.join(), run::toString);
        String last = run.err().lines().toList().getLast();
        assertTrue(last.startsWith("rdma ") && last.contains(message), run::toString);
    }

    private static void assertInterrupted(Run run) throws InterruptedException {
        assertEquals(130, run.join(), run::toString);
        assertTrue(run.err().endsWith(": interrupted; everything is closed" + System.lineSeparator()), run::toString);
    }

    private static Program program(String... arguments) throws Exception {
        return Program.java(List.of(), Rdma.class, arguments);
    }

    private static void awaitMemory(Program client, Run server) throws Exception {
        try {
            client.await("peer memory");
        } catch (AssertionError e) {
            throw new AssertionError("with " + server, e);
        }
    }

    private static void assertMoved(Run server, Run client) throws InterruptedException {
        assertEquals(0, client.join(), () -> client + "\n" + server);
        assertEquals(0, server.join(), server::toString);
        assertEquals("", server.err());
        String checksum = client.out()
                .lines()
                .filter(l -> l.contains("CRC32C"))
                .findFirst()
                .orElseThrow();
        assertTrue(checksum.contains("correct on both sides"), client::toString);
        String digits = checksum.replaceAll(".*(0x[0-9a-f]{8}).*", "$1");
        assertTrue(server.out().contains(digits + ", correct"), () -> client + "\n" + server);
    }

    @ParameterizedTest
    @CsvSource({
        "CM, 1, 256KiB, 8, 1",
        "CM, 4097, 1KiB, 1, 5",
        "CM, 100KiB, 33, 4, 3104",
        "CM, 8MiB, 8MiB, 1, 1",
        "BACK, 8MiB, 256KiB, 8, 32",
        "IWARP, 1, 256KiB, 8, 1",
        "IWARP, 100KiB, 333, 8, 308",
        "IWARP, 8MiB, 8MiB, 1, 1",
        "IWARP_BACK, 8MiB, 256KiB, 8, 32",
        "TCP, 4KiB, 256KiB, 8, 1",
        "TCP, 100KiB, 33, 4, 3104",
        "TCP, 8MiB, 256KiB, 8, 32",
    })
    void shouldMoveDataThereAndBack(Way way, String size, String chunk, String depth, int chunks) throws Exception {
        String port = Lab.portText();
        Run server = way.serve(port);
        Run client = way.move(port, "-s", size, "--chunk", chunk, "--depth", depth);
        assertMoved(server, client);
        for (String direction : List.of("WRITE", "READ")) {
            assertTrue(
                    client.out()
                            .lines()
                            .anyMatch(l -> l.startsWith("  " + direction) && l.contains("(" + chunks + " chunks)")),
                    client::toString);
            assertTrue(
                    client.err().lines().anyMatch(l -> l.startsWith("  " + direction) && l.contains("100%")),
                    client::toString);
        }
    }

    /** More than there is memory for, so that it begins anew. */
    @ParameterizedTest
    @EnumSource(names = {"CM", "TCP"})
    void shouldWarmUpBeforeItMeasures(Way way) throws Exception {
        String port = Lab.portText();
        Run server = way.serve(port);
        Run client = way.move(port, "-s", "100KiB", "--chunk", "8KiB", "--warmup", "250KiB");
        assertMoved(server, client);
        assertTrue(client.out().contains("warm-up:        250 KiB each way, not measured"), client::toString);
        List<String> bars = client.err().lines().filter(l -> l.contains("100%")).toList();
        List<String> sizes = List.of("100", "100", "100", "100", "50", "50", "100", "100");
        assertEquals(sizes.size(), bars.size(), client::toString);
        for (int i = 0; i < sizes.size(); i++) {
            String expected = sizes.get(i) + " KiB of " + sizes.get(i) + " KiB";
            assertTrue(bars.get(i).startsWith(i % 2 == 0 ? "  WRITE" : "  READ"), client::toString);
            assertTrue(bars.get(i).contains(expected), client::toString);
        }
        assertTrue(client.out().contains("(13 chunks)"), client::toString);
    }

    /** Without addresses: the server listens on all addresses, and the client chooses its own. */
    @Test
    void shouldFindADeviceByTheAddressOfThePeer() throws Exception {
        String port = Lab.portText();
        Run server = Run.start("transfer", "--serve", "-p", port);
        server.await("waiting for a client at 0.0.0.0:" + port);
        assertMoved(server, Run.start("transfer", Lab.SECOND_HOST, "-p", port, "-s", "1MiB"));
        assertTrue(server.out().contains(" through " + Lab.SECOND_DEVICE), server::toString);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void shouldWaitForAServerThatIsLate(Way way) throws Exception {
        String port = Lab.portText();
        Run client = way.move(port, "-s", "1MiB");
        client.await("yet, retrying");
        assertMoved(way.serve(port), client);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void shouldServeManyClients(Way way) throws Exception {
        String port = Lab.portText();
        Run server = way.serve(port, "-P", "--limit", "1MiB");
        for (int i = 0; i < 2; i++) {
            Run client = way.move(port, "-s", "1MiB");
            assertEquals(0, client.join(), client::toString);
            assertFailed(way.move(port, "-s", "2MiB"), "the peer refused: 2 MiB requested, 1 MiB allowed (--limit)");
        }
        server.interrupt();
        assertInterrupted(server);
        assertEquals(2, server.out().lines().filter(l -> l.contains("done:")).count(), server::toString);
        assertEquals(
                2,
                server.err()
                        .lines()
                        .filter(l -> l.contains("refused the client"))
                        .count(),
                server::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"CM", "TCP"})
    void shouldTurnAwayMoreClientsThanAllowed(Way way) throws Exception {
        String port = Lab.portText();
        Run server = way.serve(port, "-P", "--clients", "1");
        Run first = way.moveLong(port);
        first.await("peer memory");
        Run second = way.move(port, "--timeout", "3");
        assertEquals(1, second.join(), () -> second + "\n" + server);
        server.await("as many clients as --clients allows are here");
        first.interrupt();
        assertInterrupted(first);
        server.await("the peer ended the transfer early");
        Run third = way.move(port, "-s", "64KiB");
        assertEquals(0, third.join(), () -> third + "\n" + server);
        server.interrupt();
        assertInterrupted(server);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void shouldRefuseMoreThanTheServerLends(Way way) throws Exception {
        String port = Lab.portText();
        Run server = way.serve(port, "--limit", "1MiB");
        Run client = way.move(port, "-s", "2MiB");
        assertFailed(client, "the peer refused: 2 MiB requested, 1 MiB allowed (--limit)");
        assertFailed(server, "refused the client: 2 MiB requested");
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void shouldGiveUpWhenNobodyComes(Way way) throws Exception {
        Run client = way.move(Lab.portText(), "--timeout", "1");
        assertFailed(way.serve(Lab.portText(), "--timeout", "1"), "no client came to ");
        assertFailed(client, " there first, and check ");
    }

    @Test
    void shouldRefuseAChunkThatTheDeviceCannotMove() throws Exception {
        assumeTrue(Lab.isInLab(), () -> Lab.FIRST_DEVICE + " supports the largest chunk");
        String port = Lab.portText();
        assertFailed(Way.CM.move(port, "--chunk", "9MiB"), "--chunk must not exceed the port's largest message, 8 MiB");
    }

    /** Skipped on soft0, which has all addresses of its machine. */
    @Test
    void shouldNameTheCureOfAnAddressWithoutADevice() throws Exception {
        assumeTrue(Lab.isInLab(), () -> Lab.FIRST_DEVICE + " has the address");
        assertFailed(
                Run.start("transfer", "127.0.0.1", "--timeout", "2"), "give the address of an RDMA port, or --tcp");
    }

    @Test
    void shouldNameTheCureOfAWrongAddress() throws Exception {
        assertFailed(Run.start("serve", "203.0.113.1"), "this machine does not have that address");
        assertFailed(Run.start("transfer", "no.such.host.invalid"), "check the name, or give the address");
        String port = Lab.portText();
        Run server = Way.CM.serve(port);
        assertFailed(Run.start(Way.CM.serving(port)), "choose another");
        server.interrupt();
        assertInterrupted(server);
        // At an address without a host.
        String nobody = Lab.isInLab() ? "10.77.0.99" : "203.0.113.99";
        assertFailed(Run.start("transfer", nobody, "--timeout", "2"), "cannot connect to " + nobody + ":18515");
    }

    @Test
    void shouldNotConnectIwarpOverTcp() throws Exception {
        assumeTrue(Lab.isInLab(), () -> Lab.FIRST_DEVICE + " is not an iWARP device");
        String cure = "is iWARP, which only the connection manager connects: leave out --tcp";
        assertFailed(Run.start("serve", "--tcp", "-d", "siw0"), cure);
        assertFailed(Run.start("transfer", "127.0.0.1", "--tcp", "-d", "siw1"), cure);
    }

    // ---- other programs as peers

    @Test
    @NeedsKernelDevice("ibv_rc_pingpong")
    void shouldNoticeAPeerOfAnotherKindOverTcp() throws Exception {
        String port = Lab.portText();
        Run server = Way.TCP.serve(port, "--timeout", "3");
        try (Program other = Program.start(
                "ibv_rc_pingpong",
                "-d",
                Lab.SECOND_DEVICE,
                "-g",
                LabDevices.gidIndex(Lab.SECOND_DEVICE),
                "-p",
                port,
                "127.0.0.1")) {
            assertEquals(1, server.join(), () -> server + "\n" + other);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"CM", "IWARP"})
    @NeedsKernelDevice("rping")
    void shouldTurnAwayAPeerOfAnotherKind(Way way) throws Exception {
        String port = Lab.portText();
        Run server = way.serve(port);
        String address = way.server.getFirst();
        try (Program rping = Program.start("rping", "-c", "-a", address, "-I", way.client.getLast(), "-p", port)) {
            server.await("rejected " + way.client.getLast());
            assertTrue(rping.join() != 0, rping::toString);
        }
        Run client = way.move(port, "-s", "1MiB");
        assertEquals(0, client.join(), client::toString);
        assertEquals(0, server.join(), server::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"CM", "IWARP"})
    @NeedsKernelDevice("rping")
    void shouldNotTakeAnyServerForAPeer(Way way) throws Exception {
        String port = Lab.portText();
        try (Program rping =
                Program.start("stdbuf", "-oL", "rping", "-s", "-d", "-a", way.server.getFirst(), "-p", port)) {
            rping.await("rdma_listen");
            assertFailed(way.move(port), "is not an 'rdma serve' of this version: check address and port");
        }
    }

    /** A peer with the right private data that then sends messages no transfer sends, or none. */
    @ParameterizedTest
    @CsvSource({
        "16, the peer speaks another protocol",
        "128, the peer speaks another protocol",
        "0, nothing arrived from the peer",
        "129, ''",
    })
    void shouldSurviveGarbage(int bytes, String message) throws Exception {
        String port = Lab.portText();
        Run server = Way.CM.serve(port, "--timeout", "2");
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .localAddress(new InetSocketAddress(Lab.FIRST_HOST, 0))
                .privateData(CmMeeting.PROTOCOL.getBytes(StandardCharsets.US_ASCII));
        try (VerbsArena arena = VerbsArena.ofConfined();
                RdmaConnection connection = new RdmaClient(arena)
                        .connect(new InetSocketAddress(Lab.SECOND_HOST, Integer.parseInt(port)), options, LIMIT)) {
            MemoryRegion region = connection.protectionDomain().register(arena.allocate(4096), AccessFlag.LOCAL_WRITE);
            region.memory().fill((byte) 0x5a);
            if (bytes > 0) {
                connection
                        .queuePair()
                        .postSend(SendWorkRequest.allocate(arena, 1)
                                .send()
                                .add(region, 0, bytes)
                                .signaled(true));
            }
            // First, because the server waits for this side, too.
            assertTrue(connection.awaitDisconnect(LIMIT));
            assertFailed(server, message);
        }
    }

    // ---- ends

    @ParameterizedTest
    @EnumSource(Way.class)
    void shouldNoticeThatThePeerWasInterrupted(Way way) throws Exception {
        String port = Lab.portText();
        Run server = way.serve(port);
        Run client = way.moveLong(port);
        server.await("own memory");
        client.interrupt();
        assertInterrupted(client);
        assertFailed(server, "the peer ended the transfer early");

        port = Lab.portText();
        server = way.serve(port);
        client = way.moveLong(port);
        client.await("peer memory");
        server.interrupt();
        assertInterrupted(server);
        assertEquals(1, client.join(), client::toString);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void shouldEndWhenInterruptedWhileItWaits(Way way) throws Exception {
        Run server = way.serve(Lab.portText(), "--timeout", "0");
        Run client = way.move(Lab.portText(), "--timeout", "0");
        client.await("yet, retrying");
        server.interrupt();
        client.interrupt();
        assertInterrupted(server);
        assertInterrupted(client);
    }

    /** In separate JVMs, which start at the same time: Ctrl-C closes everything, on either side. */
    @ParameterizedTest
    @ValueSource(strings = {"CM", "IWARP", "TCP"})
    void shouldLeaveNothingBehindAfterCtrlC(Way way) throws Exception {
        String port = Lab.portText();
        String back = Lab.portText();
        Run server = way.serve(port, "--timeout", "120");
        try (Program client = program(way.movingLong(port, COLD));
                Program serving = program(way.serving(back, "--timeout", "120"))) {
            awaitMemory(client, server);
            client.signal("INT");
            assertEquals(130, client.join(), client::toString);
            assertTrue(client.output().contains("interrupted; everything is closed"), client::toString);
            assertFailed(server, "the peer ended the transfer early");

            serving.await("waiting for a client");
            Run moving = way.moveLong(back);
            moving.await("peer memory");
            serving.signal("INT");
            assertEquals(130, serving.join(), serving::toString);
            assertTrue(serving.output().contains("interrupted; everything is closed"), serving::toString);
            assertEquals(1, moving.join(), moving::toString);
        }
    }

    /** One process that is the client of one transfer and the server of another. */
    @ParameterizedTest
    @ValueSource(strings = {"CM", "IWARP", "TCP"})
    void shouldNoticeThatThePeerWasKilled(Way way) throws Exception {
        String port = Lab.portText();
        String back = Lab.portText();
        Run server = way.serve(port, "--timeout", "120");
        try (ResidentJvm.Command serving = other.start(way.serving(back, "--timeout", "120"))) {
            serving.await("waiting for a client");
            try (ResidentJvm.Command client = other.start(way.movingLong(port, COLD))) {
                Run moving = way.moveLong(back);
                client.await("peer memory");
                moving.await("peer memory");
                other.kill();
                assertFailed(server, "the peer ");
                assertFailed(moving, "the peer ");
            }
        }
    }

    /** The device of a stopped process still answers, but its program does not; the same with both transfers. */
    @ParameterizedTest
    @ValueSource(strings = {"CM", "IWARP", "TCP"})
    void shouldNotWaitForAPeerThatIsStopped(Way way) throws Exception {
        assumeFalse(Lab.FIRST_DEVICE.equals("soft0"), "the software device of a stopped process stops as well");
        String port = Lab.portText();
        String back = Lab.portText();
        // With -P a server waits forever for a client.
        Run server = way.serve(port, "-P", "--timeout", SHORT);
        try (ResidentJvm.Command serving = other.start(way.serving(back, "-P", "--timeout", COLD))) {
            serving.await("waiting for a client");
            // What runs for the first time takes long.
            warmUp(way);
            Run first = way.move(back, "-s", "1MiB", "--timeout", COLD);
            assertEquals(0, first.join(), first::toString);
            try (ResidentJvm.Command client = other.start(way.movingLong(port, COLD))) {
                Run moving = way.moveLong(back, SHORT);
                client.await("peer memory");
                moving.await("peer memory");
                other.signal("STOP");
                server.await("heard nothing from the peer for " + SHORT + " s");
                assertFailed(moving, "heard nothing from the peer for " + SHORT + " s");
                other.signal("CONT");
                assertEquals(1, client.join(), client::toString);
            }
        }
        server.interrupt();
        assertInterrupted(server);
    }

    /** Lets the other process move a little. */
    private static void warmUp(Way way) throws Exception {
        String port = Lab.portText();
        Run server = way.serve(port, "--timeout", COLD);
        try (ResidentJvm.Command client = other.start(way.moving(port, "-s", "1MiB", "--timeout", COLD))) {
            assertEquals(0, client.join(), () -> client + "\n" + server);
            assertEquals(0, server.join(), () -> client + "\n" + server);
        }
    }

    /**
     * A side that is busy for longer than the timeout of the other sends signs of life. Both sides are busy with checksums, of
     * which they compute three in turn. Where the machine is slow, the timeout is longer.
     */
    @ParameterizedTest
    @ValueSource(strings = {"CM", "IWARP", "TCP"})
    void shouldWaitForAPeerThatIsBusy(Way way) throws Exception {
        if (busy == null) {
            busy = new ResidentJvm("env", "JDK_JAVA_OPTIONS=-D" + CommandWorker.BUSY + "=" + BUSY_MILLIS);
        }
        // What runs for the first time takes long.
        moveSlowly(way, 1, COLD);
        long seconds = 1;
        while (true) {
            try {
                long nanos = moveSlowly(way, BUSY_SIZE * seconds, Long.toString(seconds));
                assertTrue(nanos >= 6 * seconds * NANOS_PER_SECOND, () -> "it took only " + nanos + " ns");
                return;
            } catch (AssertionError e) {
                // Without signs of life no timeout is long enough, because the size grows with it.
                if (seconds == 16 || !e.getMessage().matches("(?s).*longer (with )?--timeout.*")) {
                    throw e;
                }
                seconds *= 2;
            }
        }
    }

    /** Moves so many MiB between two sides in one JVM, and returns the nanoseconds that it took. */
    private static long moveSlowly(Way way, long size, String timeout) throws Exception {
        String port = Lab.portText();
        try (ResidentJvm.Command server = busy.start(way.serving(port, "--timeout", timeout))) {
            server.await("waiting for a client");
            long start = System.nanoTime();
            try (ResidentJvm.Command client = busy.start(way.moving(port, "-s", size + "MiB", "--timeout", timeout))) {
                // Both first, because only the side that gave up tells why.
                int ended = client.join();
                int serverEnded = server.join();
                assertEquals(0, ended, () -> client + "\n" + server);
                assertEquals(0, serverEnded, () -> client + "\n" + server);
                assertTrue(client.output().contains("correct on both sides"), client::toString);
                assertTrue(server.output().contains(", correct"), server::toString);
            }
            return System.nanoTime() - start;
        }
    }
}
