package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.ffm.Program;

/** Transfers between two devices, and all the ways in which they end early. */
@Tag("lab")
class TransferLabTest {
    private static final String HOST = "127.0.0.1";

    private static Run serve(String port, String... more) throws InterruptedException {
        Run server = Run.start(arguments(Side.FIRST, port, "--serve", more));
        server.await("waiting for a client");
        return server;
    }

    private static Run move(String port, String... more) {
        return Run.start(arguments(Side.SECOND, port, HOST, more));
    }

    private static String[] arguments(String device, String port, String role, String... more) {
        List<String> arguments = new ArrayList<>(List.of("transfer", role, "-d", device, "-p", port));
        arguments.addAll(Arrays.asList(more));
        return arguments.toArray(String[]::new);
    }

    @ParameterizedTest
    @CsvSource({
        "1, 256KiB, 8, 1",
        "4KiB, 256KiB, 8, 1",
        "4097, 1KiB, 1, 5",
        "100KiB, 33, 4, 3104",
        "8MiB, 256KiB, 8, 32",
        "8MiB, 8MiB, 1, 1",
    })
    void shouldMoveDataThereAndBack(String size, String chunk, String depth, int chunks) throws Exception {
        String port = Side.port();
        Run server = serve(port);
        Run client = move(port, "-s", size, "--chunk", chunk, "--depth", depth);
        assertEquals(0, client.join(), client::toString);
        assertEquals(0, server.join(), server::toString);
        assertEquals("", server.err());

        String checksum = client.out()
                .lines()
                .filter(l -> l.contains("CRC32C"))
                .findFirst()
                .orElseThrow();
        assertTrue(checksum.contains("right on both sides"), client::toString);
        String digits = checksum.replaceAll(".*(0x[0-9a-f]{8}).*", "$1");
        assertTrue(server.out().contains(digits + ", right"), () -> client + "\n" + server);
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

    @Test
    void shouldRefuseMoreThanTheServerLends() throws Exception {
        String port = Side.port();
        Run server = serve(port, "--limit", "1MiB");
        Run client = move(port, "-s", "2MiB");
        assertFailed(client, "the peer refuses: 2 MiB asked for, 1 MiB allowed (--limit)");
        assertFailed(server, "refused the client: 2 MiB asked for");
    }

    @Test
    void shouldGiveUpWhenNobodyComes() throws Exception {
        assertFailed(serve(Side.port(), "--timeout", "1"), "no client came to TCP port");
        Run client = move(Side.port(), "--timeout", "1");
        assertFailed(client, "start the server there first");
    }

    @Test
    void shouldNoticeAPeerOfAnotherKind() throws Exception {
        String port = Side.port();
        Run server = serve(port, "--timeout", "3");
        try (Program other = Program.start(
                "ibv_rc_pingpong", "-d", Side.SECOND, "-g", Side.gidIndex(Side.SECOND), "-p", port, HOST)) {
            assertEquals(1, server.join(), () -> server + "\n" + other);
        }
    }

    @Test
    void shouldNoticeThatThePeerWasInterrupted() throws Exception {
        String port = Side.port();
        Run server = serve(port);
        Run client = move(port, "-s", "256MiB");
        server.await("own memory");
        client.interrupt();
        assertEquals(130, client.join(), client::toString);
        assertTrue(client.err().endsWith("rdma transfer: interrupted; everything is closed" + System.lineSeparator()));
        assertFailed(server, "the peer ended the transfer early");

        port = Side.port();
        server = serve(port);
        client = move(port, "-s", "256MiB");
        client.await("peer memory");
        server.interrupt();
        assertEquals(130, server.join(), server::toString);
        assertEquals(1, client.join(), client::toString);
    }

    /** In a JVM of its own: Ctrl-C closes everything, and the kernel's lists are as before. */
    @Test
    void shouldLeaveNothingBehindAfterCtrlC() throws Exception {
        String before = resources();
        String port = Side.port();
        Run server = serve(port, "--timeout", "120");
        try (Program client = Program.java(List.of(), Rdma.class, arguments(Side.SECOND, port, HOST, "-s", "256MiB"))) {
            client.await("peer memory");
            client.signal("INT");
            assertEquals(130, client.join(), client::toString);
            assertTrue(client.output().contains("interrupted; everything is closed"), client::toString);
        }
        assertFailed(server, "the peer ended the transfer early");
        assertEquals(before, resources());
    }

    private static String resources() throws Exception {
        return Program.run("rdma", "resource", "show");
    }

    private static void assertFailed(Run run, String message) throws InterruptedException {
        assertEquals(1, run.join(), run::toString);
        String last = run.err().lines().toList().getLast();
        assertTrue(last.startsWith("rdma transfer: ") && last.contains(message), run::toString);
    }
}
