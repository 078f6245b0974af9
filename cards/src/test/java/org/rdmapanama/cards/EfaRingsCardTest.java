package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.PollCursor;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.LabDevices;

/**
 * What Java writes into the rings of an SRD queue pair is what libefa writes into those of its twin, what both refuse is the same,
 * and what both make of the same completions. The test takes the place of the device: it reads the rings and writes the
 * completions, in any order. Only the numbers by which the device knows a work request differ: each twin has its own.
 */
@Tag("card")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EfaRingsCardTest {
    /** More than a doorbell of the card may announce. */
    static final int LONGEST_CHAIN = 24;

    /** The share of the requests that are made, in percent. */
    private static final int PERCENT = Integer.getInteger("rings.percent", 100);

    private static final int BYTES = 1 << 17;
    private static final int HANDLES = 5;
    private static final int SENDS = EfaCompletionQueue.SENDS;
    private static final int RECEIVES = EfaCompletionQueue.RECEIVES;

    // Operations: the first two can be posted, and all can be built.
    private static final int SEND_IMM = 1;
    private static final int READ = 2;
    private static final int OPERATIONS = 5;

    // Flags of a completion.
    private static final int QUEUE_SHIFT = 1;
    private static final int HAS_IMMEDIATE = 1 << 3;
    private static final int OPERATION_SHIFT = 4;
    private static final int OPERATION_WRITE = 2;
    private static final int UNSOLICITED = 1 << 7;

    /** Codes of the device, and some more. */
    private static final int STATUSES = 22;

    /** What a completion says where it means nothing, or anything. */
    private final long[] noise = new long[4];

    private SplittableRandom random;
    private int inline;
    private boolean events;
    private ProtectionDomain domain;
    private MemoryRegion region;
    private final AddressHandle[] handles = new AddressHandle[HANDLES];
    private EfaTwin driver;
    private EfaTwin direct;

    /** A work request that is in the rings: its numbers in the two twins. */
    private record Outstanding(int ofDriver, int ofDirect) {}

    private final List<Outstanding> sends = new ArrayList<>();
    private final List<Outstanding> receives = new ArrayList<>();

    /** The number of the last direct send that was completed, or -1. */
    private int completed = -1;

    /** The next entry of the ring of sends, and of that of receives. */
    private int position;

    private int receivePosition;
    private int refused;
    private int failed;

    /** One work request for both twins. */
    private final class Plan {
        private final int operation;
        private final long id = random.nextLong();
        private final boolean signaled = random.nextInt(400) != 0;
        private final boolean fence = random.nextInt(400) == 0;
        private final int immediate = random.nextInt();
        private final int key = random.nextInt();
        private final int number = random.nextInt(1 << 16);
        private final AddressHandle handle = handles[random.nextInt(HANDLES)];
        private final long remote = random.nextLong();
        private final boolean inlined;
        private final int[] offsets;
        private final int[] lengths;

        Plan(boolean forBuilder, boolean forReceive) {
            operation = random.nextInt(forBuilder || random.nextInt(300) == 0 ? OPERATIONS : SEND_IMM + 1);
            boolean odd = random.nextInt(200) == 0;
            boolean remoteMemory = operation > SEND_IMM && !forReceive;
            inlined = !forReceive && inline > 0 && (remoteMemory ? odd && operation != READ : random.nextInt(3) == 0);
            // Writes have one segment and no inline data, reads one segment; the driver refuses odd ones. A builder has
            // none without
            // segments, and a receive of those never completes.
            int least = forBuilder || forReceive ? 1 : 0;
            int most = remoteMemory && !odd ? 1 : EfaTwin.SEGMENTS;
            int count = least + random.nextInt(most - least + 1);
            offsets = new int[count];
            lengths = new int[count];
            int room = inline;
            for (int i = 0; i < count; i++) {
                lengths[i] = inlined ? random.nextInt(room + 1) : random.nextInt(3) * random.nextInt(36_000);
                room -= inlined ? lengths[i] : 0;
                offsets[i] = random.nextInt(BYTES - lengths[i]);
            }
        }

        SendWorkRequest fill(SendWorkRequest request) {
            request.clear().id(id);
            switch (operation) {
                case 0 -> request.send();
                case SEND_IMM -> request.sendWithImmediate(immediate);
                case READ -> request.rdmaRead(remote, key);
                case 3 -> request.rdmaWrite(remote, key);
                default -> request.rdmaWriteWithImmediate(remote, key, immediate);
            }
            request.signaled(signaled).fence(fence).inline(inlined).to(handle, number, key);
            for (int i = 0; i < offsets.length; i++) {
                request.add(region, offsets[i], lengths[i]);
            }
            return request;
        }

        void build(WorkRequestBuilder builder) {
            builder.id(id).signaled(signaled).fence(fence);
            switch (operation) {
                case 0 -> builder.send();
                case SEND_IMM -> builder.sendWithImmediate(immediate);
                case READ -> builder.rdmaRead(remote, key);
                case 3 -> builder.rdmaWrite(remote, key);
                default -> builder.rdmaWriteWithImmediate(remote, key, immediate);
            }
            builder.to(handle, number, key);
            for (int i = 0; i < offsets.length; i++) {
                if (inlined) {
                    builder.inlineData(region.memory().asSlice(offsets[i], lengths[i]));
                } else {
                    builder.add(region, offsets[i], lengths[i]);
                }
            }
        }

        ReceiveWorkRequest fill(ReceiveWorkRequest request) {
            request.clear().id(id);
            for (int i = 0; i < offsets.length; i++) {
                request.add(region, offsets[i], lengths[i]);
            }
            return request;
        }
    }

    @BeforeEach
    void needFunctions() {
        assumeTrue(
                NativeLibrary.EFA.find("efadv_query_qp_wqs").isPresent(),
                "the installed libefa lacks efadv_query_qp_wqs; run lab/newer-rdma-core");
    }

    @ParameterizedTest
    @CsvSource({"32, 100000, false", "80, 50000, false", "0, 20000, false", "32, 50000, true"})
    void shouldWriteAndReadAsTheDriverDoes(int inlineBytes, int requests, boolean notifying) {
        long seed = System.nanoTime();
        random = new SplittableRandom(seed);
        inline = inlineBytes;
        events = notifying;
        EfaCard.notify(events);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            open(arena);
            try {
                run(requests / 100 * PERCENT);
            } finally {
                driver.reset();
                direct.reset();
                Cards.pause(false);
            }
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("with seed " + seed + ": " + e.getMessage(), e);
        } finally {
            EfaCard.notify(false);
        }
    }

    private void open(VerbsArena arena) {
        Context context = Context.open(arena, LabDevices.first());
        domain = context.allocateProtectionDomain();
        region = domain.register(arena.allocate(BYTES, 4096), AccessFlag.LOCAL_WRITE);
        CompletionChannel channel = events ? context.createCompletionChannel() : null;
        driver = new EfaTwin(context, domain, channel, inline, false);
        direct = new EfaTwin(context, domain, channel, inline, true);
        for (int i = 0; i < HANDLES; i++) {
            handles[i] = makeHandle();
        }
        assertFalse(driver.queuePair.isDirect());
        assertTrue(direct.queuePair.isDirect());
        assertEquals(inline > 32 ? 128 : 64, direct.sendBytes());
        assertEquals(driver.queuePair.capabilities(), direct.queuePair.capabilities());
        Cards.pause(true);
    }

    private AddressHandle makeHandle() {
        return domain.createAddressHandle(driver.queuePair.pathTo(driver.queuePair.localEndpoint()));
    }

    /** The new one has another number, and often the memory of the old one. */
    private void replaceHandle() {
        int which = random.nextInt(HANDLES);
        handles[which].close();
        handles[which] = makeHandle();
    }

    private void run(int requests) {
        for (int done = 0; done < requests; ) {
            switch (random.nextInt(16)) {
                case 0, 1 -> postReceives();
                case 2, 3, 4, 5 -> complete();
                case 6 -> {
                    completeForAStranger();
                    completeTwice();
                }
                case 7 -> requestNotification();
                case 8, 9, 10, 11 -> done += buildSends();
                default -> done += postSends();
            }
            if (random.nextInt(5000) == 0) {
                beginAnew();
            }
            if (random.nextInt(100) == 0) {
                replaceHandle();
            }
        }
        completeAll();
        assertTrue(requests < 1000 || (refused > 0 && failed > 0), "nothing was refused, or nothing has failed");
    }

    /** Returns the result of a call, or its errno. */
    private static int resultOf(IntSupplier call) {
        try {
            return call.getAsInt();
        } catch (VerbsException e) {
            return -1000 - e.errno();
        }
    }

    private Plan[] plans(boolean forBuilder, boolean forReceive) {
        Plan[] plans = new Plan[1 + random.nextInt(random.nextInt(1, LONGEST_CHAIN + 1))];
        for (int i = 0; i < plans.length; i++) {
            plans[i] = new Plan(forBuilder, forReceive);
        }
        return plans;
    }

    private int postSends() {
        Plan[] plans = plans(false, false);
        int expected = resultOf(() -> post(plans, driver));
        assertEquals(expected, resultOf(() -> post(plans, direct)), "result of posting");
        return compareSends(expected);
    }

    private static int post(Plan[] plans, EfaTwin twin) {
        for (int i = 0; i < plans.length; i++) {
            plans[i].fill(twin.sends[i]).next(i + 1 < plans.length ? twin.sends[i + 1] : null);
        }
        return twin.queuePair.tryPostSend(twin.sends[0]);
    }

    private int buildSends() {
        Plan[] plans = plans(true, false);
        boolean abort = random.nextInt(50) == 0;
        int expected = resultOf(() -> build(plans, driver, abort));
        assertEquals(expected, resultOf(() -> build(plans, direct, abort)), "result of building");
        return compareSends(expected);
    }

    private static int build(Plan[] plans, EfaTwin twin, boolean abort) {
        try (WorkRequestBuilder builder = twin.queuePair.startWorkRequests()) {
            for (Plan plan : plans) {
                plan.build(builder);
            }
            return abort ? QueuePair.POSTED : builder.tryComplete();
        }
    }

    /** Compares the work requests that are new in the rings, and returns how many they are. */
    private int compareSends(int result) {
        refused += result == QueuePair.POSTED ? 0 : 1;
        assertEquals(driver.sendCounter(), direct.sendCounter(), "doorbell");
        int count = 0;
        while ((position & 0xffff) != driver.sendCounter()) {
            for (int i = 0; i < driver.sendBytes() / Long.BYTES; i++) {
                long expected = driver.sendWord(position, i);
                long found = direct.sendWord(position, i);
                // There are many of them.
                if (expected != found) {
                    assertEquals(
                            Long.toHexString(expected), Long.toHexString(found), "word " + i + " of send " + position);
                }
            }
            sends.add(new Outstanding(driver.sendRequest(position), direct.sendRequest(position)));
            position++;
            count++;
        }
        return count;
    }

    private void postReceives() {
        Plan[] plans = plans(false, true);
        int expected = resultOf(() -> postReceives(plans, driver));
        refused += expected == QueuePair.POSTED ? 0 : 1;
        assertEquals(expected, resultOf(() -> postReceives(plans, direct)), "result of posting receives");
        assertEquals(driver.receiveCounter(), direct.receiveCounter(), "doorbell of receives");
        while ((receivePosition & 0xffff) != driver.receiveCounter()) {
            for (int i = 0; i < EfaTwin.RECEIVE_BYTES / Long.BYTES; i++) {
                assertEquals(driver.receiveWord(receivePosition, i), direct.receiveWord(receivePosition, i), "receive");
            }
            boolean first = (direct.receiveWord(receivePosition, 1) >>> 62 & 1) != 0;
            if (first) {
                receives.add(new Outstanding(
                        driver.receiveRequest(receivePosition), direct.receiveRequest(receivePosition)));
            } else {
                assertEquals(0, direct.receiveRequest(receivePosition), "number in a further descriptor");
            }
            receivePosition++;
        }
    }

    private static int postReceives(Plan[] plans, EfaTwin twin) {
        for (int i = 0; i < plans.length; i++) {
            plans[i].fill(twin.receives[i]).next(i + 1 < plans.length ? twin.receives[i + 1] : null);
        }
        return twin.queuePair.tryPostReceive(twin.receives[0]);
    }

    private void completeAll() {
        while (!sends.isEmpty() || !receives.isEmpty()) {
            complete();
        }
    }

    /**
     * Both begin anew. They have nothing outstanding: libefa 65 would give one number to two work requests afterwards if
     * completions had come in another order than the work requests.
     */
    private void beginAnew() {
        completeAll();
        driver.reset();
        direct.reset();
        position = 0;
        receivePosition = 0;
        driver.queuePair.activate();
        direct.queuePair.activate();
    }

    private void requestNotification() {
        boolean solicited = random.nextInt(10) == 0;
        if (!events && !solicited) {
            // The driver would store to no address.
            assertThrows(VerbsException.class, () -> direct.queue.requestNotification(false));
            return;
        }
        assertEquals(
                resultOf(() -> requestNotification(driver, solicited)),
                resultOf(() -> requestNotification(direct, solicited)));
        if (!solicited) {
            assertEquals(driver.completionCommand(), direct.completionCommand(), "request for a notification");
        }
    }

    private static int requestNotification(EfaTwin twin, boolean solicited) {
        twin.queue.requestNotification(solicited);
        return 0;
    }

    /** A queue pair that does not exist, or a work request of one that had the same number. */
    private void completeForAStranger() {
        draw();
        boolean stranger = random.nextBoolean();
        int request = random.nextInt(1 << 16);
        for (EfaTwin twin : List.of(driver, direct)) {
            int own = twin.queuePair.number();
            int old = (twin.sendRequest(0) ^ 1 << 15) & 0xffff;
            twin.complete(SENDS, noise, stranger ? request : old, 0, 1 << QUEUE_SHIFT, stranger ? own ^ 0x7ff : own);
        }
        assertThrows(VerbsException.class, () -> driver.queue.poll(driver.completions));
        assertThrows(VerbsException.class, () -> direct.queue.poll(direct.completions));
    }

    /** The driver would not notice: it has one for a stranger instead, as both count what they take. */
    private void completeTwice() {
        if (completed >= 0) {
            draw();
            driver.complete(SENDS, noise, 0, 0, 1 << QUEUE_SHIFT, driver.queuePair.number() ^ 0x7ff);
            direct.complete(SENDS, noise, completed, 0, 1 << QUEUE_SHIFT, direct.queuePair.number());
            assertThrows(VerbsException.class, () -> driver.queue.poll(driver.completions));
            assertThrows(VerbsException.class, () -> direct.queue.poll(direct.completions));
        }
    }

    private void draw() {
        for (int i = 0; i < noise.length; i++) {
            noise[i] = random.nextLong();
        }
    }

    private void complete() {
        int count = 0;
        for (int wanted = 1 + random.nextInt(20); count < wanted; count++) {
            if (random.nextInt(3) == 0 && !receives.isEmpty()) {
                boolean unsolicited = random.nextInt(20) == 0;
                int flags = random.nextInt(2) * HAS_IMMEDIATE
                        | (random.nextBoolean() ? OPERATION_WRITE << OPERATION_SHIFT : 0)
                        | (unsolicited ? UNSOLICITED : 0);
                Outstanding any = new Outstanding(random.nextInt(1 << 16), random.nextInt(1 << 16));
                completeBoth(RECEIVES, unsolicited ? any : take(receives), flags);
            } else if (!sends.isEmpty()) {
                int flags = random.nextInt(3) << OPERATION_SHIFT | random.nextInt(2) * HAS_IMMEDIATE;
                Outstanding ended = take(sends);
                completed = ended.ofDirect();
                completeBoth(SENDS, ended, flags);
            } else {
                break;
            }
        }
        if (random.nextBoolean()) {
            compareCompletions(count);
        } else {
            compareInPlace(count);
        }
        // After a cursor that has found the end, the driver does not tell.
        assertEquals(0, driver.queue.poll(driver.completions));
        assertEquals(0, direct.queue.poll(direct.completions));
    }

    private Outstanding take(List<Outstanding> all) {
        int which = random.nextInt(all.size());
        Outstanding taken = all.get(which);
        all.set(which, all.getLast());
        all.removeLast();
        return taken;
    }

    private void completeBoth(int ring, Outstanding request, int flags) {
        draw();
        int status = random.nextInt(3) == 0 ? random.nextInt(STATUSES) : 0;
        int all = flags | (ring + 1) << QUEUE_SHIFT;
        driver.complete(ring, noise, request.ofDriver(), status, all, driver.queuePair.number());
        direct.complete(ring, noise, request.ofDirect(), status, all, direct.queuePair.number());
    }

    private void compareCompletions(int count) {
        assertEquals(count, driver.queue.poll(driver.completions));
        assertEquals(count, direct.queue.poll(direct.completions));
        if (count > 0 && events) {
            assertEquals(driver.completionCommand(), direct.completionCommand(), "what was taken");
        }
        WorkCompletions expected = driver.completions;
        WorkCompletions found = direct.completions;
        for (int i = 0; i < count; i++) {
            failed += expected.vendorError(i) == 0 ? 0 : 1;
            assertEquals(expected.id(i), found.id(i), "identifier");
            assertEquals(expected.status(i), found.status(i), "status");
            assertEquals(expected.vendorError(i), found.vendorError(i), "vendor error");
            assertEquals(driver.queuePair.number(), expected.queuePairNumber(i));
            assertEquals(direct.queuePair.number(), found.queuePairNumber(i));
            assertEquals(expected.opcode(i), found.opcode(i), "opcode");
            assertEquals(expected.flags(i), found.flags(i), "flags");
            CompletionOpcode opcode = expected.opcode(i);
            if (opcode == CompletionOpcode.RECV || opcode == CompletionOpcode.RECV_RDMA_WITH_IMM) {
                assertEquals(expected.byteLength(i), found.byteLength(i), "length");
                assertEquals(expected.sourceQueuePair(i), found.sourceQueuePair(i), "source");
                assertEquals(expected.sourceLid(i), found.sourceLid(i), "source LID");
                assertEquals(expected.serviceLevel(i), found.serviceLevel(i), "service level");
                if (expected.hasImmediate(i)) {
                    assertEquals(expected.immediate(i), found.immediate(i), "immediate");
                }
            }
        }
    }

    private void compareInPlace(int count) {
        try (PollCursor expected = driver.queue.poll();
                PollCursor found = direct.queue.poll()) {
            for (int i = 0; i < count; i++) {
                assertTrue(expected.next());
                assertTrue(found.next());
                assertEquals(expected.id(), found.id(), "identifier");
                assertEquals(expected.status(), found.status(), "status");
                assertEquals(expected.vendorError(), found.vendorError(), "vendor error");
                assertEquals(direct.queuePair.number(), found.queuePairNumber());
                assertEquals(expected.opcode(), found.opcode(), "opcode");
                assertEquals(expected.flags(), found.flags(), "flags");
                assertArrayEquals(
                        new int[] {
                            expected.byteLength(),
                            expected.immediate(),
                            expected.sourceQueuePair(),
                            expected.sourceLid(),
                            expected.serviceLevel(),
                            expected.destinationPathBits()
                        },
                        new int[] {
                            found.byteLength(),
                            found.immediate(),
                            found.sourceQueuePair(),
                            found.sourceLid(),
                            found.serviceLevel(),
                            found.destinationPathBits()
                        });
            }
            assertFalse(expected.next());
            assertFalse(found.next());
        }
    }
}
