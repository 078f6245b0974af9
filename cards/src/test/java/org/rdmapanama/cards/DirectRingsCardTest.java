package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ParentDomainOptions;
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
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;

/**
 * What Java writes into the rings of a queue pair is what libmlx5 writes into those of its twin, and what both make of the
 * same completions is the same. The test takes the place of the device: it reads the rings and writes the completions.
 */
@Tag("card")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DirectRingsCardTest {
    static final int LONGEST_CHAIN = 8;

    /** The share of the requests that are made, in percent. */
    private static final int PERCENT = Integer.getInteger("rings.percent", 100);

    private static final int BYTES = 1 << 16;
    private static final int QKEY = 0x1111_1111;
    private static final int WORDS_OF_UNIT = 8;
    private static final int SEGMENTS = 6;
    private static final int INLINE = 200;
    private static final TwinQueuePair.Sizes SIZES = new TwinQueuePair.Sizes(60, SEGMENTS, INLINE);

    // Kinds of completions.
    private static final int REQUEST = 0;
    private static final int RECEIVE_WITH_IMMEDIATE = 1;
    private static final int SEND_WITH_INVALIDATE = 4;
    private static final int REQUEST_FAILED = 13;
    private static final int RECEIVE_FAILED = 14;

    /** What a completion says where it means nothing. */
    private final long[] noise = new long[WORDS_OF_UNIT];

    private SplittableRandom random;
    private ProtectionDomain domain;
    private MemoryRegion region;
    private AddressHandle handle;
    private TwinQueuePair driver;
    private TwinQueuePair direct;

    /** Whether each twin has a thread domain. */
    private boolean ownRegisters;

    /** Where the work requests begin that are in the ring, and behind them where the next one will. */
    private final ArrayDeque<Integer> outstanding = new ArrayDeque<>();

    private int position;
    private int posted;

    /** How many work requests have completed, as far as the completions say that were written. */
    private int acknowledged;

    private int receivesPosted;
    private int receivesTaken;

    /** One work request for both twins. */
    private final class Plan {
        private final int operation;
        private final long id = random.nextLong();
        private final boolean signaled = random.nextInt(4) != 0;
        private final boolean solicited = random.nextInt(8) == 0;
        private final boolean fence = random.nextInt(8) == 0;
        private final int immediate = random.nextInt();
        private final long remote = region.address() + random.nextInt(BYTES / Long.BYTES) * (long) Long.BYTES;
        private final long operand = random.nextLong();
        private final long otherOperand = random.nextLong();
        private final boolean inline;
        private final int[] offsets;
        private final int[] lengths;

        Plan(QueuePairType type, boolean forBuilder) {
            operation = random.nextInt(TwinQueuePair.operationCount(type));
            boolean atomic = operation >= 6;
            inline = operation < 5 && random.nextInt(3) == 0;
            int count = atomic ? 1 : random.nextInt(SEGMENTS + 1);
            // A builder takes no list without segments, but one without bytes.
            count = forBuilder ? Math.max(1, count) : count;
            offsets = new int[count];
            lengths = new int[count];
            int room = INLINE;
            for (int i = 0; i < count; i++) {
                lengths[i] = atomic
                        ? Long.BYTES
                        : inline ? random.nextInt(room + 1) : random.nextInt(3) * random.nextInt(5000);
                room -= inline ? lengths[i] : 0;
                offsets[i] = random.nextInt((BYTES - lengths[i]) / Long.BYTES) * Long.BYTES;
            }
        }

        SendWorkRequest fill(SendWorkRequest request, TwinQueuePair twin) {
            request.clear().id(id);
            switch (operation) {
                case 0 -> request.send();
                case 1 -> request.sendWithImmediate(immediate);
                case 2 -> request.sendWithInvalidate(immediate);
                case 3 -> request.rdmaWrite(remote, immediate);
                case 4 -> request.rdmaWriteWithImmediate(remote, immediate, (int) operand);
                case 5 -> request.rdmaRead(remote, immediate);
                case 6 -> request.compareAndSwap(remote, immediate, operand, otherOperand);
                default -> request.fetchAndAdd(remote, immediate, operand);
            }
            request.signaled(signaled).solicited(solicited).fence(fence).inline(inline);
            if (twin.queuePair.type() == QueuePairType.UD) {
                request.to(handle, immediate & 0xff_ffff, QKEY);
            }
            for (int i = 0; i < offsets.length; i++) {
                request.add(region, offsets[i], lengths[i]);
            }
            return request;
        }

        void build(WorkRequestBuilder builder, TwinQueuePair twin) {
            builder.id(id).signaled(signaled).solicited(solicited).fence(fence);
            switch (operation) {
                case 0 -> builder.send();
                case 1 -> builder.sendWithImmediate(immediate);
                case 2 -> builder.sendWithInvalidate(immediate);
                case 3 -> builder.rdmaWrite(remote, immediate);
                case 4 -> builder.rdmaWriteWithImmediate(remote, immediate, (int) operand);
                case 5 -> builder.rdmaRead(remote, immediate);
                case 6 -> builder.compareAndSwap(remote, immediate, operand, otherOperand);
                default -> builder.fetchAndAdd(remote, immediate, operand);
            }
            if (twin.queuePair.type() == QueuePairType.UD) {
                builder.to(handle, immediate & 0xff_ffff, QKEY);
            }
            for (int i = 0; i < offsets.length; i++) {
                if (inline) {
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

    private void open(VerbsArena arena, QueuePairType type, boolean threadDomains) {
        Context context = Context.open(arena, "mlx5_0");
        domain = context.allocateProtectionDomain();
        region = domain.register(arena.allocate(BYTES, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        driver = new TwinQueuePair(context, domain(context, threadDomains), region, type, SIZES, false);
        direct = new TwinQueuePair(context, domain(context, threadDomains), region, type, SIZES, true);
        ownRegisters = threadDomains;
        if (type == QueuePairType.UD) {
            handle = domain.createAddressHandle(driver.queuePair.pathTo(driver.queuePair.localEndpoint()));
        }
        assertFalse(driver.queuePair.isDirect());
        assertTrue(direct.queuePair.isDirect());
        Cards.pause(true);
        if (threadDomains) {
            driver.clearRegister();
            direct.clearRegister();
        }
    }

    private ProtectionDomain domain(Context context, boolean threadDomain) {
        return threadDomain
                ? domain.createParentDomain(new ParentDomainOptions().threadDomain(context.allocateThreadDomain()))
                : domain;
    }

    /** Leaves nothing in the rings that the card would take for work. */
    private void close() {
        driver.forget();
        direct.forget();
        Cards.pause(false);
    }

    @ParameterizedTest
    @CsvSource({
        "RC, 900000, false",
        "UC, 100000, false",
        "UD, 200000, false",
        "RC, 100000, true",
        "UC, 20000, true",
        "UD, 50000, true"
    })
    void shouldWriteAndReadAsTheDriverDoes(QueuePairType type, int requests, boolean threadDomains) {
        long seed = System.nanoTime();
        random = new SplittableRandom(seed);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            open(arena, type, threadDomains);
            try {
                run(requests / 100 * PERCENT);
            } finally {
                close();
            }
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("with seed " + seed + ": " + e.getMessage(), e);
        }
    }

    private void run(int requests) {
        for (int done = 0; done < requests; ) {
            switch (random.nextInt(16)) {
                case 0, 1 -> postReceives();
                case 2, 3, 4, 5 -> complete();
                case 6 -> requestNotification();
                case 7 -> completeForAStranger();
                case 8, 9, 10, 11 -> done += buildSends();
                default -> done += postSends();
            }
        }
        while (!outstanding.isEmpty()) {
            complete();
        }
    }

    private Plan[] plans(boolean forBuilder) {
        Plan[] plans = new Plan[1 + random.nextInt(LONGEST_CHAIN)];
        for (int i = 0; i < plans.length; i++) {
            plans[i] = new Plan(driver.queuePair.type(), forBuilder);
        }
        return plans;
    }

    private int postSends() {
        Plan[] plans = plans(false);
        int expected = post(plans, driver);
        driver.noteDoorbell();
        assertEquals(expected, post(plans, direct), "result of posting");
        direct.noteDoorbell();
        int count = compareSends();
        if (expected != QueuePair.POSTED) {
            zeroFreeUnits();
        }
        return count;
    }

    private static int post(Plan[] plans, TwinQueuePair twin) {
        for (int i = 0; i < plans.length; i++) {
            plans[i].fill(twin.sends[i], twin).next(i + 1 < plans.length ? twin.sends[i + 1] : null);
        }
        return twin.queuePair.tryPostSend(twin.sends[0]);
    }

    private int buildSends() {
        Plan[] plans = plans(true);
        if (plans.length > driver.queuePair.capabilities().maxSendWorkRequests() - (posted - acknowledged)) {
            overfillDirect(plans);
            return 0;
        }
        assertEquals(QueuePair.POSTED, build(plans, driver));
        driver.noteDoorbell();
        assertEquals(QueuePair.POSTED, build(plans, direct));
        direct.noteDoorbell();
        return compareSends();
    }

    /** Only directly: past a full queue the functions of libmlx5's builder write to the last work request posted. */
    private void overfillDirect(Plan[] plans) {
        assertEquals(QueuePair.QUEUE_FULL, build(plans, direct));
        assertEquals(driver.sendCounter(), direct.sendCounter(), "doorbell record");
        for (int start : outstanding) {
            compareWords(start);
        }
        zeroFreeUnits();
    }

    private static int build(Plan[] plans, TwinQueuePair twin) {
        try (WorkRequestBuilder builder = twin.queuePair.startWorkRequests()) {
            for (Plan plan : plans) {
                plan.build(builder, twin);
            }
            return builder.tryComplete();
        }
    }

    /** What does not fit leaves something behind, which is not the same in both rings. */
    private void zeroFreeUnits() {
        int used = outstanding.isEmpty() ? 0 : position - outstanding.peek();
        driver.zeroUnits(position, driver.sendUnits() - used);
        direct.zeroUnits(position, direct.sendUnits() - used);
    }

    /** Compares the work requests that are new in the rings, and returns how many they are. */
    private int compareSends() {
        assertEquals(driver.sendCounter(), direct.sendCounter(), "doorbell record");
        int count = 0;
        int last = -1;
        while ((position & 0xffff) != driver.sendCounter()) {
            compareWords(position);
            last = position;
            outstanding.add(position);
            position += driver.unitsOf(position);
            count++;
        }
        if (last >= 0) {
            assertTrue(driver.rangWith(last), "doorbell of the driver");
            assertTrue(direct.rangWith(last), "doorbell");
        }
        if (ownRegisters) {
            compareRegisters(last);
        }
        posted += count;
        return count;
    }

    private void compareWords(int start) {
        int words = driver.unitsOf(start) * WORDS_OF_UNIT;
        for (int i = 0; i < words; i++) {
            long expected = driver.word(start, i);
            long found = direct.word(start, i);
            // There are many of them.
            if (expected != found) {
                String first = Long.toHexString(driver.word(start, 0));
                assertEquals(
                        expected,
                        found,
                        "word " + i + " of the work request at " + start + ", which begins with " + first);
            }
        }
    }

    /** In a thread domain a doorbell may be a copy of the work request, and the halves of the register are used in turn. */
    private void compareRegisters(int last) {
        for (int i = 0; i < 2 * driver.halfWords(); i++) {
            long expected = driver.registerWord(i);
            long found = direct.registerWord(i);
            if (expected != found) {
                String request = last < 0 ? "nothing" : Long.toHexString(driver.word(last, 0));
                assertEquals(expected, found, "word " + i + " of the register after " + request);
            }
        }
        driver.clearRegister();
        direct.clearRegister();
    }

    private void postReceives() {
        Plan[] plans = plans(false);
        int expected = postReceives(plans, driver);
        assertEquals(expected, postReceives(plans, direct), "result of posting receives");
        assertEquals(driver.receiveCounter(), direct.receiveCounter(), "doorbell record of receives");
        while ((receivesPosted & 0xffff) != driver.receiveCounter()) {
            for (int i = 0; i < driver.receiveBytes() / Long.BYTES; i++) {
                assertEquals(driver.receiveWord(receivesPosted, i), direct.receiveWord(receivesPosted, i), "receive");
            }
            receivesPosted++;
        }
    }

    private static int postReceives(Plan[] plans, TwinQueuePair twin) {
        for (int i = 0; i < plans.length; i++) {
            plans[i].fill(twin.receives[i]).next(i + 1 < plans.length ? twin.receives[i + 1] : null);
        }
        return twin.queuePair.tryPostReceive(twin.receives[0]);
    }

    private void requestNotification() {
        boolean solicited = random.nextBoolean();
        driver.queue.requestNotification(solicited);
        direct.queue.requestNotification(solicited);
        assertEquals(driver.armRecord(), direct.armRecord(), "record of requests for notifications");
    }

    private void completeForAStranger() {
        completeBoth(REQUEST, 0, 0, 0, false);
        assertThrows(VerbsException.class, () -> driver.queue.poll(driver.completions));
        assertThrows(VerbsException.class, () -> direct.queue.poll(direct.completions));
        assertEquals(driver.consumedRecord(), direct.consumedRecord(), "record of what was consumed");
    }

    private void complete() {
        int count = 0;
        for (int wanted = 1 + random.nextInt(20); count < wanted; ) {
            if (random.nextInt(4) == 0 && receivesTaken != receivesPosted) {
                receivesTaken++;
                int kind = random.nextInt(100) == 0
                        ? RECEIVE_FAILED
                        : RECEIVE_WITH_IMMEDIATE + random.nextInt(SEND_WITH_INVALIDATE);
                completeBoth(kind, 0, random.nextInt(), random.nextInt(256), true);
                count++;
            } else if (!outstanding.isEmpty()) {
                count += completeSend();
            } else {
                break;
            }
        }
        if (random.nextBoolean()) {
            compareCompletions(count);
        } else {
            compareInPlace(count);
        }
        assertEquals(driver.consumedRecord(), direct.consumedRecord(), "record of what was consumed");
    }

    private int completeSend() {
        int start = outstanding.remove();
        int operation = (int) (driver.word(start, 0) >>> Integer.SIZE) & 0xff;
        boolean signaled = (driver.word(start, 1) >>> Integer.SIZE & 0x8) != 0;
        int units = driver.unitsOf(start);
        driver.zeroUnits(start, units);
        direct.zeroUnits(start, units);
        boolean fails = random.nextInt(100) == 0;
        if (!signaled && !fails && !outstanding.isEmpty()) {
            return 0;
        }
        acknowledged = posted - outstanding.size();
        completeBoth(fails ? REQUEST_FAILED : REQUEST, operation, start, random.nextInt(256), true);
        return 1;
    }

    private void completeBoth(int kind, int operation, int counter, int syndrome, boolean known) {
        for (int i = 0; i < noise.length; i++) {
            noise[i] = random.nextLong();
        }
        driver.complete(kind, operation, counter, syndrome, noise, known);
        direct.complete(kind, operation, counter, syndrome, noise, known);
    }

    private void compareCompletions(int count) {
        assertEquals(count, driver.queue.poll(driver.completions));
        assertEquals(count, direct.queue.poll(direct.completions));
        WorkCompletions expected = driver.completions;
        WorkCompletions found = direct.completions;
        for (int i = 0; i < count; i++) {
            assertEquals(expected.id(i), found.id(i), "identifier");
            assertEquals(expected.status(i), found.status(i), "status");
            assertEquals(driver.queuePair.number(), expected.queuePairNumber(i));
            assertEquals(direct.queuePair.number(), found.queuePairNumber(i));
            if (expected.status(i) != CompletionStatus.SUCCESS) {
                assertEquals(expected.vendorError(i), found.vendorError(i), "vendor error");
                continue;
            }
            assertEquals(expected.opcode(i), found.opcode(i), "opcode");
            assertEquals(expected.flags(i), found.flags(i), "flags");
            switch (expected.opcode(i)) {
                case RECV, RECV_RDMA_WITH_IMM -> {
                    assertEquals(expected.byteLength(i), found.byteLength(i), "length");
                    assertEquals(expected.sourceQueuePair(i), found.sourceQueuePair(i), "source");
                    assertEquals(expected.sourceLid(i), found.sourceLid(i), "source LID");
                    assertEquals(expected.serviceLevel(i), found.serviceLevel(i), "service level");
                    assertEquals(expected.destinationPathBits(i), found.destinationPathBits(i), "path bits");
                    assertEquals(expected.pkeyIndex(i), found.pkeyIndex(i), "P_Key index");
                    if (expected.hasImmediate(i)) {
                        assertEquals(expected.immediate(i), found.immediate(i), "immediate");
                    }
                    if (expected.hasInvalidatedRkey(i)) {
                        assertEquals(expected.invalidatedRkey(i), found.invalidatedRkey(i), "invalidated key");
                    }
                }
                case RDMA_READ, COMP_SWAP, FETCH_ADD ->
                    assertEquals(expected.byteLength(i), found.byteLength(i), "length");
                default -> {}
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
                assertEquals(direct.queuePair.number(), found.queuePairNumber());
                if (!expected.succeeded()) {
                    assertEquals(expected.vendorError(), found.vendorError(), "vendor error");
                    continue;
                }
                assertEquals(expected.opcode(), found.opcode(), "opcode");
                if (expected.opcode() == CompletionOpcode.RECV
                        || expected.opcode() == CompletionOpcode.RECV_RDMA_WITH_IMM) {
                    // Of sends the driver returns what the entry contains there.
                    assertEquals(expected.flags(), found.flags(), "flags");
                }
                assertArrayEquals(
                        new int[] {
                            expected.byteLength(),
                            expected.immediate(),
                            expected.invalidatedRkey(),
                            expected.sourceQueuePair(),
                            expected.sourceLid(),
                            expected.serviceLevel(),
                            expected.destinationPathBits()
                        },
                        new int[] {
                            found.byteLength(),
                            found.immediate(),
                            found.invalidatedRkey(),
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
