package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.LabDevices;

/** Ping-pong with itself and with the programs of rdma-core, over every transport, polling and sleeping. */
@Tag("lab")
class PingPongLabTest {
    private static final String HOST = "127.0.0.1";
    private static final int ITERATIONS = 60;

    static Stream<Arguments> waysToPlay() {
        return Stream.of(Transport.rc, Transport.uc, Transport.ud, Transport.tcp)
                .flatMap(transport -> Stream.of(Arguments.of(transport, false), Arguments.of(transport, true)));
    }

    static Stream<Arguments> waysToPlayWithC() {
        return waysToPlay().filter(each -> each.get()[0] != Transport.tcp);
    }

    private static String[] ours(String device, Transport transport, boolean events, String port, String... more) {
        List<String> arguments = new ArrayList<>(List.of(
                "pingpong",
                "-t",
                transport.name(),
                "-d",
                device,
                "-p",
                port,
                "-n",
                Integer.toString(ITERATIONS),
                "-c"));
        if (events) {
            arguments.add("-e");
        }
        arguments.addAll(Arrays.asList(more));
        return arguments.toArray(String[]::new);
    }

    private static Program theirs(String device, Transport transport, boolean events, String port, String... more)
            throws IOException {
        List<String> command = new ArrayList<>(List.of(
                "ibv_" + transport + "_pingpong",
                "-d",
                device,
                "-g",
                LabDevices.gidIndex(device),
                "-p",
                port,
                "-n",
                Integer.toString(ITERATIONS),
                "-c"));
        if (events) {
            command.add("-e");
        }
        command.addAll(Arrays.asList(more));
        return Program.start(command.toArray(String[]::new));
    }

    private static void assertPlayed(Run run, int size) throws InterruptedException {
        assertEquals(0, run.join(), run::toString);
        assertEquals("", run.err().replaceAll(".*retrying\\R", ""), run::toString);
        assertTrue(run.out().contains((long) size * ITERATIONS * 2 + " bytes in "), run::toString);
        assertTrue(run.out().contains(ITERATIONS + " iters in "), run::toString);
        assertTrue(run.out().contains("p50 "), run::toString);
        assertTrue(run.out().contains("every byte of the last message is correct"), run::toString);
    }

    private static void assertPlayed(Program program, int size) throws InterruptedException {
        assertEquals(0, program.join(), program::toString);
        assertTrue(program.output().contains((long) size * ITERATIONS * 2 + " bytes in "), program::toString);
        assertTrue(!program.output().contains("invalid data"), program::toString);
    }

    @ParameterizedTest
    @MethodSource("waysToPlay")
    void shouldPlayAgainstItself(Transport transport, boolean events) throws Exception {
        String port = Lab.portText();
        Run server = Run.start(ours(Lab.FIRST_DEVICE, transport, events, port));
        server.await("waiting for a client");
        Run client = Run.start(ours(Lab.SECOND_DEVICE, transport, events, port, HOST));
        assertPlayed(client, transport.defaultSize);
        assertPlayed(server, transport.defaultSize);
    }

    @ParameterizedTest
    @MethodSource("waysToPlayWithC")
    @NeedsKernelDevice("the C program")
    void shouldPlayAsClientOfACServer(Transport transport, boolean events) throws Exception {
        String port = Lab.portText();
        try (Program server = theirs(Lab.FIRST_DEVICE, transport, events, port)) {
            Run client = Run.start(ours(Lab.SECOND_DEVICE, transport, events, port, HOST));
            assertPlayed(client, transport.defaultSize);
            assertPlayed(server, transport.defaultSize);
        }
    }

    @ParameterizedTest
    @MethodSource("waysToPlayWithC")
    @NeedsKernelDevice("the C program")
    void shouldPlayAsServerOfACClient(Transport transport, boolean events) throws Exception {
        String port = Lab.portText();
        Run server = Run.start(ours(Lab.FIRST_DEVICE, transport, events, port));
        server.await("waiting for a client");
        try (Program client = theirs(Lab.SECOND_DEVICE, transport, events, port, HOST)) {
            assertPlayed(server, transport.defaultSize);
            assertPlayed(client, transport.defaultSize);
        }
    }

