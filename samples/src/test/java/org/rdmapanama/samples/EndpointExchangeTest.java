package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.ClosedByInterruptException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.testing.Bound;

/** Checks byte by byte that the messages over TCP are those that the C programs send and expect. */
class EndpointExchangeTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final String LINE = "0000:000011:3dd5a4:00000000000000000000ffff0a4d0001";
    private static final Endpoint ENDPOINT = Endpoint.parse(LINE);
    private static final Endpoint FULL = Endpoint.parse(LINE + ";gid=roce2;mtu=1024;initiator=16;target=16");

    /** Number of bytes that the C programs read and write at once. */
    private static final int LINE_BYTES = 52;

    private static final Endpoint OTHER = new Endpoint(0xabcd, 0xff_ffff, 0, Gid.ZERO);

    /** What our own programs exchange, followed by other bytes. */
    @Test
    void shouldTellEachOtherMoreThanACProgramReads() throws Exception {
        int port = freePort();
        try (EndpointExchange.Listener listener = new EndpointExchange.Listener(port)) {
            FutureTask<Endpoint> server = inThread(() -> {
                try (EndpointExchange exchange = listener.accept(TIMEOUT, TIMEOUT)) {
                    Endpoint remote = exchange.receive();
                    exchange.receiveDone();
                    return remote;
                }
            });
            try (EndpointExchange exchange = EndpointExchange.connect("localhost", port, TIMEOUT, () -> {})) {
                assertTrue(exchange.peer().isLoopbackAddress());
                exchange.send(FULL);
                exchange.sendDone();
                assertEquals(FULL, server.get(20, TimeUnit.SECONDS));
            }
        }
    }

    private static byte[] zeroTerminated(String text) {
        return (text + "\0").getBytes(StandardCharsets.US_ASCII);
    }

    private static <T> FutureTask<T> inThread(Callable<T> action) {
        FutureTask<T> task = new FutureTask<>(action);
        Thread.ofPlatform().daemon().start(task);
        return task;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    @Test
    void shouldSpeakAsACClientExpects() throws Exception {
        int port = freePort();
        try (EndpointExchange.Listener listener = new EndpointExchange.Listener(port)) {
            FutureTask<Endpoint> server = inThread(() -> {
                try (EndpointExchange exchange = listener.accept(TIMEOUT, TIMEOUT)) {
                    Endpoint remote = exchange.receive();
                    exchange.sendPingPong(OTHER);
                    exchange.receiveDone();
                    return remote;
                }
            });
            try (Socket client = new Socket(InetAddress.getLoopbackAddress(), port)) {
                client.getOutputStream().write(zeroTerminated(LINE));
                InputStream in = client.getInputStream();
                assertArrayEquals(
                        zeroTerminated("abcd:ffffff:000000:00000000000000000000000000000000"),
                        in.readNBytes(LINE_BYTES));
                client.getOutputStream().write(zeroTerminated("done"));
                assertEquals(ENDPOINT, server.get(20, TimeUnit.SECONDS));
            }
        }
    }

    @Test
    void shouldSpeakAsACServerExpects() throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            FutureTask<byte[]> server = inThread(() -> {
                try (Socket socket = listener.accept()) {
                    byte[] line = socket.getInputStream().readNBytes(LINE_BYTES);
                    socket.getOutputStream().write(zeroTerminated(LINE));
                    assertArrayEquals(
                            zeroTerminated("done"), socket.getInputStream().readAllBytes());
                    return line;
                }
            });
            try (EndpointExchange exchange =
                    EndpointExchange.connect("localhost", listener.getLocalPort(), TIMEOUT, () -> {})) {
                exchange.sendPingPong(OTHER);
                assertEquals(ENDPOINT, exchange.receive());
                exchange.sendDone();
            }
            assertArrayEquals(
                    zeroTerminated("abcd:ffffff:000000:00000000000000000000000000000000"),
                    server.get(20, TimeUnit.SECONDS));
        }
    }

    @Test
    void shouldWaitForAServerThatStartsLater() throws Exception {
        int port = freePort();
        FutureTask<Void> late = new FutureTask<>(() -> {
            try (EndpointExchange.Listener listener = new EndpointExchange.Listener(port);
                    EndpointExchange exchange = listener.accept(TIMEOUT, TIMEOUT)) {
                exchange.send(ENDPOINT);
                return null;
            }
        });
        try (EndpointExchange exchange = EndpointExchange.connect(
                "localhost", port, TIMEOUT, () -> Thread.ofPlatform().daemon().start(late))) {
            assertEquals(ENDPOINT, exchange.receive());
        }
        late.get(20, TimeUnit.SECONDS);
    }

    @Test
    void shouldGiveUpWhenNobodyListens() throws Exception {
        int port = freePort();
        Failure failure =
                assertThrows(Failure.class, () -> EndpointExchange.connect("localhost", port, SHORT, () -> {}));
        assertTrue(failure.getMessage().contains("start the server there first"), failure::getMessage);
    }

    @Test
    void shouldNameAnUnknownHost() {
        Failure failure =
                assertThrows(Failure.class, () -> EndpointExchange.connect("no.such.host.invalid", 1, SHORT, () -> {}));
        assertEquals("unknown host 'no.such.host.invalid'", failure.getMessage());
    }

    @Test
    void shouldGiveUpWhenNoClientComes() throws Exception {
        try (EndpointExchange.Listener listener = new EndpointExchange.Listener(freePort())) {
            Failure failure = assertThrows(Failure.class, () -> listener.accept(SHORT, SHORT));
            assertTrue(failure.getMessage().startsWith("no client came"), failure::getMessage);
        }
    }

    @Test
    void shouldSayThatThePortIsTaken() throws Exception {
        try (ServerSocket taken = new ServerSocket(0)) {
            Failure failure = assertThrows(Failure.class, () -> new EndpointExchange.Listener(taken.getLocalPort()));
            assertTrue(failure.getMessage().contains("choose another with -p"), failure::getMessage);
        }
    }

    @Test
    void shouldNotWaitForASilentPeer() throws Exception {
        failsWith("did not say the address of its queue pair within 0 s: see", SHORT, new byte[0], false);
    }

    @Test
    void shouldNoticeAPeerThatHangsUp() throws Exception {
        failsWith(
                "closed the connection before it said the address of its queue pair: see", TIMEOUT, new byte[0], true);
        failsWith("closed the connection", TIMEOUT, "0000:0000".getBytes(StandardCharsets.US_ASCII), true);
    }

    @Test
    void shouldRefuseAnotherProtocol() throws Exception {
        failsWith(
                "sent 'HTTP/1.1 400 Bad Request' when it should have said the address of its queue pair, so it is another"
                        + " kind of server: give the host and the port (-p) where",
                TIMEOUT,
                "HTTP/1.1 400 Bad Request\r\n".repeat(3).getBytes(StandardCharsets.US_ASCII),
                true);
    }

    @Test
    void shouldNotReadWithoutEnd() throws Exception {
        failsWith(
                "sent '" + "0".repeat(40) + "...' when",
                TIMEOUT,
                "0".repeat(1000).getBytes(StandardCharsets.US_ASCII),
                false);
        failsWith("sent bytes that are not text when", TIMEOUT, new byte[] {(byte) 0xff, '0', 0}, false);
    }

    private static void failsWith(String message, Duration timeout, byte[] sent, boolean hangUp) throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                EndpointExchange exchange =
                        EndpointExchange.connect("localhost", listener.getLocalPort(), timeout, () -> {});
                Socket socket = listener.accept()) {
            OutputStream out = socket.getOutputStream();
            out.write(sent);
            if (hangUp) {
                socket.shutdownOutput();
            }
            Failure failure = assertThrows(Failure.class, exchange::receive);
            assertTrue(
                    failure.getMessage().startsWith("localhost:" + listener.getLocalPort() + " "), failure::getMessage);
            assertTrue(failure.getMessage().contains(message), failure::getMessage);
        }
    }

    /** The first bytes of 'rdma perf'. */
    @Test
    void shouldNameAServerOfAnotherKind() throws Exception {
        failsWith(
                "sent 'RPpf' when it should have said the address of its queue pair, so it is another kind of server: give",
                TIMEOUT,
                new byte[] {'R', 'P', 'p', 'f', 0, 3},
                false);
    }

    @Test
    void shouldNameAClientOfAnotherKind() throws Exception {
        int port = freePort();
        try (EndpointExchange.Listener listener = new EndpointExchange.Listener(port);
                Socket client = new Socket(InetAddress.getLoopbackAddress(), port);
                EndpointExchange exchange = listener.accept(TIMEOUT, TIMEOUT)) {
            client.getOutputStream().write("GET / HTTP/1.1\r\n".getBytes(StandardCharsets.US_ASCII));
            Failure failure = assertThrows(Failure.class, exchange::receive);
            assertEquals(
                    "the client at 127.0.0.1:" + client.getLocalPort() + " sent 'GET / HTTP/1.1' when it should have"
                            + " said the address of its queue pair, so it is another kind of client: let the peer of"
                            + " this command connect here",
                    failure.getMessage());
        }
    }

    @Test
    void shouldEndWhenInterrupted() throws Exception {
        try (EndpointExchange.Listener listener = new EndpointExchange.Listener(freePort())) {
            Thread tester = Thread.currentThread();
            Thread.ofPlatform().daemon().start(() -> {
                try {
                    Thread.sleep(300);
                } catch (InterruptedException e) {
                    return;
                }
                tester.interrupt();
            });
            assertThrows(ClosedByInterruptException.class, () -> listener.accept(TIMEOUT, TIMEOUT));
            assertTrue(Thread.interrupted());
        }
    }

    @Test
    void shouldNoticeWhenThePeerHangsUp() throws Exception {
        int port = freePort();
        try (EndpointExchange.Listener listener = new EndpointExchange.Listener(port)) {
            FutureTask<EndpointExchange> accepted = inThread(() -> listener.accept(TIMEOUT, TIMEOUT));
            EndpointExchange right;
            try (EndpointExchange left = EndpointExchange.connect("localhost", port, TIMEOUT, () -> {})) {
                right = accepted.get(20, TimeUnit.SECONDS);
                assertTrue(left.isPeerThere());
                assertTrue(right.isPeerThere());
            }
            try (right) {
                Bound bound = Bound.of(TIMEOUT);
                while (right.isPeerThere()) {
                    bound.check("the peer is gone, and was not missed");
                    Thread.sleep(20);
                }
            }
        }
    }
}
