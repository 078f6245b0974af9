package org.rdmapanama.samples.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.samples.calls.CallMessage;
import org.rdmapanama.testing.Async;

/** A client over TCP, and servers that answer as they should, not at all, or byte by byte. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TcpTableClientTest {
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Geometry GEOMETRY = new Geometry(4096, 1, 1, 64, 128, 4, 1);
    private static final byte[] KEY = {1, 2, 3};

    /** Answers one client. */
    @FunctionalInterface
    private interface Answering {
        void answer(InputStream in, OutputStream out) throws Exception;
    }

    private static CompletableFuture<Void> serve(ServerSocket server, Answering answering) {
        return Async.start(() -> {
            try (Socket socket = server.accept()) {
                socket.setSoTimeout((int) Async.LIMIT.toMillis());
                answering.answer(socket.getInputStream(), socket.getOutputStream());
            }
            return null;
        });
    }

    /** An answer with a value of eight bytes. */
    private static byte[] answer() {
        byte[] answer = new byte[CallMessage.HEADER + 8];
        CallMessage.write(MemorySegment.ofArray(answer), Request.OK, 8, 0);
        return answer;
    }

    private static TcpTableClient client(ServerSocket server, Duration timeout) throws Exception {
        return new TcpTableClient(
                new InetSocketAddress(server.getInetAddress(), server.getLocalPort()), GEOMETRY, timeout);
    }

    private static void assertLate(Answering answering) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            CompletableFuture<Void> serving = serve(server, answering);
            try (TcpTableClient client = client(server, SHORT)) {
                TableException late = assertThrows(TableException.class, () -> client.get(KEY));
                assertTrue(late.getMessage().contains(" over TCP in 300 ms: see whether it runs"), late.getMessage());
            }
            Async.get(serving);
        }
    }

    @Test
    void shouldReportAServerThatDoesNotAnswer() throws Exception {
        assertLate((in, _) -> assertTrue(in.readAllBytes().length > KEY.length));
    }

    @Test
    void shouldLimitTheWholeCall() throws Exception {
        assertLate((in, out) -> {
            // Each byte is in time, but not all of them.
            byte[] answer = answer();
            assertTrue(in.read() >= 0);
            for (byte each : answer) {
                try {
                    out.write(each);
                } catch (IOException e) {
                    return; // the client has gone, as it should
                }
                Thread.sleep(SHORT.dividedBy(3));
            }
        });
    }

    /** Time that passes between calls does not count. */
    @Test
    void shouldServeAClientThatRests() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            CompletableFuture<Void> serving = serve(server, (in, out) -> {
                for (int i = 0; i < 2; i++) {
                    in.readNBytes(CallMessage.HEADER + KEY.length);
                    out.write(answer());
                }
            });
            Duration timeout = Duration.ofSeconds(1);
            try (TcpTableClient client = client(server, timeout)) {
                assertEquals(8, client.get(KEY));
                Thread.sleep(timeout.multipliedBy(2));
                assertEquals(8, client.get(KEY));
            }
            Async.get(serving);
        }
    }
}