    /** More messages than receives, sizes around that of a packet, and inline messages. */
    @ParameterizedTest
    @MethodSource("sizes")
    void shouldPlayWithOtherSizes(Transport transport, int size, int depth) throws Exception {
        String port = Lab.portText();
        String[] options = {"-s", Integer.toString(size), "-r", Integer.toString(depth), "-m", "512", "-e"};
        Run server = Run.start(ours(Lab.FIRST_DEVICE, transport, false, port, options));
        server.await("waiting for a client");
        String[] withHost = Arrays.copyOf(options, options.length + 1);
        withHost[options.length] = HOST;
        Run client = Run.start(ours(Lab.SECOND_DEVICE, transport, false, port, withHost));
        assertPlayed(client, size);
        assertPlayed(server, size);
    }

    @Test
    @NeedsKernelDevice("the C program")
    void shouldWarmUpBeforeItMeasures() throws Exception {
        String port = Lab.portText();
        Run server = Run.start(ours(Lab.FIRST_DEVICE, Transport.rc, true, port, "--warmup", "40"));
        server.await("waiting for a client");
        // To a C program all round trips are the same.
        try (Program client = Program.start(
                "ibv_rc_pingpong",
                "-d",
                Lab.SECOND_DEVICE,
                "-g",
                LabDevices.gidIndex(Lab.SECOND_DEVICE),
                "-p",
                port,
                "-n",
                Integer.toString(ITERATIONS + 40),
                "-e",
                "-c",
                HOST)) {
            assertPlayed(server, Transport.rc.defaultSize);
            assertEquals(0, client.join(), client::toString);
        }
    }

    static Stream<Arguments> sizes() {
        return Stream.of(
                Arguments.of(Transport.rc, 1, 2),
                Arguments.of(Transport.rc, 513, 1),
                Arguments.of(Transport.rc, 100_000, 500),
                Arguments.of(Transport.uc, 16, 10),
                Arguments.of(Transport.ud, 1, 3),
                Arguments.of(Transport.ud, 1000, 100),
                Arguments.of(Transport.tcp, 1, 1),
                Arguments.of(Transport.tcp, 1_000_000, 1));
    }

    @Test
    void shouldGiveUpWhenNobodyComes() throws Exception {
        Run server = Run.start("pingpong", "-d", Lab.FIRST_DEVICE, "-p", Lab.portText(), "--timeout", "1");
        Run client = Run.start("pingpong", "-d", Lab.FIRST_DEVICE, "-p", Lab.portText(), "--timeout", "1", HOST);
        assertFailed(server, "no client came to TCP port");
        assertEquals(1, client.join(), client::toString);
        assertTrue(client.err().contains("start the server there first"), client::toString);
    }

    @Test
    @NeedsKernelDevice("the C program")
    void shouldGiveUpWhenThePeerDies() throws Exception {
        String port = Lab.portText();
        try (Program server = Program.start(
                "ibv_rc_pingpong",
                "-d",
                Lab.FIRST_DEVICE,
                "-g",
                LabDevices.gidIndex(Lab.FIRST_DEVICE),
                "-p",
                port,
                "-n",
                "1000000")) {
            Run client = Run.start(
                    "pingpong", "-d", Lab.SECOND_DEVICE, "-p", port, "-n", "1000000", "-e", "--timeout", "4", HOST);
            client.await("remote address");
            Thread.sleep(500);
            server.signal("KILL");
            assertEquals(1, client.join(), client::toString);
            String message = client.err().lines().toList().getLast();
            assertTrue(message.contains("of 1000000 messages"), client::toString);
            assertTrue(message.contains("queue pair"), client::toString);
        }
    }

