package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertThrowsExactly;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;

/** What a program may expect of the sockets of channels. The JDK's, over TCP, say what is right. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class SocketContract {
    private static final int MEGABYTE = 1 << 20;

    private ServerSocket server;
    private Socket client;
    private Socket accepted;

    abstract SelectorProvider provider();

    /** A free address to listen at. */
    abstract InetSocketAddress address();

    /** The address of a server that does not answer clients, until the test ends. */
    abstract SocketAddress silent() throws Exception;

    private ServerSocket serverSocket() throws IOException {
        return provider().openServerSocketChannel().socket();
    }

    private Socket socket() throws IOException {
        return provider().openSocketChannel().socket();
    }

    @BeforeEach
    void setUp() throws Exception {
        server = serverSocket();
        server.bind(address());
        client = socket();
        client.connect(server.getLocalSocketAddress());
        accepted = server.accept();
    }

    @AfterEach
    void tearDown() throws Exception {
        client.close();
        accepted.close();
        server.close();
    }

    private static void assertFails(String message, Executable call) {
        assertEquals(message, assertThrows(SocketException.class, call).getMessage());
    }

    @Test
    void shouldCarryBytesThroughStreams() throws Exception {
        byte[] sent = FillPattern.bytes(MEGABYTE, 1);
        CompletableFuture<?> writer = Async.start(() -> {
            OutputStream out = client.getOutputStream();
            out.write(sent[0]);
            out.write(sent, 1, MEGABYTE - 1);
            out.flush();
            client.shutdownOutput();
            return null;
        });
        InputStream in = accepted.getInputStream();
        assertEquals(Byte.toUnsignedInt(sent[0]), in.read());
        assertArrayEquals(Arrays.copyOfRange(sent, 1, MEGABYTE), in.readAllBytes());
        assertEquals(-1, in.read());
        assertEquals(-1, in.read(new byte[3], 1, 2));
        Async.get(writer);
        // The other direction still works.
        accepted.getOutputStream().write(200);
        assertEquals(200, client.getInputStream().read());
    }

    @Test
    void shouldSayHowMuchIsAvailable() throws Exception {
        InputStream in = accepted.getInputStream();
        assertEquals(0, in.available());
        client.getOutputStream().write(new byte[10]);
        Bound.of(Async.LIMIT).await("the bytes", () -> in.available() == 10);
        assertEquals(4, in.read(new byte[4]));
        assertEquals(6, in.available());
    }

    @Test
    void shouldCheckArguments() throws Exception {
        InputStream in = accepted.getInputStream();
        OutputStream out = accepted.getOutputStream();
        assertThrows(IndexOutOfBoundsException.class, () -> in.read(new byte[3], 2, 2));
        assertThrows(IndexOutOfBoundsException.class, () -> out.write(new byte[3], -1, 2));
        assertThrows(NullPointerException.class, () -> in.read(null, 0, 1));
        assertEquals(0, in.read(new byte[3], 1, 0));
        assertThrows(IllegalArgumentException.class, () -> client.setSoTimeout(-1));
        assertThrows(IllegalArgumentException.class, () -> server.setSoTimeout(-1));
        assertThrows(IllegalArgumentException.class, () -> client.setSendBufferSize(0));
        assertThrows(IllegalArgumentException.class, () -> client.setReceiveBufferSize(-1));
        assertThrows(IllegalArgumentException.class, () -> server.setReceiveBufferSize(0));
        try (Socket other = socket()) {
            assertThrows(IllegalArgumentException.class, () -> other.connect(null));
            assertThrows(IllegalArgumentException.class, () -> other.connect(address(), -1));
        }
    }

    @Test
    void shouldKnowWhereItIs() throws Exception {
        InetSocketAddress at = (InetSocketAddress) server.getLocalSocketAddress();
        assertEquals(at.getPort(), server.getLocalPort());
        assertEquals(at.getAddress(), server.getInetAddress());
        assertEquals(at, client.getRemoteSocketAddress());
        assertEquals(at.getAddress(), client.getInetAddress());
        assertEquals(at.getPort(), client.getPort());
        assertEquals(client.getLocalSocketAddress(), accepted.getRemoteSocketAddress());
        assertEquals(client.getLocalPort(), accepted.getPort());
        assertEquals(client.getLocalAddress(), accepted.getInetAddress());
        assertTrue(client.isConnected());
        assertTrue(client.isBound());
        assertFalse(client.isClosed());
        assertTrue(server.isBound());
        assertSame(client, client.getChannel().socket());
        assertSame(server, server.getChannel().socket());

        client.close();
        assertTrue(client.isClosed());
        assertFalse(client.getChannel().isOpen());
        assertEquals(at.getPort(), client.getPort());
        server.close();
        assertTrue(server.isClosed());
        assertFalse(server.getChannel().isOpen());
    }

    @Test
    void shouldKnowThatItIsNowhere() throws Exception {
        try (Socket other = socket();
                ServerSocket unbound = serverSocket()) {
            assertFalse(other.isConnected());
            assertFalse(other.isBound());
            assertEquals(0, other.getPort());
            assertEquals(-1, other.getLocalPort());
            assertNull(other.getInetAddress());
            assertNull(other.getRemoteSocketAddress());
            assertNull(other.getLocalSocketAddress());
            assertTrue(other.getLocalAddress().isAnyLocalAddress());
            assertFails("Socket is not connected", other::getInputStream);
            assertFails("Socket is not connected", other::getOutputStream);
            assertFails("Socket is not connected", other::shutdownInput);
            assertFails("Socket is not connected", other::shutdownOutput);
            assertFalse(unbound.isBound());
            assertEquals(-1, unbound.getLocalPort());
            assertNull(unbound.getInetAddress());
            assertNull(unbound.getLocalSocketAddress());
            assertFails("Socket is not bound yet", unbound::accept);
        }
    }

    @Test
    void shouldRefuseToConnectAgain() throws Exception {
        assertFails("Already connected", () -> client.connect(server.getLocalSocketAddress()));
        assertFails("Already bound", () -> client.bind(null));
        assertFails("Already bound", () -> server.bind(null));
        try (Socket other = socket();
                Socket stranger = socket()) {
            assertThrows(
                    UnknownHostException.class,
                    () -> stranger.connect(InetSocketAddress.createUnresolved("there.is.no.such.host.invalid", 1)));
            assertThrowsExactly(ConnectException.class, () -> other.connect(address(), 10_000));
            assertTrue(other.isClosed());
        }
    }

    @Test
    void shouldLimitReading() throws Exception {
        assertEquals(0, client.getSoTimeout());
        client.setSoTimeout(50);
        assertEquals(50, client.getSoTimeout());
        InputStream in = client.getInputStream();
        long start = System.nanoTime();
        assertThrowsExactly(SocketTimeoutException.class, in::read);
        assertTrue(System.nanoTime() - start >= 45_000_000);
        // It can be used after that.
        accepted.getOutputStream().write(5);
        client.setSoTimeout(30_000);
        assertEquals(5, in.read());
    }

    @Test
    void shouldLimitConnecting() throws Exception {
        SocketAddress silent = silent();
        for (int millis : new int[] {1, 1, 2, 20}) {
            Socket other = socket();
            SocketTimeoutException late =
                    assertThrowsExactly(SocketTimeoutException.class, () -> other.connect(silent, millis));
            assertTrue(late.getMessage().startsWith("Connect timed out"), late.getMessage());
            assertTrue(other.isClosed());
            assertFalse(other.isConnected());
            assertThrows(ClosedChannelException.class, () -> other.connect(silent, millis));
        }
    }

    @Test
    void shouldLimitAccepting() throws Exception {
        server.setSoTimeout(50);
        assertEquals(50, server.getSoTimeout());
        assertThrowsExactly(SocketTimeoutException.class, server::accept);
        server.setSoTimeout(30_000);
        try (Socket other = socket()) {
            CompletableFuture<?> connecting = Async.start(() -> {
                other.connect(server.getLocalSocketAddress(), 30_000);
                return null;
            });
            try (Socket answered = server.accept()) {
                Async.get(connecting);
                assertEquals(other.getLocalPort(), answered.getPort());
            }
        }
    }

    @Test
    void shouldEndDirections() throws Exception {
        assertFalse(client.isInputShutdown());
        assertFalse(client.isOutputShutdown());
        OutputStream out = client.getOutputStream();
        client.shutdownOutput();
        assertTrue(client.isOutputShutdown());
        client.shutdownOutput();
        assertFails("Socket output is shutdown", client::getOutputStream);
        assertThrowsExactly(ClosedChannelException.class, () -> out.write(1));
        InputStream in = client.getInputStream();
        client.shutdownInput();
        assertTrue(client.isInputShutdown());
        client.shutdownInput();
        assertFails("Socket input is shutdown", client::getInputStream);
        assertEquals(-1, in.read());
        assertEquals(-1, accepted.getInputStream().read());
    }

    @Test
    void shouldCloseWithItsStreams() throws Exception {
        client.getInputStream().close();
        assertTrue(client.isClosed());
        assertEquals(-1, accepted.getInputStream().read());
        accepted.getOutputStream().close();
        assertTrue(accepted.isClosed());
        client.close();
    }

    @Test
    void shouldRefuseWhatIsClosed() throws Exception {
        InputStream in = client.getInputStream();
        OutputStream out = client.getOutputStream();
        client.close();
        server.close();
        assertFails("Socket is closed", client::getInputStream);
        assertFails("Socket is closed", client::getOutputStream);
        assertFails("Socket is closed", client::getTcpNoDelay);
        assertFails("Socket is closed", () -> client.setTcpNoDelay(true));
        assertFails("Socket is closed", client::getSoTimeout);
        assertFails("Socket is closed", () -> client.setSoTimeout(1));
        assertFails("Socket is closed", server::getSoTimeout);
        assertFails("Socket is closed", server::getReceiveBufferSize);
        for (Executable each : List.<Executable>of(
                () -> client.connect(address()),
                () -> client.bind(null),
                client::shutdownInput,
                client::shutdownOutput,
                () -> client.getOption(StandardSocketOptions.TCP_NODELAY),
                server::accept,
                () -> server.bind(null),
                in::available,
                in::read,
                () -> out.write(1))) {
            assertThrows(ClosedChannelException.class, each);
        }
    }

    @Test
    void shouldWakeThoseWhoWaitWhenItCloses() throws Exception {
        CompletableFuture<Integer> reading =
                Async.start(() -> client.getInputStream().read());
        CompletableFuture<Socket> accepting = Async.start(server::accept);
        Thread.sleep(100);
        client.close();
        server.close();
        assertInstanceOf(
                AsynchronousCloseException.class,
                assertThrows(ExecutionException.class, () -> Async.get(reading)).getCause());
        assertInstanceOf(
                AsynchronousCloseException.class,
                assertThrows(ExecutionException.class, () -> Async.get(accepting))
                        .getCause());
    }

    @Test
    void shouldNotBlockAChannelThatDoesNot() throws Exception {
        InputStream in = client.getInputStream();
        OutputStream out = client.getOutputStream();
        client.getChannel().configureBlocking(false);
        server.getChannel().configureBlocking(false);
        assertThrows(IllegalBlockingModeException.class, in::read);
        assertThrows(IllegalBlockingModeException.class, () -> out.write(1));
        assertThrows(IllegalBlockingModeException.class, server::accept);
        server.setSoTimeout(10);
        assertThrows(IllegalBlockingModeException.class, server::accept);
        try (SocketChannel other = provider().openSocketChannel()) {
            other.configureBlocking(false);
            assertThrows(
                    IllegalBlockingModeException.class, () -> other.socket().connect(address()));
        }
    }

    @Test
    void shouldHaveOptions() throws Exception {
        try (Socket other = socket();
                ServerSocketChannel listening = provider().openServerSocketChannel()) {
            assertFalse(other.getTcpNoDelay());
            other.setTcpNoDelay(true);
            assertTrue(other.getTcpNoDelay());
            assertFalse(other.getKeepAlive());
            other.setKeepAlive(true);
            assertTrue(other.getKeepAlive());
            assertFalse(other.getReuseAddress());
            other.setReuseAddress(true);
            assertTrue(other.getReuseAddress());
            assertEquals(-1, other.getSoLinger());
            other.setSoLinger(true, 3);
            assertEquals(3, other.getSoLinger());
            other.setSoLinger(false, 3);
            assertEquals(-1, other.getSoLinger());
            other.setSendBufferSize(100_000);
            assertTrue(other.getSendBufferSize() >= 100_000);
            other.setReceiveBufferSize(100_000);
            assertTrue(other.getReceiveBufferSize() >= 100_000);
            assertFalse(other.getOOBInline());
            other.setTrafficClass(0x10);
            assertEquals(0x10, other.getTrafficClass());
            other.setOption(StandardSocketOptions.TCP_NODELAY, false);
            assertFalse(other.getOption(StandardSocketOptions.TCP_NODELAY));
            assertTrue(other.supportedOptions().contains(StandardSocketOptions.SO_LINGER));

            ServerSocket socket = listening.socket();
            socket.setReuseAddress(true);
            assertTrue(socket.getReuseAddress());
            socket.setReceiveBufferSize(100_000);
            assertTrue(socket.getReceiveBufferSize() >= 100_000);
            socket.setPerformancePreferences(1, 2, 3);
            assertTrue(socket.supportedOptions().contains(StandardSocketOptions.SO_RCVBUF));
            assertEquals(socket.getReceiveBufferSize(), socket.getOption(StandardSocketOptions.SO_RCVBUF));
        }
    }

    @Test
    void shouldBindBeforeItConnects() throws Exception {
        try (Socket other = socket()) {
            other.bind(new InetSocketAddress(client.getLocalAddress(), 0));
            assertTrue(other.isBound());
            int port = other.getLocalPort();
            assertTrue(port > 0);
            other.connect(server.getLocalSocketAddress());
            try (Socket answered = server.accept()) {
                assertEquals(port, answered.getPort());
                assertEquals(client.getLocalAddress(), answered.getInetAddress());
            }
        }
    }
}
