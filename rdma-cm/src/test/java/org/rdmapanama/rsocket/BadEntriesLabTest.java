package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.ProtocolException;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.Footprint;
import org.rdmapanama.cm.NativeMemory;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/**
 * Peers that write nonsense into the list of their offers and into the table of memory that they open: the device writes where
 * they said, or tells that it cannot, which ends their connection and no other one. What happens is the same where messages are
 * sends of their own, as over iWARP.
 */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class BadEntriesLabTest {
    private static final String VALUES_PROPERTY = "entries.values";

    /** What a byte is changed to: the first ones of a list. In the lab a connection takes 30 ms for each of its ends. */
    private static final int[] VALUES = Arrays.copyOf(
            new int[] {0x80, 0, 0xff, 1, 0x7f}, Integer.getInteger(VALUES_PROPERTY, Lab.isInLab() ? 1 : 5));

    private static final int PIECE = 100;
    private static final int DATA_AT = 200;
    private static final int OFFERED = 300;
    private static final long TARGET = 5000;
    private static final int MAPPINGS = 2;
    private static final int CREDITS = 90;
    private static final int MOST_MEMORY = 64 << 10;
    private static final int MOST_HEAP = 1 << 20;
    private static final byte[] DATA = FillPattern.bytes(PIECE, 1);

    /** What a peer writes, whose address and key are in it. */
    @FunctionalInterface
    private interface Entry {
        byte[] of(EntryPeer peer);
    }

    /** In a process of its own, because it looks at the memory of the process. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldBearEntries(boolean apart) throws Exception {
        List<String> options = new ArrayList<>(Program.sameProperties(VALUES_PROPERTY));
        options.add(NativeMemory.OPTION);
        try (Program alone = Program.javaWith(options, Alone.class, Boolean.toString(apart))) {
            alone.assertSucceeds();
        }
    }

    /** Bears entries. */
    static final class Alone {
        private Alone() {}

        public static void main(String[] arguments) throws Exception {
            try (Scene scene = Scene.open(Boolean.parseBoolean(arguments[0]))) {
                bear(scene);
                long heap = Footprint.now().heap();
                long memory = NativeMemory.used();
                bear(scene);
                // What was closed is freed soon; what the peers here have left to the collector is collected.
                long[] left = new long[2];
                Bound.of(Duration.ofSeconds(20))
                        .await(
                                () -> "heap and native memory have grown by " + left[0] + " and " + left[1] + " bytes",
                                () -> {
                                    left[0] = Footprint.now().heap() - heap;
                                    left[1] = NativeMemory.used() - memory;
                                    return left[0] < MOST_HEAP && left[1] < MOST_MEMORY;
                                });
            }
        }

        private static void bear(Scene scene) throws Exception {
            for (Entry each : mutations(BadEntriesLabTest::goodOffer, Offer.BYTES)) {
                scene.play(each, BadEntriesLabTest::offer);
            }
            for (Entry each : mutations(BadEntriesLabTest::goodMapping, PeerMemory.BYTES)) {
                scene.play(each, BadEntriesLabTest::map);
            }
        }
    }

    /** What a bad peer does to its victim. */
    @FunctionalInterface
    private interface Act {
        void run(EntryPeer bad, Victim victim, byte... entry) throws Exception;
    }

    /** Bad peers come one after the other, beside an honest one that stays. */
    private record Scene(VerbsArena arena, Victim.Host host, boolean apart, EntryPeer peer, Victim honest)
            implements AutoCloseable {
        static Scene open(boolean apart) throws Exception {
            VerbsArena arena = VerbsArena.ofShared();
            Victim.Host host = apart ? Victim.Apart.open(arena, MAPPINGS) : Victim.Channels.open(MAPPINGS);
            try {
                CompletableFuture<EntryPeer> peer = connect(arena, host, apart, ConnectionData.OFFERS, 0);
                Victim honest = host.accept();
                return new Scene(arena, host, apart, Async.get(peer), honest);
            } catch (Throwable e) {
                arena.close();
                throw e;
            }
        }

        private static CompletableFuture<EntryPeer> connect(
                VerbsArena arena, Victim.Host host, boolean apart, long listLength, int mappings) {
            return Async.start(() -> new EntryPeer(arena, host.address(), apart, listLength, mappings));
        }

        /** Where no client comes, it may tell why. */
        private Victim accept(CompletableFuture<EntryPeer> connecting) throws Exception {
            try {
                return host.accept();
            } catch (NoSuchElementException e) {
                Throwable told = connecting.handle((peer, failure) -> failure).getNow(null);
                if (told != null) {
                    e.addSuppressed(told);
                }
                throw e;
            }
        }

        void play(Entry entry, Act act) throws Exception {
            play(ConnectionData.OFFERS, 0, entry, act);
        }

        void play(long listLength, int mappings, Entry entry, Act act) throws Exception {
            CompletableFuture<EntryPeer> connecting = connect(arena, host, apart, listLength, mappings);
            try (Victim victim = accept(connecting);
                    EntryPeer bad = Async.get(connecting)) {
                act.run(bad, victim, entry.of(bad));
            }
            assertWorks(peer, honest);
        }

        @Override
        public void close() throws IOException {
            peer.close();
            honest.close();
            host.close();
            arena.close();
        }
    }

    /** Each byte with several values, and some more. */
    private static List<Entry> mutations(Entry good, int bytes) {
        List<Entry> all = new ArrayList<>();
        all.add(good);
        for (int i = 0; i < bytes; i++) {
            for (int value : VALUES) {
                all.add(changed(good, i, value));
            }
        }
        all.add(peer -> new byte[bytes]);
        all.add(peer -> {
            byte[] ones = new byte[bytes];
            Arrays.fill(ones, (byte) 0xff);
            return ones;
        });
        return all;
    }

    private static Entry changed(Entry good, int at, int value) {
        return peer -> {
            byte[] entry = good.of(peer);
            entry[at] = (byte) value;
            return entry;
        };
    }

    private static byte[] goodOffer(EntryPeer peer) {
        return offered(peer.address() + DATA_AT, peer.key(), OFFERED);
    }

    private static byte[] offered(long address, int key, int length) {
        return bytes(Offer.BYTES).putLong(address).putInt(key).putInt(length).array();
    }

    private static byte[] goodMapping(EntryPeer peer) {
        return mapped(TARGET, peer.address() + DATA_AT, peer.key(), OFFERED);
    }

    private static byte[] mapped(long offset, long address, int key, int length) {
        return bytes(PeerMemory.BYTES)
                .putLong(offset)
                .putLong(address)
                .putInt(key)
                .putInt(length)
                .array();
    }

    private static ByteBuffer bytes(int count) {
        return ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Offers space, and expects that it is used exactly if there is some. */
    private static void offer(EntryPeer bad, Victim victim, byte... entry) throws Exception {
        assertEquals(EntryPeer.FIRST_BYTES, victim.write(new byte[PIECE]));
        assertEquals(0, victim.write(DATA), "no space is left");
        bad.writeOffer(1, entry);
        bad.tell(StreamMessage.CREDITS, CREDITS);
        assertWorks(bad, victim);
        ByteBuffer fields = ByteBuffer.wrap(entry).order(ByteOrder.LITTLE_ENDIAN);
        long address = fields.getLong();
        int key = fields.getInt();
        int count = (int) Math.min(PIECE, Integer.toUnsignedLong(fields.getInt()));
        assertEquals(count, victim.write(DATA));
        assertArrivesOrFails(bad, victim, address, key, count);
    }

    /** Opens memory, and expects that it is written exactly if there is some. */
    private static void map(EntryPeer bad, Victim victim, byte... entry) throws Exception {
        bad.writeMapping(0, entry);
        bad.tell(StreamMessage.MAPPING, 0);
        assertWorks(bad, victim);
        ByteBuffer fields = ByteBuffer.wrap(entry).order(ByteOrder.LITTLE_ENDIAN);
        long inside = TARGET - fields.getLong();
        long address = fields.getLong() + inside;
        int key = fields.getInt();
        long size = Integer.toUnsignedLong(fields.getInt());
        int count = inside >= 0 && inside < size ? (int) Math.min(PIECE, size - inside) : 0;
        if (count == PIECE) {
            assertEquals(PIECE, victim.writeRemote(DATA, TARGET));
        } else {
            assertNotMapped(victim, TARGET + count);
        }
        assertArrivesOrFails(bad, victim, address, key, count);
    }

    private static void assertNotMapped(Victim victim, long offset) {
        SocketException missing = assertThrows(SocketException.class, () -> victim.writeRemote(DATA, TARGET));
        assertTrue(
                missing.getMessage().startsWith("offset must lie in memory that the peer has mapped: " + offset + ";"),
                missing.getMessage());
    }

    private static void assertArrivesOrFails(EntryPeer bad, Victim victim, long address, int key, int count)
            throws Exception {
        if (count > 0 && !bad.has(address, key, count)) {
            assertFails(victim);
            return;
        }
        Bound.of(Async.LIMIT).await("the data", () -> bad.holds(address, DATA, count));
        assertWorks(bad, victim);
    }

    /** A byte that the peer sends arrives. */
    private static void assertWorks(EntryPeer peer, Victim victim) throws Exception {
        peer.tell(StreamMessage.DATA, 1);
        Bound.of(Async.LIMIT).await("a byte", () -> victim.read() == 1);
    }

    /** The device tells what the peer's device has refused, or that it has ended the connection, and nothing works after that. */
    private static void assertFails(Victim victim) throws Exception {
        IOException failure = failure(victim);
        assertTrue(
                failure instanceof SocketException
                        && (Lab.isInLab() || failure.getMessage().equals("Connection reset: REM_ACCESS_ERR")),
                failure::toString);
        assertEquals(
                failure.getMessage(),
                assertThrows(IOException.class, () -> victim.write(DATA)).getMessage());
        assertThrows(IOException.class, () -> victim.writeRemote(DATA, TARGET));
    }

    private static IOException failure(Victim victim) throws Exception {
        IOException[] failure = new IOException[1];
        Bound.of(Async.LIMIT).await("a failure", () -> {
            try {
                victim.read();
            } catch (IOException e) {
                failure[0] = e;
            }
            return failure[0] != null;
        });
        return failure[0];
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTakeOffersInTheirTurnOnly(boolean apart) throws Exception {
        try (Scene scene = Scene.open(apart)) {
            scene.play(BadEntriesLabTest::goodOffer, (bad, victim, entry) -> {
                assertEquals(EntryPeer.FIRST_BYTES, victim.write(new byte[PIECE]));
                // It is the turn of the second place.
                bad.writeOffer(0, entry);
                bad.tell(StreamMessage.CREDITS, CREDITS);
                bad.tell(StreamMessage.CREDITS, CREDITS);
                assertWorks(bad, victim);
                assertEquals(0, victim.write(DATA));
                // What is announced counts, and not what the peer writes afterwards.
                bad.writeOffer(1, offered(bad.address() + DATA_AT, bad.key(), PIECE));
                bad.tell(StreamMessage.CREDITS, CREDITS);
                assertWorks(bad, victim);
                bad.writeOffer(1, offered(-1, 0, 0));
                assertEquals(PIECE, victim.write(DATA));
                assertArrivesOrFails(bad, victim, bad.address() + DATA_AT, bad.key(), PIECE);
                // The other one is taken with the next message.
                bad.tell(StreamMessage.CREDITS, CREDITS);
                assertWorks(bad, victim);
                assertEquals(PIECE, victim.write(DATA));
                assertWorks(bad, victim);
            });
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldNotTrustWhatIsSaidOfMappings(boolean apart) throws Exception {
        try (Scene scene = Scene.open(apart)) {
            scene.play(BadEntriesLabTest::goodMapping, (bad, victim, entry) -> {
                for (int place : new int[] {0, 1, MAPPINGS, 0x7fff_ffff}) {
                    bad.tell(StreamMessage.MAPPING, place);
                    assertWorks(bad, victim);
                    assertNotMapped(victim, TARGET);
                }
                // After the table.
                bad.writeMapping(MAPPINGS, entry);
                bad.tell(StreamMessage.MAPPING, MAPPINGS);
                assertWorks(bad, victim);
                assertNotMapped(victim, TARGET);
                // The two entries make one piece of memory.
                int half = PIECE / 2;
                bad.writeMapping(1, mapped(TARGET + half, bad.address() + DATA_AT + half, bad.key(), half));
                bad.writeMapping(0, mapped(TARGET, bad.address() + DATA_AT, bad.key(), half));
                assertEquals(PIECE, victim.writeRemote(DATA, TARGET));
                assertArrivesOrFails(bad, victim, bad.address() + DATA_AT, bad.key(), PIECE);
                // It takes back what it has announced.
                bad.writeMapping(0, new byte[PeerMemory.BYTES]);
                assertNotMapped(victim, TARGET);
                bad.writeMapping(0, mapped(TARGET, bad.address() + DATA_AT, ~bad.key(), PIECE));
                assertEquals(PIECE, victim.writeRemote(DATA, TARGET));
                assertFails(victim);
            });
        }
    }

    /** It has said that it has room for mappings, after a list of offers that is far too long. */
    @Test
    void shouldEndWithAPeerThatHasNoTable() throws Exception {
        try (Scene scene = Scene.open(false)) {
            scene.play(0xffff_ffffL, MAPPINGS, peer -> new byte[0], (bad, victim, nothing) -> {
                assertWorks(bad, victim);
                ((Victim.OfChannel) victim)
                        .channel()
                        .mapForRemoteWrite(Arena.ofAuto().allocate(PIECE), 0);
                assertFails(victim);
            });
        }
    }

    /** What is no message of the protocol is told as that, and other messages do no harm. */
    @Test
    void shouldBearAnyMessageApart() throws Exception {
        try (Scene scene = Scene.open(true)) {
            for (int kind = 0; kind < 8; kind++) {
                for (int number : new int[] {0, 1, 2, 3, 100, 0x8000, 0xffff, 0x10000, StreamMessage.MAX_NUMBER}) {
                    scene.play(bearing(kind, number), BadEntriesLabTest::message);
                }
            }
        }
    }

    private static Entry bearing(int kind, int number) {
        return peer -> bytes(StreamMessage.BYTES)
                .putInt(StreamMessage.of(kind, number))
                .array();
    }

    private static void message(EntryPeer bad, Victim victim, byte... text) throws Exception {
        int message = ByteBuffer.wrap(text).order(ByteOrder.LITTLE_ENDIAN).getInt();
        int number = StreamMessage.number(message);
        bad.send(text);
        switch (StreamMessage.kind(message)) {
            case StreamMessage.DATA -> {
                if (number > Victim.Apart.HALF) {
                    assertEquals(
                            "the peer wrote " + number + " bytes, and had room for " + Victim.Apart.HALF
                                    + " in the receive buffer",
                            protocolFailure(victim));
                } else {
                    assertReads(victim, number);
                    assertWorks(bad, victim);
                }
            }
            case StreamMessage.CREDITS, StreamMessage.MAPPING -> assertWorks(bad, victim);
            case StreamMessage.CONTROL -> {
                if (number == StreamMessage.DISCONNECT || number == StreamMessage.SHUTDOWN) {
                    Bound.of(Async.LIMIT).await("the end", () -> victim.read() == -1);
                } else {
                    assertWorks(bad, victim);
                }
            }
            default ->
                assertEquals(
                        "the peer sent a message of an unknown kind: " + StreamMessage.kind(message),
                        protocolFailure(victim));
        }
    }

    private static void assertReads(Victim victim, int bytes) throws Exception {
        for (int i = 0; i < bytes; i++) {
            Bound.of(Async.LIMIT).await("a byte", () -> victim.read() == 1);
        }
        assertEquals(0, victim.read());
    }

    private static String protocolFailure(Victim victim) throws Exception {
        return assertInstanceOf(ProtocolException.class, failure(victim)).getMessage();
    }

    /** A longer message does not fit into the receive of the victim. */
    @ParameterizedTest
    @CsvSource({
        "false, 0, the peer sent a message without immediate data",
        "false, 4, Connection reset: LOC_",
        "true, 0, the peer's messages must have 4 bytes: 0",
        "true, 1, the peer's messages must have 4 bytes: 1",
        "true, 3, the peer's messages must have 4 bytes: 3",
        "true, 5, Connection reset: LOC_",
        "true, 64, Connection reset: LOC_",
    })
    void shouldTellThatAMessageHasAWrongLength(boolean apart, int length, String expected) throws Exception {
        try (Scene scene = Scene.open(apart)) {
            scene.play(peer -> new byte[length], (bad, victim, text) -> {
                bad.send(text);
                String message = failure(victim).getMessage();
                assertTrue(message.startsWith(expected), message);
            });
        }
    }

    @Test
    void shouldEndWithAPeerThatSendsMoreMessagesApartThanItMay() throws Exception {
        try (Scene scene = Scene.open(true)) {
            scene.play(peer -> new byte[0], (bad, victim, nothing) -> {
                for (int i = 0; i <= Victim.Apart.MESSAGES; i++) {
                    bad.tell(StreamMessage.DATA, 1);
                    // It takes the message, and reads nothing.
                    assertEquals(0, victim.write());
                }
                for (int i = 0; i < Victim.Apart.MESSAGES; i++) {
                    assertEquals(1, victim.read());
                }
                assertEquals(
                        "the peer sent more than " + Victim.Apart.MESSAGES
                                + " messages, which is as many as it had credits for",
                        protocolFailure(victim));
            });
        }
    }
}