    @Test
    void shouldReportAMessageThatIsTooLong() throws Exception {
        String port = Lab.portText();
        Run server = Run.start("pingpong", "-d", Lab.FIRST_DEVICE, "-p", port, "-s", "64", "--timeout", "4");
        server.await("waiting for a client");
        Run client = Run.start("pingpong", "-d", Lab.SECOND_DEVICE, "-p", port, "-s", "4096", "--timeout", "4", HOST);
        assertFailed(server, "on queue pair");
        assertEquals(1, client.join(), client::toString);
        assertTrue(client.err().contains("REM_") && client.err().contains("differ in size"), client::toString);
    }

    @Test
    void shouldGiveUpOnATcpPeerThatIsSilentOrLeaves() throws Exception {
        String port = Lab.portText();
        Run server = Run.start("pingpong", "-t", "tcp", "-p", port, "--timeout", "1");
        server.await("waiting for a client");
        try (Socket silent = new Socket(HOST, Integer.parseInt(port))) {
            assertFailed(server, "nothing arrived for 1 s, after 0 of 1000 messages");
            assertTrue(silent.isConnected());
        }
        port = Lab.portText();
        server = Run.start("pingpong", "-t", "tcp", "-p", port);
        server.await("waiting for a client");
        Run client = Run.start("pingpong", "-t", "tcp", "-p", port, "-n", "10", HOST);
        assertFailed(server, "the peer closed the connection after 10 of 1000 messages");
        assertEquals(0, client.join(), client::toString);
    }

    @Test
    void shouldEndWhenInterrupted() throws Exception {
        Run waiting = Run.start("pingpong", "-d", Lab.FIRST_DEVICE, "-p", Lab.portText());
        waiting.await("waiting for a client");
        waiting.interrupt();
        assertInterrupted(waiting);

        Run waitingOverTcp = Run.start("pingpong", "-t", "tcp", "-p", Lab.portText());
        waitingOverTcp.await("waiting for a client");
        waitingOverTcp.interrupt();
        assertInterrupted(waitingOverTcp);

        for (String how : List.of("--events", "--stacktrace")) {
            String port = Lab.portText();
            String[] common = {"pingpong", "-d", "", "-p", port, "-n", "1000000", "--timeout", "3"};
            Run server = Run.start(with(common, Lab.FIRST_DEVICE, how));
            server.await("waiting for a client");
            Run client = Run.start(with(common, Lab.SECOND_DEVICE, how, HOST));
            client.await("remote address");
            Thread.sleep(300);
            server.interrupt();
            assertInterrupted(server);
            assertEquals(1, client.join(), client::toString);
        }
    }

    private static String[] with(String[] common, String device, String... more) {
        String[] all = Arrays.copyOf(common, common.length + more.length);
        all[2] = device;
        System.arraycopy(more, 0, all, common.length, more.length);
        return all;
    }

    private static void assertInterrupted(Run run) throws InterruptedException {
        assertEquals(130, run.join(), run::toString);
        assertEquals(
                "rdma pingpong: interrupted; everything is closed", run.err().strip());
    }

    @Test
    void shouldExplainWrongDevicePortAndGid() throws Exception {
        assertFailed(Run.start("pingpong", "-d", "nosuch0"), "the devices present are");
        assertFailed(
                Run.start("pingpong", "-d", Lab.FIRST_DEVICE, "-i", "7"),
                "port of " + Lab.FIRST_DEVICE + " must be between 1 and 1: 7");
        assertFailed(Run.start("pingpong", "-d", Lab.FIRST_DEVICE, "-g", "200"), "GID index 200");
        assertFailed(
                Run.start("pingpong", "-d", Lab.FIRST_DEVICE, "-t", "srd"),
                Lab.FIRST_DEVICE + " has no SRD, which is the transport of EFA devices: choose another device");
        Run tooLong = Run.start("pingpong", "-d", Lab.FIRST_DEVICE, "-t", "ud", "-s", "64KiB");
        assertEquals(2, tooLong.join(), tooLong::toString);
        assertTrue(tooLong.err().contains("the port's MTU"), tooLong::toString);
    }

    private static void assertFailed(Run run, String message) throws InterruptedException {
        assertEquals(1, run.join(), run::toString);
        assertEquals(1, run.err().lines().count(), run::toString);
        assertTrue(run.err().contains(message), run::toString);
    }
}
