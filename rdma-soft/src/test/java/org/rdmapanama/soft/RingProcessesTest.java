package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.soft.net.RingAccess;
import org.rdmapanama.soft.net.Wire;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.UdpFlow;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;

/** This process and another one exchange packets through shared memory, as long as nothing is wrong with that. */
@EnabledOnOs(OS.LINUX)
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RingProcessesTest {
    private static final int HALF = RingPeer.BYTES / 4;
    private static final int CHANGES = Integer.getInteger("hostile.changes", 350_000);

    /** Four seconds, eight times: a peer may be stopped for longer than it takes to notice that it does not read. */
    private static final int TIMEOUT = 20;

    /** A quarter of a second, eight times: for a peer that never answers. */
    private static final int SHORTER_TIMEOUT = 16;

    @TempDir
    private Path folder;

    /** Where no other process makes files. */
    @TempDir(factory = InSharedMemory.class)
    private Path shared;

    /** This side, and the other process. */
    private final class CmFixture implements AutoCloseable {
        private final RingPeer.End own;
        private final Program program;
        private final Wire wire;
        private final ReceiveWorkRequest receive;
        private final SendWorkRequest request;
        private final long remote;
        private final int rkey;

        CmFixture(boolean sleeps, String ring, String... more) throws Exception {
            this(sleeps, TIMEOUT, ring, more);
        }

        CmFixture(boolean sleeps, int timeout, String ring, String... more) throws Exception {
            Path file = Files.createTempFile(folder, "place", "");
            Files.delete(file);
            List<String> settings = new ArrayList<>(List.of("address", "127.0.0.1", "ring", shared.toString()));
            settings.addAll(List.of(more));
            own = DeviceProperties.with(settings.toArray(String[]::new), () -> new RingPeer.End(sleeps, timeout));
            String place;
            try {
                program = Program.javaWith(
                        List.of("-Dorg.rdmapanama.soft.address=127.0.0.1", "-Dorg.rdmapanama.soft.ring=" + ring),
                        RingPeer.class,
                        file.toString(),
                        Boolean.toString(sleeps));
                place = meet(file);
            } catch (Throwable e) {
                // Else all further tests of this process would share the device, with its settings.
                try (own) {
                    throw e;
                }
            }
            remote = RingPeer.address(place);
            rkey = RingPeer.key(place);
            wire = own.device().wire();
            receive = ReceiveWorkRequest.allocate(own.arena, 1);
            request = own.request();
        }

        /** Tells each side where the other one is, and connects them. Returns the place of the other one. */
        private String meet(Path file) throws Exception {
            try {
                String place = RingPeer.placeOf(program);
                RingPeer.tell(file, own.place());
                own.connect(place);
                program.await("connected");
                return place;
            } catch (Throwable e) {
                try (program) {
                    throw e;
                }
            }
        }

        /** Posts on a connection, and waits until it has completed, well. */
        void complete(int pair, SendWorkRequest of) throws InterruptedException {
            own.pairs[pair].postSend(of);
            WorkCompletions wc = own.next();
            assertEquals(CompletionStatus.SUCCESS, wc.status(0), program::toString);
        }

        /** The next completion, for which it does not take a processor. */
        WorkCompletions nextAfterSeconds() throws InterruptedException {
            Bound.ofSeconds(60).await("no completion came", () -> own.queue.poll(own.completions) == 1);
            return own.completions;
        }

        /** Sends a message, which comes back. */
        void echo(int pair, int bytes, int seed) throws InterruptedException {
            FillPattern.fill(own.memory.asSlice(0, bytes), seed);
            own.memory.set(JAVA_BYTE, 0, (byte) 0);
            send(pair, bytes);
            assertEquals(-1, own.memory.asSlice(0, bytes).mismatch(own.memory.asSlice(HALF, bytes)));
        }

        private void send(int pair, int bytes) throws InterruptedException {
            own.pairs[pair].postReceive(receive.clear().add(own.region, HALF, RingPeer.MESSAGE));
            own.pairs[pair].postSend(request.clear().send().add(own.region, 0, bytes));
            for (int i = 0; i < 2; i++) {
                assertEquals(CompletionStatus.SUCCESS, own.next().status(0), program::toString);
            }
        }

        /** Writes to the other process, and reads it back. */
        void move(int pair, int bytes, int seed) throws InterruptedException {
            FillPattern.fill(own.memory.asSlice(0, bytes), seed);
            complete(pair, request.clear().rdmaWrite(remote, rkey).add(own.region, 0, bytes));
            own.memory.asSlice(HALF, bytes).fill((byte) 0);
            complete(pair, request.clear().rdmaRead(remote, rkey).add(own.region, HALF, bytes));
            assertEquals(-1, own.memory.asSlice(0, bytes).mismatch(own.memory.asSlice(HALF, bytes)));
        }

        /** Exchanges messages until they go through shared memory. */
        void awaitLink(int pair) throws InterruptedException {
            long before = RingAccess.received(wire);
            Bound bound = Bound.ofSeconds(60);
            while (RingAccess.received(wire) == before) {
                bound.check("packets go through sockets");
                echo(pair, 64, 1);
            }
            assertTrue(wire.hasLinks());
        }

        /** The link that there is, or null. */
        Object link() {
            own.device().lock();
            try {
                return RingAccess.link(wire);
            } finally {
                own.device().unlock();
            }
        }

        private List<Object> links() {
            own.device().lock();
            try {
                return RingAccess.links(wire);
            } finally {
                own.device().unlock();
            }
        }

        /** Exchanges messages until the device has so many links. */
        void awaitNumberOfLinks(int count) throws InterruptedException {
            Bound bound = Bound.ofSeconds(60);
            while (links().size() != count) {
                bound.check(() -> links().size() + " links");
                echo(1, 64, 1);
            }
        }

        void awaitEndOfLink() throws InterruptedException {
            Bound.ofSeconds(60).await(() -> "the link has not ended", () -> !wire.hasLinks());
        }

        /** What happens on the second connection goes well. */
        void exchange() throws InterruptedException {
            for (int i = 0; i < 20; i++) {
                echo(1, 100 + 200 * i, i);
                move(1, 10_000 + i, i);
            }
        }

        /**
         * It goes over sockets as well: only where no link is offered again, which happens two seconds after a peer that was
         * idle has ended one, or has been found idle.
         */
        void assertUsesSockets() throws InterruptedException {
            long before = RingAccess.received(wire);
            long all = wire.received();
            exchange();
            assertEquals(before, RingAccess.received(wire));
            assertTrue(wire.received() > all);
        }

        void assertServes() throws InterruptedException {
            own.memory.set(JAVA_BYTE, 0, RingPeer.LAST);
            send(1, 64);
            program.assertSucceeds();
        }

        @Override
        public void close() throws IOException {
            try (own) {
                program.close();
            }
        }
    }

    private CmFixture meet(boolean sleeps) throws Exception {
        return new CmFixture(sleeps, shared.toString());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTalkThroughSharedMemory(boolean sleeps) throws Exception {
        try (CmFixture meeting = meet(sleeps)) {
            meeting.awaitLink(1);
            long before = RingAccess.received(meeting.wire);
            long all = meeting.wire.received();
            for (int i = 0; i < 200; i++) {
                meeting.echo(i % 2, 64 + 20 * i, i);
            }
            for (int i = 1; i < 40; i++) {
                meeting.move(i % 2, i * 5003, i);
            }
            RingPeer.End own = meeting.own;
            own.memory.set(JAVA_LONG, 0, 40);
            SendWorkRequest request = meeting.request;
            meeting.complete(
                    0, request.clear().rdmaWrite(meeting.remote, meeting.rkey).add(own.region, 0, Long.BYTES));
            meeting.complete(
                    0,
                    request.clear().fetchAndAdd(meeting.remote, meeting.rkey, 2).add(own.region, 8, Long.BYTES));
            assertEquals(40, own.memory.get(JAVA_LONG, 8));
            meeting.complete(
                    0,
                    request.clear()
                            .compareAndSwap(meeting.remote, meeting.rkey, 42, 43)
                            .add(own.region, 8, Long.BYTES));
            assertEquals(42, own.memory.get(JAVA_LONG, 8));
            long through = RingAccess.received(meeting.wire) - before;
            // At least one for each message.
            assertTrue(through > 400, () -> through + " packets");
            assertTrue(meeting.wire.hasLinks());
            long rung = meeting.wire.received() - all - through;
            assertTrue(rung <= through, () -> rung + " datagrams, and " + through + " packets");
            meeting.assertServes();
            meeting.awaitEndOfLink();
        }
        assertEquals(List.of(), RingAccess.named(shared));
    }

    @Test
    void shouldNoticeThatThePeerWasKilled() throws Exception {
        try (CmFixture meeting = meet(false)) {
            meeting.awaitLink(1);
            meeting.program.kill();
            meeting.awaitEndOfLink();
        }
    }

    /** Its requests wait in shared memory when the peer dies, which stood still before. Another peer has a link as well. */
    @Test
    void shouldEndOnlyTheRequestsToThePeerThatWasKilled() throws Exception {
        try (CmFixture meeting = new CmFixture(false, SHORTER_TIMEOUT, shared.toString());
                Arena arena = Arena.ofShared()) {
            meeting.awaitLink(1);
            Object link = meeting.link();
            MemorySegment memory = RingAccess.map(arena);
            // It is idle for some seconds, and would poll.
            try (CmFixture other = meet(true)) {
                assertSame(meeting.wire, other.wire, "one device has both links");
                other.awaitNumberOfLinks(2);
                List<Object> remaining = List.of(other.links().getLast());
                meeting.program.signal("STOP");
                int before = RingAccess.unread(memory, link);
                RingPeer.End own = meeting.own;
                SendWorkRequest write = own.request()
                        .id(1)
                        .rdmaWrite(meeting.remote, meeting.rkey)
                        .add(own.region, 0, Long.BYTES);
                SendWorkRequest read = own.request()
                        .id(2)
                        .rdmaRead(meeting.remote, meeting.rkey)
                        .add(own.region, HALF, Long.BYTES);
                own.pairs[0].postSend(write);
                own.pairs[1].postSend(read);
                assertEquals(0, own.queue.poll(own.completions), "nobody can have answered");
                int waiting = RingAccess.unread(memory, link) - before;
                assertTrue(waiting >= 2, () -> waiting + " packets in shared memory");
                meeting.program.kill();
                Set<Long> ended = new HashSet<>();
                for (int i = 0; i < 2; i++) {
                    WorkCompletions wc = meeting.nextAfterSeconds();
                    assertEquals(CompletionStatus.RETRY_EXC_ERR, wc.status(0));
                    ended.add(wc.id(0));
                }
                assertEquals(Set.of(1L, 2L), ended);
                other.awaitNumberOfLinks(1);

                long through = RingAccess.received(other.wire);
                other.exchange();
                other.echo(0, 1000, 3);
                assertTrue(RingAccess.received(other.wire) - through > 60, "it goes through shared memory as before");
                assertEquals(remaining, other.links());
                other.assertServes();
            }
        }
    }

    @Test
    void shouldGoOnAfterThePeerWasStopped() throws Exception {
        try (CmFixture meeting = meet(false)) {
            meeting.awaitLink(1);
            meeting.program.signal("STOP");
            meeting.own.pairs[1].postSend(meeting.request
                    .clear()
                    .rdmaWrite(meeting.remote, meeting.rkey)
                    .add(meeting.own.region, 0, 100_000));
            meeting.awaitEndOfLink();
            meeting.program.signal("CONT");
            assertEquals(CompletionStatus.SUCCESS, meeting.own.next().status(0));
            meeting.exchange();
            // Each side offers another link after some seconds.
            meeting.awaitLink(1);
            meeting.exchange();
            meeting.assertServes();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 6000})
    void shouldGoOnWhenTheFileBecomesShorter(int exchangesBefore) throws Exception {
        try (CmFixture meeting = meet(false)) {
            meeting.awaitLink(1);
            // Compiled code tells of faults later.
            for (int i = 0; i < exchangesBefore; i++) {
                meeting.echo(1, 100 + i % 3000, i);
            }
            RingAccess.truncate();
            meeting.assertUsesSockets();
            assertFalse(meeting.wire.hasLinks());
            meeting.assertServes();
        }
    }

    /** What a timer was repeating when the memory went is sent through the sockets. */
    @Test
    void shouldGoOnWhenATimerFindsTheFileShorter() throws Exception {
        try (CmFixture meeting = meet(false)) {
            meeting.awaitLink(1);
            meeting.program.signal("STOP");
            RingPeer.End own = meeting.own;
            own.pairs[1].postSend(meeting.request
                    .clear()
                    .rdmaWrite(meeting.remote, meeting.rkey)
                    .add(own.region, 0, 100));
            SoftDevice device = own.device();
            device.lock();
            try {
                assertTrue(meeting.wire.hasLinks(), "the link has ended before");
                RingAccess.truncate();
                // No test can shorten the file between two accesses of the timer.
                device.queuePairs.get(own.pairs[1].number()).timer.failed(new InternalError("a fault"));
                assertFalse(meeting.wire.hasLinks(), "the link goes on");
                // The JVM may tell once more.
                device.queuePairs.get(own.pairs[1].number()).timer.failed(new InternalError("the same fault"));
            } finally {
                device.unlock();
            }
            meeting.program.signal("CONT");
            assertEquals(CompletionStatus.SUCCESS, own.next().status(0));
            meeting.exchange();
            meeting.assertServes();
        }
    }

    /** The other process may write anything, at any time. The first connection may fail, because its packets change. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void shouldStandAnyContents(int seed) throws Exception {
        try (CmFixture meeting = meet(false);
                Arena arena = Arena.ofShared()) {
            // Nothing of the second connection may be in that memory, where an old packet can become a new one.
            meeting.awaitLink(0);
            RingPeer.End own = meeting.own;
            own.all.asSlice(0, RingPeer.GUARD).fill((byte) 0x5a);
            own.all.asSlice(RingPeer.GUARD + RingPeer.BYTES).fill((byte) 0x5a);
            MemorySegment shared = RingAccess.map(arena);
            Object attacked = meeting.link();
            Thread attacker = new Thread(() -> attack(shared, new SplittableRandom(seed)), "attacker");
            attacker.start();
            SendWorkRequest write =
                    own.request().rdmaWrite(meeting.remote, meeting.rkey).add(own.region, 0, 20_000);
            boolean failed = false;
            while (attacker.isAlive() && !failed) {
                own.pairs[0].postSend(write);
                failed = !own.next().succeeded(0);
            }
            attacker.join();
            // No length is right any more, until one side writes a packet. Nobody wakes this process up for that.
            Bound.ofSeconds(60).spin("the link has not ended", () -> {
                for (long at = RingAccess.rings(); at < shared.byteSize(); at += 64) {
                    shared.set(JAVA_INT, at, Integer.MAX_VALUE);
                }
                return own.queue.poll(own.completions) == 0 && !attacked.equals(meeting.link());
            });
            // A side that finds only that the other one has ended the link offers another one.
            meeting.exchange();
            for (MemorySegment each :
                    List.of(own.all.asSlice(0, RingPeer.GUARD), own.all.asSlice(RingPeer.GUARD + RingPeer.BYTES))) {
                for (long at = 0; at < each.byteSize(); at++) {
                    assertEquals(0x5a, each.get(JAVA_BYTE, at));
                }
            }
            meeting.assertServes();
        }
    }

    /** Changes packets, some more than others, and now and then a length or what the sides say. */
    private static void attack(MemorySegment shared, SplittableRandom random) {
        for (int i = 0; i < CHANGES; i++) {
            long line = RingAccess.rings() + 64L * random.nextInt((int) (shared.byteSize() - RingAccess.rings()) / 64);
            if (random.nextInt(CHANGES) == 0) {
                shared.set(JAVA_INT, 4L * random.nextInt(RingAccess.rings() / 4), random.nextInt());
            } else if (random.nextInt(50_000) == 0) {
                shared.set(JAVA_INT, line, random.nextInt(-1, 5000));
            } else {
                shared.set(JAVA_BYTE, line + 8 + random.nextInt(56), (byte) random.nextInt());
            }
            if (i % 100 == 0) {
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void shouldUseSocketsWhereThePeerDoesNotWantSharedMemory() throws Exception {
        try (CmFixture meeting = new CmFixture(false, "none")) {
            meeting.assertUsesSockets();
            assertFalse(meeting.wire.hasLinks());
            meeting.assertServes();
        }
    }

    /** Captured packets look as if they had gone over the wire. */
    @Test
    void shouldCapturePackets() throws Exception {
        Path file = folder.resolve("captured.pcap");
        int port;
        try (CmFixture meeting = new CmFixture(false, shared.toString(), "pcap", file.toString())) {
            meeting.awaitLink(1);
            for (int i = 0; i < 100; i++) {
                meeting.echo(0, 1000, i);
            }
            port = meeting.wire.port();
            meeting.assertServes();
        }
        int[] sends = new int[2];
        ByteBuffer packets = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.nativeOrder());
        InetAddress local = InetAddress.getLoopbackAddress();
        InvariantCrc crc = new InvariantCrc();
        for (int at = 24; at < packets.limit(); ) {
            int length = packets.getInt(at + 8) - 28;
            packets.order(ByteOrder.BIG_ENDIAN);
            int from = Short.toUnsignedInt(packets.getShort(at + 16 + 20));
            int to = Short.toUnsignedInt(packets.getShort(at + 16 + 22));
            packets.order(ByteOrder.nativeOrder());
            ByteBuffer packet = ByteBuffer.allocateDirect(length).order(ByteOrder.LITTLE_ENDIAN);
            packet.put(packets.duplicate().position(at + 16 + 28).limit(at + 16 + 28 + length))
                    .flip();
            if (from != port || to != port) {
                UdpFlow flow = UdpFlow.of(new InetSocketAddress(local, from), new InetSocketAddress(local, to));
                assertTrue(crc.isValid(flow, packet, length), () -> length + " bytes");
                int opcode = Bth.opcode(MemorySegment.ofBuffer(packet).address());
                sends[from == port ? 0 : 1] += opcode == Opcode.RC_SEND_ONLY ? 1 : 0;
            }
            at += 16 + 28 + length;
        }
        assertTrue(sends[0] > 100, () -> sends[0] + " sent");
        assertTrue(sends[1] > 100, () -> sends[1] + " received");
    }
}
