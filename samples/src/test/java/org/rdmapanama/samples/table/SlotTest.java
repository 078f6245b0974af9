package org.rdmapanama.samples.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which bytes pass for a slot. */
class SlotTest {
    private static final int SLOT = 256;
    private static final int GENERATION = 3;

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment memory = arena.allocate(2 * SLOT, 8);
    private final Slot slot = new Slot(memory, SLOT, GENERATION);
    private final MemorySegment key = MemorySegment.ofArray(new byte[] {1, 2, 3});

    @AfterEach
    void close() {
        arena.close();
    }

    private byte[] bytes() {
        return memory.asSlice(0, SLOT).toArray(ValueLayout.JAVA_BYTE);
    }

    private void set(byte[] bytes) {
        MemorySegment.copy(bytes, 0, memory, ValueLayout.JAVA_BYTE, 0, bytes.length);
    }

    private byte[] written(int length, int content) {
        byte[] value = new byte[length];
        Arrays.fill(value, (byte) content);
        slot.write(0, key, MemorySegment.ofArray(value));
        assertTrue(slot.isWhole(0));
        return bytes();
    }

    @Test
    void shouldHoldKeyAndValue() {
        byte[] value = new byte[SLOT - Slot.HEADER - 3];
        new Random(1).nextBytes(value);
        slot.write(0, key, MemorySegment.ofArray(value));
        assertTrue(slot.isWhole(0));
        assertTrue(slot.hasKey(0, key, 0, 3));
        assertEquals(2, slot.version(0));
        assertArrayEquals(
                value, memory.asSlice(Slot.HEADER + 3, slot.valueLength(0)).toArray(ValueLayout.JAVA_BYTE));
        slot.write(0, MemorySegment.ofArray(new byte[0]), MemorySegment.ofArray(new byte[0]));
        assertTrue(slot.isWhole(0));
        assertEquals(0, slot.keyLength(0));
        assertFalse(slot.hasKey(0, key, 0, 3));
    }

    @Test
    void shouldRefuseASlotCutAtEachWord() {
        int[][] lengths = {{200, 200}, {200, 120}, {17, 220}, {64, 64}, {0, 200}, {200, 0}};
        for (int[] each : lengths) {
            byte[] before = written(each[0], 'a');
            byte[] after = written(each[1], 'b');
            int end = Slot.HEADER + 3 + Math.max(each[0], each[1]);
            for (int cut = 8; cut < end; cut += 8) {
                byte[] newFirst = before.clone();
                System.arraycopy(after, 0, newFirst, 0, cut);
                set(newFirst);
                boolean isAfter = Arrays.equals(newFirst, 0, end(after), after, 0, end(after));
                assertEquals(
                        isAfter, slot.isWhole(0), "the first " + cut + " bytes are new, " + each[0] + " " + each[1]);
                byte[] oldFirst = after.clone();
                System.arraycopy(before, 0, oldFirst, 0, cut);
                set(oldFirst);
                boolean isBefore = Arrays.equals(oldFirst, 0, end(before), before, 0, end(before));
                assertEquals(
                        isBefore, slot.isWhole(0), "the first " + cut + " bytes are old, " + each[0] + " " + each[1]);
            }
            set(after);
        }
    }

    /** Returns where the value of a slot ends: what follows it does not matter. */
    private static int end(byte[] bytes) {
        return Slot.HEADER + 3 + MemorySegment.ofArray(bytes).get(ValueLayout.JAVA_INT_UNALIGNED, Slot.VALUE_LENGTH);
    }

    /** The same bytes written twice: only the versions tell which half is which. */
    @Test
    void shouldRefuseTheHeadOfOneWriteWithTheTailOfAnother() {
        byte[] before = written(100, 'a');
        written(100, 'b');
        byte[] after = written(100, 'a');
        byte[] mixed = after.clone();
        System.arraycopy(before, 8, mixed, 8, 8);
        set(mixed);
        assertFalse(slot.isWhole(0));
    }

    @Test
    void shouldRefuseEachFlippedBit() {
        byte[] good = written(60, 'x');
        for (int bit = 0; bit < end(good) * Byte.SIZE; bit++) {
            byte[] bad = good.clone();
            bad[bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
            set(bad);
            assertFalse(slot.isWhole(0), "bit " + bit);
        }
    }

    @Test
    void shouldBearLengthsThatCannotBe() {
        int[] lengths = {-1, Integer.MIN_VALUE, Integer.MAX_VALUE, SLOT, SLOT - Slot.HEADER + 1};
        for (int keyLength : lengths) {
            for (int valueLength : lengths) {
                written(60, 'x');
                memory.set(Slot.INT, Slot.KEY_LENGTH, keyLength);
                memory.set(Slot.INT, Slot.VALUE_LENGTH, valueLength);
                assertFalse(slot.isWhole(0));
                assertFalse(slot.hasKey(0, key, 0, 3));
            }
        }
    }

    @Test
    void shouldRefuseAnotherGeneration() {
        written(10, 'x');
        assertFalse(new Slot(memory, SLOT, GENERATION + 1).isWhole(0));
        slot.move(0);
        assertFalse(slot.isWhole(0));
        assertEquals(Slot.MOVED, slot.version(0));
    }
}
