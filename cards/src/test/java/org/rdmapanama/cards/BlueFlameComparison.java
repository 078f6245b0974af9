package org.rdmapanama.cards;

import java.util.function.IntFunction;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ParentDomainOptions;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;

/**
 * Two thread domains with two queue pairs each: the driver posts to those of one, Java to those of the other. After each
 * doorbell their registers contain the same, and what the environment asks for. The card is paused, and this takes its place.
 */
final class BlueFlameComparison {
    /** The longest work request that a half of the register takes, in units of 16 bytes. */
    private static final int MOST = 16;

    /** The longest that is posted. */
    private static final int LONGEST = 21;

    /** Few, because to get to the end of the ring again and again takes time. */
    private static final int SENDS = 4;

    private static final int UNIT_SEGMENTS = 4;
    private static final int SEGMENT = 16;
    private static final int PAIRS = 2;
    private static final int BYTES = 4096;
    private static final int REQUEST = 0;
    private static final TwinQueuePair.Sizes SIZES = new TwinQueuePair.Sizes(SENDS, LONGEST, inlineBytes(LONGEST));

    /** What else a completion contains. */
    private static final long[] NOTHING = new long[8];

    /** Which work requests libmlx5 copies, and Java with it. */
    static final boolean COPIES_INLINE = !isOn("MLX5_SHUT_UP_BF", false);

    static final boolean COPIES_OTHERS = COPIES_INLINE && isOn("MLX5_POST_SEND_PREFER_BF", true);

    private final MemoryRegion region;
    private final TwinQueuePair[] drivers;
    private final TwinQueuePair[] directs;

    /** Where the next work request of each queue pair begins. */
    private final int[] positions = new int[PAIRS];

    private int doorbells;
    private int copiedInline;
    private int copiedOthers;

    /** How many work requests were copied, with inline data and without. */
    record Copied(int inline, int others) {}

