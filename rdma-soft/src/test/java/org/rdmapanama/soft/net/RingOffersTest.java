package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.testing.Bound;

/** Two devices in one process, which do not notice: they have different ports. */
@EnabledOnOs(OS.LINUX)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RingOffersTest {
    private static final int FIRST_PORT = 21_000;
    private static final int PACKET = 1024;
    private static final int NUMBER = 0x4711;

    /** More than a new link waits for the sockets. */
    private static final int LOOKS = 200;

    @TempDir
    private Path folder;

    private Side a;
    private Side b;

    /** A device without anything but its wire. */
    private static final class Side implements RingOffers.Host, AutoCloseable {
        private final ReentrantLock lock = new ReentrantLock();
        private final Wire wire;
        private final RingOffers offers;
        private final Queue<byte[]> sent = new ConcurrentLinkedQueue<>();
        private final List<InetSocketAddress> watched = new ArrayList<>();
        private final NativeBlock mad = new NativeBlock(Mad.BYTES);

        private Side(int port, Path directory) throws IOException {
            LocalAddresses local = new LocalAddresses(List.of(InetAddress.getLoopbackAddress()), 65536);
            wire = Wire.open(
                    "test",
                    local,
                    new SoftSettings(
                            port,
                            null,
                            SoftSettings.Idle.PARK,
                            null,
                            null,
                            false,
                            SoftSettings.Segmentation.AUTO,
                            directory,
                            true,
                            null,
                            0));
            offers = new RingOffers("test", wire, this, directory);
        }

        @Override
        public void lock() {
            lock.lock();
        }

        @Override
        public void unlock() {
            wire.flush();
            lock.unlock();
        }

        @Override
        public void send(long message, InetSocketAddress to, int index) {
            byte[] bytes = new byte[Mad.BYTES];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = Memory.getByte(message + i);
            }
            sent.add(bytes);
        }

        @Override
        public void watch(InetSocketAddress peer) {
            watched.add(peer);
        }

        private Peer peer(Side other) {
            return wire.peer(other.wire.own(0));
        }

        private void offerTo(Side other) {
            lock();
            try {
                offers.offer(peer(other), 0);
            } finally {
                unlock();
            }
        }

        /** Gets a datagram of another side. */
        private void take(byte[] bytes, Side from) {
            lock();
            try {
                for (int i = 0; i < bytes.length; i++) {
                    Memory.putByte(mad.address() + i, bytes[i]);
                }
                assertTrue(RingOffers.isMessage(mad.address()));
                offers.take(mad.address(), peer(from), 0);
            } finally {
                unlock();
            }
        }

        private void takeAll(Side from) {
            for (byte[] each = from.sent.poll(); each != null; each = from.sent.poll()) {
                take(each, from);
            }
        }

        private RingLink linkTo(Side other) {
            lock();
            try {
                return peer(other).link(0);
            } finally {
                unlock();
            }
        }

        /** Sends a packet. Returns false if there is no room. */
        private boolean send(Side to, int queuePair, int psn) {
            lock();
            try {
                long packet = wire.begin(peer(to), 0, 0);
                if (packet != 0) {
                    Bth.write(packet, 0, false, 0, Bth.DEFAULT_PKEY, queuePair, false, psn);
                    Memory.zero(packet + Bth.BYTES, PACKET - Bth.BYTES);
                    wire.send(PACKET);
                }
                return packet != 0;
            } finally {
                unlock();
            }
        }

        /** Receives what there is; the numbers of the packets. */
        private List<Integer> receive(Side from) {
            List<Integer> numbers = new ArrayList<>();
            lock();
            try {
                wire.receive(64, (packet, bytes, sender, index) -> {
                    assertEquals(PACKET, bytes);
                    assertEquals(from.wire.own(0), sender.address);
                    assertEquals(0, index);
                    numbers.add(Bth.psn(packet));
                    return true;
                });
            } finally {
                unlock();
            }
            return numbers;
        }

        @Override
        public void close() {
            offers.close();
            wire.close();
            mad.free();
        }
    }

    @BeforeEach
    void open() throws IOException {
        a = new Side(FIRST_PORT, folder);
        b = new Side(FIRST_PORT, folder);
    }

    @AfterEach
    void close() throws IOException {
        a.close();
        b.close();
        assertEquals(0, files());
    }

    private long files() throws IOException {
        if (!Files.exists(folder)) {
            return 0;
        }
        try (Stream<Path> all = Files.list(folder)) {
            return all.count();
        }
    }

    /** Delivers datagrams until both have a link. */
    private void awaitLink() throws InterruptedException {
        awaitLink(a, b);
    }

    private static void awaitLink(Side one, Side other) throws InterruptedException {
        Bound.ofSeconds(30).await("no link", () -> {
            one.takeAll(other);
            other.takeAll(one);
            return one.linkTo(other) != null && other.linkTo(one) != null;
        });
    }

    private void assertTalk(Side from, Side to, int first) throws InterruptedException {
        assertTrue(from.send(to, NUMBER, first));
        assertTrue(from.send(to, NUMBER, first + 1));
        List<Integer> got = new ArrayList<>();
        Bound.ofSeconds(10).await("no packets", () -> got.addAll(to.receive(from)) && got.size() >= 2);
        assertEquals(List.of(first, first + 1), got);
    }

    @Test
    void shouldLinkAndEnd() throws Exception {
        a.offerTo(b);
        awaitLink();
        assertEquals(List.of(b.wire.own(0)), a.watched);
        assertEquals(List.of(a.wire.own(0)), b.watched);
        Bound.ofSeconds(10).await("the file has a name", () -> files() == 0);
        assertTalk(a, b, 1);
        assertTalk(b, a, 3);
        assertEquals(2, a.wire.links().received());
        assertEquals(2, b.wire.links().received());
        // Its peer learns by a datagram that it has ended, and both use sockets.
        a.lock();
        a.offers.gone(b.wire.own(0));
        a.unlock();
        assertFalse(a.wire.hasLinks());
        Bound.ofSeconds(10).await("the link has not ended", () -> {
            b.receive(a);
            return !b.wire.hasLinks();
        });
        assertTalk(a, b, 5);
        assertTalk(b, a, 7);
        assertEquals(2, b.wire.links().received());
    }

    /** Also where another link is so busy that the socket is seldom read. */
    @Test
    void shouldKeepTheOrderBesideABusyLink() throws Exception {
        try (Side busy = new Side(FIRST_PORT, folder)) {
            busy.offerTo(b);
            awaitLink(busy, b);
            assertTrue(busy.send(b, NUMBER, 1));
            Bound.ofSeconds(10).await("no packet", () -> b.receive(busy).equals(List.of(1)));
            assertTrue(a.send(b, NUMBER, 2));
            a.offerTo(b);
            awaitLink();
            assertTrue(a.send(b, NUMBER, 3));
            for (int i = 0; i < LOOKS; i++) {
                assertFalse(b.wire.receiveAtBusiest(64, (packet, bytes, sender, index) -> {
                    throw new AssertionError("a packet came before one that was sent before it");
                }));
            }
            List<Integer> got = new ArrayList<>();
            Bound.ofSeconds(10).await("no packets", () -> got.addAll(b.receive(a)) && got.size() >= 2);
            assertEquals(List.of(2, 3), got);
        }
    }

    /** A datagram that wakes a sleeper ends the look at the socket where there are packets of the link, and not without these. */
    @Test
    void shouldReadNothingBehindABell() throws Exception {
        a.offerTo(b);
        awaitLink();
        assertTalk(a, b, 1);
        try (DatagramChannel stranger = DatagramChannel.open()) {
            ByteBuffer one = ByteBuffer.allocate(1);
            long before = b.wire.received();
            for (int i = 0; i < 3; i++) {
                stranger.send(one.clear(), b.wire.own(0));
            }
            assertTrue(a.send(b, NUMBER, 3));
            assertEquals(List.of(3), b.receive(a));
            assertEquals(before + 2, b.wire.received(), "a bell and the packet");
            assertEquals(List.of(), b.receive(a));
            assertEquals(before + 4, b.wire.received(), "all others at once");
        }
    }

    /** Packets that came through the socket before the link come first. */
    @Test
    void shouldKeepTheOrder() throws Exception {
        assertTrue(a.send(b, NUMBER, 1));
        a.offerTo(b);
        awaitLink();
        assertTrue(a.send(b, NUMBER, 2));
        List<Integer> got = new ArrayList<>();
        Bound.ofSeconds(10).await("no packets", () -> got.addAll(b.receive(a)) && got.size() >= 2);
        assertEquals(List.of(1, 2), got);
        assertEquals(1, b.wire.links().received());
    }

    @Test
    void shouldHaveOneLinkWhenBothOffer() throws Exception {
        a.offerTo(b);
        b.offerTo(a);
        Bound.ofSeconds(10).await("no offers", () -> !a.sent.isEmpty() && !b.sent.isEmpty());
        awaitLink();
        assertEquals(a.linkTo(b).key, b.linkTo(a).key);
        Bound.ofSeconds(10).await("a file has a name", () -> files() == 0);
        assertTalk(a, b, 1);
        assertTalk(b, a, 3);
        assertEquals(2, a.wire.links().received());
    }

    @Test
    void shouldRepeatWhatGetsLost() throws Exception {
        a.offerTo(b);
        Bound.ofSeconds(10).await("no offer", () -> !a.sent.isEmpty());
        a.sent.clear();
        Bound.ofSeconds(10).await("not repeated", () -> !a.sent.isEmpty());
        b.takeAll(a);
        Bound.ofSeconds(10).await("no answer", () -> !b.sent.isEmpty());
        b.sent.clear();
        awaitLink();
        assertTalk(b, a, 1);
    }

    @Test
    void shouldWithdrawWhatNobodyAccepts() throws Exception {
        a.offerTo(b);
        Bound.ofSeconds(10).await("no offer", () -> files() == 1 && !a.sent.isEmpty());
        byte[] offer = a.sent.peek();
        Bound.ofSeconds(10).await("not withdrawn", () -> files() == 0);
        // It comes too late.
        b.take(offer, a);
        a.offerTo(b);
        assertNull(a.linkTo(b));
        assertNull(b.linkTo(a));
        assertTalk(a, b, 1);
    }

    /** Whoever asks whether it may sleep may ask again before it has taken the packets. */
    @Test
    void shouldNotSleepWhileThereArePackets() throws Exception {
        a.offerTo(b);
        awaitLink();
        assertFalse(b.wire.sleep());
        assertTrue(a.send(b, NUMBER, 1));
        for (int i = 0; i < 3; i++) {
            assertTrue(b.wire.sleep());
        }
        List<Integer> got = new ArrayList<>();
        Bound.ofSeconds(10).await("no packets", () -> got.addAll(b.receive(a)) && !got.isEmpty());
        assertFalse(b.wire.sleep());
    }

    /** Neither connection managers nor anybody else may use queue pair 1 through shared memory. */
    @Test
    void shouldDropDatagramsForManagement() throws Exception {
        a.offerTo(b);
        awaitLink();
        assertTalk(a, b, 1);
        assertTrue(a.send(b, Mad.QUEUE_PAIR, 3));
        assertTrue(a.send(b, 0, 4));
        assertTalk(a, b, 5);
        assertEquals(6, b.wire.links().received());
    }

    @Test
    void shouldUseSocketsWhereTheDirectoryIsMissing() throws Exception {
        b.close();
        b = new Side(FIRST_PORT, folder.resolve("missing"));
        b.offerTo(a);
        a.offerTo(b);
        Bound.ofSeconds(10).await("no offer", () -> !a.sent.isEmpty());
        Bound.ofSeconds(10).await("not withdrawn", () -> {
            b.takeAll(a);
            a.takeAll(b);
            return files() == 0;
        });
        assertTalk(a, b, 1);
        assertTalk(b, a, 3);
        assertFalse(a.wire.hasLinks());
        assertFalse(b.wire.hasLinks());
    }

    /** A peer that reads nothing for a while has no link any more. */
    @Test
    void shouldEndALinkThatStaysFull() throws Exception {
        a.offerTo(b);
        awaitLink();
        assertTalk(a, b, 1);
        int[] count = new int[1];
        while (a.send(b, NUMBER, 10 + count[0])) {
            count[0]++;
        }
        assertTrue(count[0] > 900, () -> count[0] + " packets");
        assertTrue(a.wire.isHolding());
        assertNotNull(a.linkTo(b));
        Bound.ofSeconds(10).await("the link has not ended", () -> a.send(b, NUMBER, 10 + count[0]));
        assertNull(a.linkTo(b));
        assertFalse(a.wire.isHolding());
        // What it has still reads comes first.
        List<Integer> got = new ArrayList<>();
        Bound.ofSeconds(10).await("packets are missing", () -> got.addAll(b.receive(a)) && got.size() > count[0]);
        Bound.ofSeconds(10).await("the link has not ended", () -> {
            b.receive(a);
            return !b.wire.hasLinks();
        });
        assertEquals(count[0] + 1, got.size());
    }

    /** Somebody offers what is not there, or not his: it costs a look, so many times a second, and nothing else. */
    @Test
    void shouldRefuseForgedOffers() throws Exception {
        a.offerTo(b);
        awaitLink();
        RingLink link = b.linkTo(a);
        NativeBlock mad = new NativeBlock(Mad.BYTES);
        for (int i = 0; i < 10_000; i++) {
            RingFile.Key key = RingFile.Key.random();
            RingMessage.write(mad.address(), i % 8 == 0 ? RingMessage.ACCEPT : RingMessage.OFFER, key.nameHigh(), key);
            b.lock();
            b.offers.take(mad.address(), b.peer(a), 0);
            b.unlock();
        }
        mad.free();
        assertEquals(link, b.linkTo(a));
        assertTalk(a, b, 1);
        assertTalk(b, a, 3);
        assertEquals(2, a.wire.links().received());
    }
}
