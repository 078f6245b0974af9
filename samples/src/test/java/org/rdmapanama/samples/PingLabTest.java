package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.CmId;
import org.rdmapanama.cm.ConnectionParameters;
import org.rdmapanama.cm.EventChannel;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.RpingEnd;

/** Ping with itself and with rping, in both directions. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PingLabTest {
    private static final String FIRST = Lab.FIRST_HOST;
    private static final String SECOND = Lab.SECOND_HOST;
    private static final String PINGS = "7";

    private static Run serve(String port, String... more) throws InterruptedException {
        return serveAt(SECOND, port, more);
    }

    private static Run serveAt(String address, String port, String... more) throws InterruptedException {
        List<String> arguments = new ArrayList<>(List.of("ping", "-s", "-a", address, "-p", port, "-v", "-V"));
        arguments.addAll(List.of(more));
        Run server = Run.start(arguments.toArray(String[]::new));
        server.await("waiting for clients");
        return server;
    }

    private static Run ping(String port, String size) {
        return Run.start("ping", "-c", "-a", SECOND, "-I", FIRST, "-p", port, "-C", PINGS, "-S", size, "-v", "-V");
    }

    private static Run pingTo(String address, String source, String port) {
        return Run.start("ping", "-c", "-a", address, "-I", source, "-p", port, "-C", PINGS, "-S", "4096", "-v", "-V");
    }

    private static Program rping(String... arguments) throws Exception {
        // Line-buffered, although the output is not a terminal.
        List<String> command = new ArrayList<>(List.of("stdbuf", "-oL", "rping"));
        command.addAll(List.of(arguments));
        return Program.start(command.toArray(String[]::new));
    }

    private static Program rpingClient(String port, String size) throws Exception {
        return rping("-c", "-a", SECOND, "-I", FIRST, "-p", port, "-C", PINGS, "-S", size, "-v", "-V");
    }

    private static void assertServed(Run server, int clients) throws InterruptedException {
        assertEquals(clients, count(server.out(), "server ping data: rdma-ping-6: GHIJ"), server::toString);
        assertEquals(clients, count(server.out(), ": 7 pings"), server::toString);
    }

    private static void assertPinged(Run client, String size) throws InterruptedException {
        assertEquals(0, client.join(), client::toString);
        assertEquals("", client.err(), client::toString);
        assertEquals(1, count(client.out(), "ping data: rdma-ping-6: GHIJ"), client::toString);
        assertEquals(1, count(client.out(), "7 pings of " + size + " bytes in "), client::toString);
    }

    private static void assertPinged(Program client) throws InterruptedException {
        RpingEnd.assertSucceeds(client);
        assertEquals(1, count(client.output(), "ping data: rdma-ping-6: GHIJ"), client::toString);
        assertTrue(!client.output().contains("mismatch"), client::toString);
    }

    private static int count(String text, String part) {
        return text.split(Pattern.quote(part), -1).length - 1;
    }

    @ParameterizedTest
    @ValueSource(strings = {"64", "26", "65535"})
    @NeedsKernelDevice("rping")
    void shouldServeRping(String size) throws Exception {
        String port = Lab.portText();
        Run server = serve(port);
        try (Program client = rpingClient(port, size)) {
            assertPinged(client);
        }
        assertEquals(0, server.join(), server::toString);
        assertEquals("", server.err(), server::toString);
        assertServed(server, 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"64", "26", "65535"})
    @NeedsKernelDevice("rping")
    void shouldPingRping(String size) throws Exception {
        String port = Lab.portText();
        try (Program server = rping("-s", "-a", SECOND, "-p", port, "-S", size, "-v", "-d")) {
            server.await("rdma_listen");
            assertPinged(ping(port, size), size);
            RpingEnd.assertSucceeds(server);
            assertEquals(1, count(server.output(), "server ping data: rdma-ping-6: GHIJ"), server::toString);
        }
    }

    @Test
    void shouldPingItself() throws Exception {
        String port = Lab.portText();
        Run server = serve(port);
        assertPinged(ping(port, "1000"), "1000");
        assertEquals(0, server.join(), server::toString);
        assertServed(server, 1);
    }

    @Test
    @NeedsKernelDevice("rping")
    void shouldServeManyClientsOfBothKindsUntilInterrupted() throws Exception {
        String port = Lab.portText();
        Run server = serve(port, "-P");
        List<Program> theirs = new ArrayList<>();
        try {
            for (int i = 0; i < 4; i++) {
                theirs.add(rpingClient(port, "100"));
            }
            assertPingedByMany(port);
            for (Program client : theirs) {
                assertPinged(client);
            }
        } finally {
            for (Program client : theirs) {
                client.close();
            }
        }
        endServer(server, 6);
    }

    @Test
    void shouldServeManyClientsUntilInterrupted() throws Exception {
        String port = Lab.portText();
        Run server = serve(port, "-P");
        assertPingedByMany(port);
        endServer(server, 2);
    }

    /** One is connected and says nothing, and one never completes its handshake. */
    @Test
    void shouldServeBesideClientsThatAreSilent() throws Exception {
        String port = Lab.portText();
        Run server = serve(port, "-P");
        InetSocketAddress address = new InetSocketAddress(SECOND, Integer.parseInt(port));
        try (VerbsArena arena = VerbsArena.ofShared();
                EventChannel channel = EventChannel.create()) {
            RdmaConnectionOptions options = new RdmaConnectionOptions().localAddress(new InetSocketAddress(FIRST, 0));
            RdmaConnection silent = new RdmaClient(arena).connect(address, options, Lab.SECONDS);
            CmId half = ServeLabTest.asking(channel, address);
            half.connect(new ConnectionParameters().queuePairNumber(0x20_0000));
            assertPingedByMany(port);
            awaitServed(server, 2);
            assertTrue(silent.isConnected());
        }
        server.interrupt();
        assertEquals(130, server.join(), server::toString);
    }

    private static void assertPingedByMany(String port) throws InterruptedException {
        List<Run> ours = List.of(ping(port, "64"), ping(port, "5000"));
        assertPinged(ours.get(0), "64");
        assertPinged(ours.get(1), "5000");
    }

    private static void endServer(Run server, int clients) throws InterruptedException {
        awaitServed(server, clients);
        server.interrupt();
        assertEquals(130, server.join(), server::toString);
        assertEquals(
                "rdma ping: interrupted; everything is closed", server.err().strip());
    }

    private static void awaitServed(Run server, int clients) throws InterruptedException {
        for (int tries = 0; count(server.out(), ": 7 pings") < clients && tries < 500; tries++) {
            Thread.sleep(10);
        }
        assertServed(server, clients);
    }

    @Test
    @NeedsKernelDevice("rping")
    void shouldPingAPersistentRpingWithManyClients() throws Exception {
        String port = Lab.portText();
        try (Program server = rping("-s", "-P", "-a", SECOND, "-p", port, "-S", "100", "-v", "-d")) {
            server.await("rdma_listen");
            // One after the other, because rping loses a request that arrives while it accepts another.
            Run first = Run.start("ping", "-c", "-a", SECOND, "-I", FIRST, "-p", port, "-S", "100", "-v", "-V");
            first.await("rdma-ping-6");
            assertPinged(ping(port, "100"), "100");
            assertPinged(ping(port, "100"), "100");
            first.interrupt();
            assertEquals(130, first.join(), first::toString);
            assertTrue(first.out().contains("usec/ping"), first::toString);
            assertEquals(3, count(server.output(), "server ping data: rdma-ping-6: GHIJ"), server::toString);
        }
    }

    /** With rping, in both roles, in both directions. */
    @ParameterizedTest
    @CsvSource({"10.78.0.1, 10.78.0.2", "10.78.0.2, 10.78.0.1"})
    @NeedsKernelDevice("rping")
    void shouldPingOverIwarp(String source, String address) throws Exception {
        pingBothWays(source, address);
    }

    /** A link-local address, which must name its link. From the link to itself, because the lab routes IPv4 only. */
    @Test
    @NeedsKernelDevice("rping")
    void shouldPingOverALinkOfIpv6() throws Exception {
        String address = Ipv6.ofLink("veth1");
        pingBothWays(address, address);
        pingThroughWildcard(address);
    }

    @Test
    void shouldPingItselfOverIpv6() throws Exception {
        String address = Ipv6.ofSecondHost();
        pingItself(address, address);
        pingThroughWildcard(address);
    }

    /** The wildcard address covers both address families. */
    private static void pingThroughWildcard(String address) throws Exception {
        String port = Lab.portText();
        Run server = serveAt("::", port);
        assertPinged(pingTo(address, address, port), "4096");
        assertEquals(0, server.join(), server::toString);
        assertServed(server, 1);
    }

    private static void pingBothWays(String source, String address) throws Exception {
        String port = Lab.portText();
        try (Program server = rping("-s", "-a", address, "-p", port, "-S", "4096", "-v", "-d")) {
            server.await("rdma_listen");
            assertPinged(pingTo(address, source, port), "4096");
            RpingEnd.assertSucceeds(server);
            assertEquals(1, count(server.output(), "server ping data: rdma-ping-6: GHIJ"), server::toString);
        }
        port = Lab.portText();
        Run server = serveAt(address, port);
        try (Program client =
                rping("-c", "-a", address, "-I", source, "-p", port, "-C", PINGS, "-S", "4096", "-v", "-V")) {
            assertPinged(client);
        }
        assertEquals(0, server.join(), server::toString);
        assertEquals("", server.err(), server::toString);
        assertServed(server, 1);
        pingItself(source, address);
    }

    private static void pingItself(String source, String address) throws Exception {
        String port = Lab.portText();
        Run own = serveAt(address, port);
        assertPinged(pingTo(address, source, port), "4096");
        assertEquals(0, own.join(), own::toString);
        assertServed(own, 1);
    }
}
