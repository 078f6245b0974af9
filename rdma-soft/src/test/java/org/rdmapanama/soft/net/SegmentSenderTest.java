package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.InvariantCrc;

/** Packets for a kernel that refuses some calls. */
class SegmentSenderTest {
    private static final int BYTES = 100;
    private static final int MANY = 5;

    /** Where the number of a packet is, behind its header. */
    private static final int NUMBER = 12;

    private final InetSocketAddress own = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 4791);
    private final Peers peers = new Peers(any -> true, own);
    private Peer peer = peers.at(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 4792));
    private final InvariantCrc crc = new InvariantCrc();

    /** The numbers of the packets that were sent, and their IPv4 identifications. */
    private final List<Integer> sent = new ArrayList<>();

    private final List<Integer> identifications = new ArrayList<>();
    private final List<Integer> lost = new ArrayList<>();

    /** The errno of the next calls; none of them when it is empty. */
    private final List<Integer> refusals = new ArrayList<>();

    /** Whether the kernel divides packets. */
    private boolean divides = true;

    /** The sizes of the packets of each call that succeeded. */
    private final List<List<Integer>> calls = new ArrayList<>();

    /** How many segments each of those was divided into, as the kernel was told: none of one packet. */
    private final List<Integer> segments = new ArrayList<>();

    private final SegmentSender sender =
            new SegmentSender(0, this::call, crc, null, (to, bytes, errno) -> lost.add(errno));

    private int call(long data, int bytes, int segmentBytes, byte... to) {
        if (!refusals.isEmpty()) {
            int errno = refusals.removeFirst();
            if (errno != 0) {
                return -errno;
            }
        }
        if (segmentBytes > 0 && !divides) {
            return -Errno.EIO;
        }
        ByteBuffer packets = ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
        Memory.copy(data, MemorySegment.ofBuffer(packets).address(), bytes);
        int size = segmentBytes > 0 ? segmentBytes : bytes;
        List<Integer> sizes = new ArrayList<>();
        calls.add(sizes);
        segments.add(segmentBytes);
        for (int i = 0; i * size < bytes; i++) {
            int length = Math.min(size, bytes - i * size);
            sizes.add(length);
            identifications.add(crc.identification(peer.toThem(0), packets, i * size, length, i));
            sent.add(packets.getInt(i * size + NUMBER));
        }
        return bytes;
    }

    /** Sends a packet of a number and size. Returns false if there is no room. */
    private boolean send(int number, int bytes) {
        long packet = sender.begin(peer);
        if (packet == 0) {
            return false;
        }
        Memory.zero(packet, bytes);
        Memory.putInt(packet + NUMBER, number);
        sender.send(bytes);
        return true;
    }

    private void sendMany() {
        for (int i = 0; i < MANY; i++) {
            assertTrue(send(i, BYTES));
        }
    }

    private static List<Integer> firstNumbers(int count) {
        return IntStream.range(0, count).boxed().toList();
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EAGAIN, Errno.ENOBUFS, Errno.ENOMEM})
    void shouldKeepPacketsUntilThereIsRoom(int errno) {
        sendMany();
        refusals.addAll(List.of(errno, errno));
        assertFalse(sender.flush());
        assertEquals(List.of(), sent);
        assertFalse(sender.flush());
        assertTrue(sender.flush());
        assertEquals(firstNumbers(MANY), sent);
        assertEquals(firstNumbers(MANY), identifications);
        assertEquals(List.of(), lost);
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EAGAIN, Errno.ENOBUFS, Errno.ENOMEM})
    void shouldKeepAPacketThatDoesNotFitTheOthers(int errno) {
        sendMany();
        refusals.add(errno);
        assertTrue(send(MANY, 2 * BYTES));
        assertEquals(List.of(), sent);
        refusals.add(errno);
        assertFalse(send(MANY + 1, BYTES), "there is no room for another one");
        // The first call sends the others, the second one has no room for this one.
        refusals.addAll(List.of(0, errno));
        assertFalse(sender.flush());
        assertEquals(firstNumbers(MANY), sent);
        assertTrue(sender.flush());
        assertEquals(firstNumbers(MANY + 1), sent);
        assertEquals(0, identifications.getLast());
        assertEquals(List.of(), lost);
    }

    @Test
    void shouldKeepTheRestOfPacketsThatGoOneByOne() {
        divides = false;
        sendMany();
        refusals.addAll(List.of(Errno.EIO, 0, 0, Errno.EAGAIN, Errno.ENOBUFS));
        assertFalse(sender.flush());
        assertEquals(firstNumbers(2), sent);
        assertFalse(send(MANY, BYTES));
        assertTrue(send(MANY, BYTES));
        assertTrue(sender.flush());
        assertEquals(firstNumbers(MANY + 1), sent);
        assertEquals(List.of(0, 0, 0, 0, 0, 0), identifications);
        assertEquals(List.of(), lost);
    }

    @Test
    void shouldTellOfPacketsThatCannotBeSent() {
        sendMany();
        refusals.add(Errno.EHOSTUNREACH);
        assertTrue(sender.flush());
        assertEquals(List.of(Errno.EHOSTUNREACH), lost);
        sendMany();
        // Neither together nor alone.
        refusals.addAll(List.of(Errno.EINVAL, Errno.EMSGSIZE));
        assertTrue(sender.flush());
        assertEquals(List.of(Errno.EHOSTUNREACH, Errno.EMSGSIZE), lost);
        assertEquals(List.of(), sent);
        assertNotEquals(0, sender.begin(peer));
    }

    /** The sizes, with checksums, of so many packets. */
    private static List<Integer> sizes(int count, int bytes) {
        return Collections.nCopies(count, bytes + InvariantCrc.BYTES);
    }

    /** As many as the oldest kernels take, which are sent without being asked for it. */
    @Test
    void shouldSendNoMoreThanSixtyFourAtOnce() {
        int count = 2 * 64 + MANY;
        for (int i = 0; i < count; i++) {
            assertTrue(send(i, BYTES));
        }
        assertEquals(List.of(sizes(64, BYTES), sizes(64, BYTES)), calls);
        assertTrue(sender.flush());
        assertEquals(List.of(sizes(64, BYTES), sizes(64, BYTES), sizes(MANY, BYTES)), calls);
        assertEquals(firstNumbers(count), sent);
        assertEquals(IntStream.range(0, count).map(i -> i % 64).boxed().toList(), identifications);
    }

    /** What an IPv4 packet carries, from packets that just fit and from longer ones. */
    @ParameterizedTest
    @ValueSource(ints = {1024, 1500, 4096 + Bth.BYTES, InvariantCrc.MAX_PACKET_BYTES - InvariantCrc.BYTES})
    void shouldSendNoMoreBytesAtOnceThanAPacketCarries(int bytes) {
        int count = 200;
        for (int i = 0; i < count; i++) {
            assertTrue(send(i, bytes));
        }
        assertTrue(sender.flush());
        for (List<Integer> each : calls) {
            int all = each.stream().mapToInt(size -> size).sum();
            assertTrue(all <= 65_507, () -> all + " bytes");
        }
        int most = calls.getFirst().size();
        assertTrue(
                most <= 64 && most * (bytes + InvariantCrc.BYTES) > 65_507 - InvariantCrc.MAX_PACKET_BYTES,
                () -> most + "");
        assertEquals(firstNumbers(count), sent);
        assertEquals(IntStream.range(0, count).map(i -> i % most).boxed().toList(), identifications);
    }

    /** All but the last are equal, and the last one is no longer, whatever comes in between. */
    @Test
    void shouldSendOnlyPacketsOfOneSizeTogether() {
        SplittableRandom random = new SplittableRandom(20261125);
        int[] kinds = {BYTES, 2 * BYTES, 3 * BYTES};
        List<Integer> expected = new ArrayList<>();
        int count = 5000;
        int size = BYTES;
        for (int i = 0; i < count; i++) {
            size = random.nextInt(3) == 0 ? kinds[random.nextInt(kinds.length)] : size;
            assertTrue(send(i, size));
            expected.add(size + InvariantCrc.BYTES);
            if (random.nextInt(50) == 0) {
                assertTrue(sender.flush());
            }
        }
        assertTrue(sender.flush());
        assertEquals(firstNumbers(count), sent);
        assertEquals(expected, calls.stream().flatMap(List::stream).toList());
        int together = 0;
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < calls.size(); i++) {
            List<Integer> each = calls.get(i);
            int first = each.getFirst();
            assertEquals(Collections.nCopies(each.size() - 1, first), each.subList(0, each.size() - 1));
            assertTrue(each.getLast() <= first, each::toString);
            assertEquals(each.size() == 1 ? 0 : first, segments.get(i));
            together += each.size() > 1 ? 1 : 0;
            numbers.addAll(firstNumbers(each.size()));
        }
        assertEquals(numbers, identifications);
        int several = together;
        assertTrue(several > 100 && calls.size() - several > 100, () -> several + " of " + calls.size());
    }

    /** A card could number those as it likes. */
    @Test
    void shouldSendEachAloneWhereThePeerMayMind() {
        peer.batches = false;
        sendMany();
        assertEquals(Collections.nCopies(MANY, sizes(1, BYTES)), calls);
        assertEquals(Collections.nCopies(MANY, 0), segments);
        assertEquals(Collections.nCopies(MANY, 0), identifications);
    }

    @Test
    void shouldNotSendPacketsToDifferentPeersTogether() {
        sendMany();
        Peer other = peers.at(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 4793));
        long packet = sender.begin(other);
        Memory.zero(packet, BYTES);
        sender.send(BYTES);
        assertEquals(List.of(sizes(MANY, BYTES)), calls);
        peer = other;
        assertTrue(sender.flush());
        assertEquals(List.of(sizes(MANY, BYTES), sizes(1, BYTES)), calls);
        assertEquals(0, identifications.getLast());
    }
}
