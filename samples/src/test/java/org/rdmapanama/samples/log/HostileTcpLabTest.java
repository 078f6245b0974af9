package org.rdmapanama.samples.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What nodes over TCP do with peers that say nonsense, nothing, or half of something. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostileTcpLabTest {
    private static final long CAPACITY = 1 << 20;
    private static final int MAGIC = 0x474C_0000;
    private static final Duration LIMIT = Cluster.LIMIT;

    @TempDir
    private Path folder;

    private Cluster cluster(int nodes) {
        return new Cluster(LogTransport.TCP, folder, nodes, CAPACITY, Durability.MEMORY);
    }

    private static byte[] text(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] message(TcpStream.Kind kind, int length, long first, long second, byte[] payload) {
        return ByteBuffer.allocate(TcpStream.HEADER + payload.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(MAGIC + kind.ordinal())
                .putInt(length)
                .putLong(first)
                .putLong(second)
                .put(payload)
                .array();
    }

    private static byte[] message(TcpStream.Kind kind, long first, long second, byte[] payload) {
        return message(kind, payload.length, first, second, payload);
    }

    private static byte[] request(long term) {
        byte[] greeting = new Greeting.Request(Durability.MEMORY, term, 99, 0, 0).bytes();
        return message(TcpStream.Kind.REQUEST, 0, 0, greeting);
    }

    private static Socket connect(Cluster cluster, int node) throws IOException {
        Socket socket = new Socket(
                cluster.address(node).getAddress(), cluster.address(node).getPort());
        socket.setSoTimeout((int) LIMIT.toMillis());
        return socket;
    }

    private static byte[] read(Socket socket, int length) throws IOException {
        byte[] bytes = new byte[length];
        new DataInputStream(socket.getInputStream()).readFully(bytes);
        return bytes;
    }

    private static void expect(TcpStream.Kind kind, Socket socket, int length) throws IOException {
        byte[] header = read(socket, TcpStream.HEADER);
        assertEquals(
                MAGIC + kind.ordinal(),
                ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN).getInt());
        read(socket, length);
    }

    /** Waits until the other side ends a connection. */
    private static void awaitEnd(Socket socket) throws IOException {
        try {
            while (socket.getInputStream().read() >= 0) {
                // What it said before does not matter.
            }
        } catch (SocketException e) {
            // Reset: it had not read everything.
            assertTrue(e.getMessage().contains("reset") || e.getMessage().contains("Broken pipe"), e::toString);
        }
    }

    @Test
    void shouldRejectHostileGreetings() throws Exception {
        try (Cluster cluster = cluster(2)) {
            cluster.startReplica(1);
            Random random = new Random(3);
            byte[] good = request(1);
            for (int i = 0; i < 100; i++) {
                byte[] bad = good.clone();
                if (i < 50) {
                    bad = new byte[TcpStream.HEADER + random.nextInt(200)];
                    random.nextBytes(bad);
                } else {
                    // The kind, the length, the magic number and the durability.
                    int[] places = {0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31};
                    bad[places[i % places.length]] ^= (byte) 0x88;
                }
                try (Socket socket = connect(cluster, 1)) {
                    socket.getOutputStream().write(bad);
                    awaitEnd(socket);
                }
            }
            assertEquals(0, cluster.replica(1).file().promisedTerm());
            cluster.takeOver(0).commit(text("still works"), LIMIT);
        }
    }

    @Test
    void shouldNotWaitForThoseThatSayNothing() throws Exception {
        List<Socket> silent = new ArrayList<>();
        try (Cluster cluster = cluster(2)) {
            cluster.startReplica(1);
            for (int i = 0; i < 40; i++) {
                Socket socket = connect(cluster, 1);
                silent.add(socket);
                socket.getOutputStream().write(request(50), 0, i);
            }
            Primary primary = cluster.takeOver(0);
            assertEquals(1, primary.term());
            primary.commit(text("not held up"), LIMIT);
            for (Socket each : silent) {
                awaitEnd(each);
            }
            primary.commit(text("and later"), LIMIT);
        } finally {
            for (Socket each : silent) {
                each.close();
            }
        }
    }

    /** Connects as a primary that the replica follows, with a log that is as long as its own. */
    private Socket follow(Cluster cluster, long term) throws IOException {
        Socket socket = connect(cluster, 1);
        socket.getOutputStream().write(request(term));
        expect(TcpStream.Kind.ANSWER, socket, Greeting.Answer.BYTES);
        return socket;
    }

    @Test
    void shouldEndTheConnectionToAPrimaryThatSendsNonsense() throws Exception {
        byte[] records;
        try (Arena arena = Arena.ofConfined();
                LogFile file = LogFile.open(folder.resolve("other"), CAPACITY, arena)) {
            file.append(1, text("a record"));
            records = new byte[(int) file.tail() - LogFile.FIRST + LogFile.END_MARK];
            file.buffer(LogFile.FIRST, records.length).get(records);
        }
        byte[] torn = records.clone();
        torn[LogFile.RECORD_HEADER]++;
        byte[] cut = Arrays.copyOf(records, records.length - 8);
        TcpStream.Kind kind = TcpStream.Kind.RECORDS;
        byte[][] afterJoining = {
            message(kind, LogFile.FIRST + 8, 0, records),
            message(kind, LogFile.FIRST - 8, 0, records),
            message(kind, -1, 0, records),
            message(kind, CAPACITY, 0, records),
            message(kind, LogFile.FIRST, 0, torn),
            message(kind, LogFile.FIRST, 0, cut),
            message(kind, LogFile.FIRST, -1, records),
            message(kind, -1, LogFile.FIRST, 0, records),
            message(kind, (int) CAPACITY, LogFile.FIRST, 0, records),
            message(kind, TcpStream.MAX_LENGTH + 1, LogFile.FIRST, 0, records),
            message(kind, Integer.MIN_VALUE, LogFile.FIRST, 0, records),
            message(kind, LogFile.FIRST, 1, new byte[0]),
            message(kind, LogFile.FIRST, Long.MAX_VALUE, new byte[0]),
            message(TcpStream.Kind.JOIN, LogFile.FIRST, 0, new byte[0]),
            message(TcpStream.Kind.STORED, 0, 0, new byte[0]),
            new byte[TcpStream.HEADER]
        };
        byte[][] instead = {
            message(TcpStream.Kind.JOIN, 4095, 0, new byte[0]),
            message(TcpStream.Kind.JOIN, CAPACITY, 0, new byte[0]),
            message(TcpStream.Kind.JOIN, Long.MIN_VALUE, 0, new byte[0]),
            message(TcpStream.Kind.READ, 0, 8, new byte[0]),
            message(TcpStream.Kind.READ, LogFile.FIRST, 8, new byte[0]),
            message(TcpStream.Kind.READ, LogFile.FIRST, -8, new byte[0]),
            message(TcpStream.Kind.READ, Long.MIN_VALUE, Long.MAX_VALUE, new byte[0]),
            message(kind, LogFile.FIRST, 0, records)
        };
        try (Cluster cluster = cluster(2)) {
            cluster.startReplica(1);
            long term = 0;
            for (byte[] each : instead) {
                try (Socket socket = follow(cluster, ++term)) {
                    socket.getOutputStream().write(each);
                    awaitEnd(socket);
                }
            }
            for (byte[] each : afterJoining) {
                try (Socket socket = follow(cluster, ++term)) {
                    socket.getOutputStream().write(message(TcpStream.Kind.JOIN, LogFile.FIRST, 0, new byte[0]));
                    expect(TcpStream.Kind.JOINED, socket, 0);
                    socket.getOutputStream().write(each);
                    awaitEnd(socket);
                    // One of them is refused because of its commit index only.
                    try (Socket next = follow(cluster, ++term)) {
                        next.getOutputStream().write(message(TcpStream.Kind.JOIN, LogFile.FIRST, 0, new byte[0]));
                        expect(TcpStream.Kind.JOINED, next, 0);
                    }
                }
            }
            assertEquals(0, cluster.replica(1).file().commitIndex());
            Primary primary = cluster.takeOver(0);
            primary.commit(text("still works"), LIMIT);
            assertEquals("still works", cluster.replica(1).file().record(2).text());
        }
    }

    @Test
    void shouldLeaveAPrimaryThatStopsInTheMiddleForTheNext() throws Exception {
        try (Cluster cluster = cluster(3)) {
            cluster.startReplica(1);
            try (Socket stalled = follow(cluster, 1)) {
                // Now the replica asks for records, and gets no answer.
                stalled.getOutputStream().write(message(TcpStream.Kind.JOIN, LogFile.FIRST + 800, 0, new byte[0]));
                expect(TcpStream.Kind.READ, stalled, 0);
                Primary primary = cluster.takeOver(0);
                assertEquals(2, primary.term());
                primary.commit(text("of the next one"), LIMIT);
                awaitEnd(stalled);
            }
        }
    }

    @Test
    void shouldFollowAPrimaryThatConnectsAgainWhileCatchingUp() throws Exception {
        try (Cluster cluster = cluster(2)) {
            cluster.startReplica(1);
            try (Socket stalled = follow(cluster, 1)) {
                stalled.getOutputStream().write(message(TcpStream.Kind.JOIN, LogFile.FIRST + 800, 0, new byte[0]));
                expect(TcpStream.Kind.READ, stalled, 0);
                try (Socket again = follow(cluster, 1)) {
                    awaitEnd(stalled);
                    again.getOutputStream().write(message(TcpStream.Kind.JOIN, LogFile.FIRST, 0, new byte[0]));
                    expect(TcpStream.Kind.JOINED, again, 0);
                }
            }
        }
    }

    @Test
    void shouldRejectTheTermOfAnother() throws Exception {
        try (Cluster cluster = cluster(2)) {
            cluster.startReplica(1);
            cluster.takeOver(0);
            try (Socket late = connect(cluster, 1)) {
                late.getOutputStream().write(request(1));
                ByteBuffer answer =
                        ByteBuffer.wrap(read(late, TcpStream.HEADER)).order(ByteOrder.LITTLE_ENDIAN);
                assertEquals(MAGIC + TcpStream.Kind.REJECTION.ordinal(), answer.getInt(0));
                assertEquals(1, answer.getLong(8));
                awaitEnd(late);
            }
        }
    }

    /** A primary goes on with its other replica, whatever one of them says or does not say. */
    @Test
    void shouldGoOnBesideAHostileReplica() throws Exception {
        byte[] answer = message(
                TcpStream.Kind.ANSWER, 0, 0, new Greeting.Answer(7, 0, 0, CAPACITY, 0, 0, LogFile.FIRST, 0).bytes());
        byte[][] then = {
            new byte[0],
            new byte[100],
            message(TcpStream.Kind.JOINED, 9, 0, new byte[0]),
            message(TcpStream.Kind.READ, LogFile.FIRST, CAPACITY, new byte[0]),
            message(TcpStream.Kind.READ, 0, 8, new byte[0]),
            message(TcpStream.Kind.STORED, 1, 0, new byte[0]),
            message(TcpStream.Kind.DATA, LogFile.FIRST, 0, new byte[8])
        };
        try (Cluster cluster = cluster(3);
                ServerSocket server = new ServerSocket(
                        cluster.address(2).getPort(), 5, cluster.address(2).getAddress())) {
            cluster.startReplica(1);
            List<Socket> connections = new ArrayList<>();
            Thread hostile = Thread.ofPlatform().daemon().start(() -> {
                try {
                    // Each but the last is ended by the primary, which then connects again.
                    for (int i = then.length - 1; i >= 0; i--) {
                        Socket socket = server.accept();
                        connections.add(socket);
                        socket.setSoTimeout((int) LIMIT.toMillis());
                        read(socket, request(1).length);
                        socket.getOutputStream().write(answer);
                        socket.getOutputStream().write(then[i]);
                        if (then[i].length > 0) {
                            awaitEnd(socket);
                        }
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            Primary primary = cluster.takeOver(0);
            for (int i = 0; i < 100; i++) {
                primary.commit(text("record " + i), LIMIT);
            }
            hostile.join(LIMIT);
            assertTrue(!hostile.isAlive(), "the primary does not mind what a replica says");
            assertEquals(then.length, connections.size());
            primary.commit(text("last"), LIMIT);
            assertEquals(2, primary.inStep());
            for (Socket each : connections) {
                each.close();
            }
        }
    }

    @Test
    void shouldSayThatAnotherServerIsNoReplica() throws Exception {
        try (Cluster cluster = cluster(2);
                ServerSocket server = new ServerSocket(
                        cluster.address(1).getPort(), 5, cluster.address(1).getAddress())) {
            Thread.ofPlatform().daemon().start(() -> {
                try (Socket socket = server.accept()) {
                    socket.getOutputStream().write(message(TcpStream.Kind.ANSWER, 0, 0, new byte[64]));
                    awaitEnd(socket);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            LogException wrong = assertThrows(LogException.class, () -> cluster.takeOver(0));
            assertTrue(wrong.getMessage().contains("is no replica of a log"), wrong.getMessage());
        }
    }
}