    BlueFlameComparison(VerbsArena arena) {
        Context context = Context.open(arena, "mlx5_0");
        ProtectionDomain plain = context.allocateProtectionDomain();
        region = plain.register(arena.allocate(BYTES, BYTES), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        drivers = twins(context, plain, false);
        directs = twins(context, plain, true);
    }

    private static boolean isOn(String variable, boolean usual) {
        String value = System.getenv(variable);
        return value == null ? usual : !value.equals("0");
    }

    /** Returns how many bytes of inline data a send of a size has. */
    private static int inlineBytes(int segments) {
        return (segments - 1) * SEGMENT - Integer.BYTES;
    }

    private TwinQueuePair[] twins(Context context, ProtectionDomain plain, boolean direct) {
        ProtectionDomain domain =
                plain.createParentDomain(new ParentDomainOptions().threadDomain(context.allocateThreadDomain()));
        TwinQueuePair[] twins = new TwinQueuePair[PAIRS];
        for (int i = 0; i < PAIRS; i++) {
            twins[i] = new TwinQueuePair(context, domain, region, QueuePairType.RC, SIZES, direct);
        }
        return twins;
    }

    /** Posts work requests of all sizes, each of them where it ends at the end of the ring, and where it goes on at the start. */
    Copied run() {
        Cards.pause(true);
        try {
            drivers[0].clearRegister();
            directs[0].clearRegister();
            for (int segments = 1; segments <= LONGEST; segments++) {
                int blocks = (segments + UNIT_SEGMENTS - 1) / UNIT_SEGMENTS;
                for (int before = 1; before <= blocks; before++) {
                    for (boolean built : new boolean[] {false, true}) {
                        postBefore(before, new Kind(segments, false, built));
                        if (segments > 1) {
                            postBefore(before, new Kind(segments, true, built));
                        }
                    }
                }
            }
        } finally {
            for (int i = 0; i < PAIRS; i++) {
                drivers[i].forget();
                directs[i].forget();
            }
            Cards.pause(false);
        }
        return new Copied(copiedInline, copiedOthers);
    }

    /**
     * A kind of work request.
     *
     * @param segments its size, in units of 16 bytes
     * @param inline whether its data is in it
     * @param built whether it is posted by a builder
     */
    private record Kind(int segments, boolean inline, boolean built) {}

    /** Posts a work request where so many blocks are left before the end of the ring, alone and as a batch. */
    private void postBefore(int blocks, Kind kind) {
        for (int pair = 0; pair < PAIRS; pair++) {
            int units = drivers[pair].sendUnits();
            Kind small = new Kind(1 + pair, false, kind.built);
            while ((positions[pair] & (units - 1)) != units - blocks) {
                post(pair, small, 1);
            }
            abort(drivers[pair]);
            abort(directs[pair]);
            post(pair, kind, 1);
            post(pair, kind, 2);
        }
    }

    /** Builds a work request with inline data and posts nothing: what comes in its place has none. */
    private void abort(TwinQueuePair twin) {
        try (WorkRequestBuilder builder = twin.queuePair.startWorkRequests()) {
            build(builder, new Kind(2, true, true));
            // Only another one ends the data of the first.
            build(builder, new Kind(2, true, true));
            builder.abort();
        }
    }

    private void post(int pair, Kind kind, int count) {
        IntFunction<String> name = word -> "word " + word + " of the register after " + count + " of " + kind
                + " at block " + positions[pair] + ", doorbell " + doorbells;
        TwinQueuePair driver = drivers[pair];
        TwinQueuePair direct = directs[pair];
        post(driver, kind, count);
        post(direct, kind, count);
        int last = positions[pair];
        for (int i = 1; i < count; i++) {
            last += driver.unitsOf(last);
        }
        require(driver.segmentsOf(last) == kind.segments, "the driver posts other sizes: " + kind);
        require(driver.sendCounter() == direct.sendCounter(), "other doorbell records after " + kind);

        boolean copies = count == 1
                && kind.segments > 1
                && kind.segments <= MOST
                && (kind.inline ? COPIES_INLINE : COPIES_OTHERS);
        int words = copies ? driver.unitsOf(last) * UNIT_SEGMENTS * SEGMENT / Long.BYTES : 1;
        int half = doorbells % 2 * driver.halfWords();
        for (int i = 0; i < 2 * driver.halfWords(); i++) {
            boolean stored = i >= half && i < half + words;
            long wanted = stored ? driver.word(last, i - half) : TwinQueuePair.UNTOUCHED;
            if (driver.registerWord(i) != wanted || direct.registerWord(i) != wanted) {
                throw new AssertionError(name.apply(i) + ": " + Long.toHexString(wanted)
                        + " was expected, the driver stored " + Long.toHexString(driver.registerWord(i)) + ", Java "
                        + Long.toHexString(direct.registerWord(i)));
            }
        }
        copiedInline += copies && kind.inline ? 1 : 0;
        copiedOthers += copies && !kind.inline ? 1 : 0;
        doorbells++;
        driver.clearRegister();
        direct.clearRegister();
        complete(driver, last);
        complete(direct, last);
        positions[pair] = last + driver.unitsOf(last);
    }

    private static void complete(TwinQueuePair twin, int position) {
        int operation = (int) (twin.word(position, 0) >>> Integer.SIZE) & 0xff;
        twin.complete(REQUEST, operation, position, 0, NOTHING, true);
        require(twin.queue.poll(twin.completions) == 1, "a completion is not found");
    }

    private void post(TwinQueuePair twin, Kind kind, int count) {
        if (kind.built) {
            try (WorkRequestBuilder builder = twin.queuePair.startWorkRequests()) {
                for (int i = 0; i < count; i++) {
                    build(builder, kind);
                }
                builder.complete();
            }
            return;
        }
        for (int i = 0; i < count; i++) {
            fill(twin.sends[i], kind).next(i + 1 < count ? twin.sends[i + 1] : null);
        }
        require(twin.queuePair.tryPostSend(twin.sends[0]) == QueuePair.POSTED, "the queue is full");
    }

    /** A write has one segment before its data, a send none. */
    private SendWorkRequest fill(SendWorkRequest request, Kind kind) {
        request.clear().id(1).signaled(true).inline(kind.inline);
        if (kind.inline) {
            return request.send().add(region, 0, inlineBytes(kind.segments));
        }
        if (kind.segments == 1) {
            return request.send();
        }
        request.rdmaWrite(region.address(), region.rkey());
        for (int i = 2; i < kind.segments; i++) {
            request.add(region, i, i);
        }
        return request;
    }

    private void build(WorkRequestBuilder builder, Kind kind) {
        builder.id(1).signaled(true);
        if (kind.inline) {
            builder.send().inlineData(region.memory().asSlice(0, inlineBytes(kind.segments)));
            return;
        }
        if (kind.segments == 1) {
            builder.send();
        } else {
            builder.rdmaWrite(region.address(), region.rkey());
        }
        for (int i = 2; i < kind.segments; i++) {
            builder.add(region, i, i);
        }
        if (kind.segments <= 2) {
            // A builder needs data, but not bytes.
            builder.add(region, 0, 0);
        }
    }

    private static void require(boolean expected, String otherwise) {
        if (!expected) {
            throw new AssertionError(otherwise);
        }
    }

    /** Compares in a process of its own, which libmlx5 and Java see the same environment of. */
    public static void main(String[] args) {
        Cards.insert("mlx5");
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            System.out.println(new BlueFlameComparison(arena).run());
        }
    }
}
