package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;
import org.rdmapanama.SendWorkRequest;

/** Lesson 12: A reads a value that B writes at the same time, and draws numbers from a counter. */
final class OneSidedStructures {
    // A slot: its version, the checksum of version and value, and the value.
    private static final int CHECKSUM = 8;
    private static final int VALUE = 16;
    private static final int SLOT = 64;
    private static final int COUNTER = 128;

    private OneSidedStructures() {}

    // excerpt
    static void run(Board board) throws InterruptedException {
        try (TwoEnds ends = new TwoEnds(board)) {
            MemorySegment slot = ends.memoryOfB.memory().asSlice(0, SLOT);
            MemorySegment copy = ends.memoryOfA.memory().asSlice(0, SLOT);
            beginWrite(slot, "Fog in the morning.");
            endWrite(slot);
            read(ends, 0, SLOT);
            board.say("A reads: %s", judge(copy));

            beginWrite(slot, "The sun is shining, and dry weather stays.");
            read(ends, 0, SLOT);
            board.say("B is writing, and A reads: %s", judge(copy));

            read(ends, 40, SLOT - 40);
            endWrite(slot);
            beginWrite(slot, "A storm is coming, with rain and thunder.");
            endWrite(slot);
            read(ends, 0, 40);
            board.say("A has an old end and a new beginning: %s", judge(copy));

            read(ends, 0, SLOT);
            board.say("A reads again: %s", judge(copy));

            SendWorkRequest draw = SendWorkRequest.allocate(ends.arena, 1);
            for (int i = 0; i < 3; i++) {
                ends.a.postSend(draw.clear()
                        .fetchAndAdd(ends.memoryOfB.remote().slice(COUNTER, 8), 1)
                        .add(ends.memoryOfA, COUNTER, 8)
                        .signaled(true));
                ends.await(ends.queueOfA);
                board.say("A draws number %d", ends.memoryOfA.memory().get(JAVA_LONG, COUNTER));
            }
        }
    }

    private static void read(TwoEnds ends, int from, int bytes) throws InterruptedException {
        ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                .rdmaRead(ends.memoryOfB.remote().slice(from))
                .add(ends.memoryOfA, from, bytes)
                .signaled(true));
        ends.await(ends.queueOfA);
    }

    /** B: an odd version says that the value is being written. */
    private static void beginWrite(MemorySegment slot, String value) {
        slot.set(JAVA_LONG, 0, slot.get(JAVA_LONG, 0) + 1);
        slot.asSlice(VALUE).fill((byte) 0);
        slot.setString(VALUE, value);
    }

    /** B: an even one says that it is there. */
    private static void endWrite(MemorySegment slot) {
        slot.set(JAVA_LONG, 0, slot.get(JAVA_LONG, 0) + 1);
        slot.set(JAVA_LONG, CHECKSUM, checksum(slot));
    }

    private static long checksum(MemorySegment slot) {
        CRC32C crc = new CRC32C();
        crc.update(slot.asSlice(0, CHECKSUM).asByteBuffer());
        crc.update(slot.asSlice(VALUE).asByteBuffer());
        return crc.getValue();
    }

    /** A: what it has read. */
    private static String judge(MemorySegment copy) {
        long version = copy.get(JAVA_LONG, 0);
        if (version % 2 != 0) {
            return "version " + version + " is being written";
        }
        if (copy.get(JAVA_LONG, CHECKSUM) != checksum(copy)) {
            return "version " + version + ", but '" + copy.getString(VALUE) + "' has another checksum";
        }
        return "version " + version + ", '" + copy.getString(VALUE) + "'";
    }
    // end
}
