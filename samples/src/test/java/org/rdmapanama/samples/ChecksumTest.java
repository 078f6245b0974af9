package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

class ChecksumTest {
    @Test
    void shouldBeCrc32c() throws Exception {
        MemorySegment text = MemorySegment.ofArray("123456789".getBytes(StandardCharsets.US_ASCII));
        assertEquals(0xe306_9283, Checksum.of(text, () -> {}));
    }

    @Test
    void shouldCoverMemoryOfAConfinedArenaInPieces() throws Exception {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate((9 << 20) + 5);
            TestPattern.fill(memory, 1, () -> {});
            CRC32C whole = new CRC32C();
            whole.update(memory.toArray(ValueLayout.JAVA_BYTE));
            int[] pauses = new int[1];
            assertEquals((int) whole.getValue(), Checksum.of(memory, () -> pauses[0]++));
            assertTrue(pauses[0] > 1);
        }
    }

    @Test
    void shouldFillEveryByteAnewWithEverySeed() throws Exception {
        MemorySegment memory = MemorySegment.ofArray(new byte[4099]);
        TestPattern.fill(memory, 1, () -> {});
        int first = Checksum.of(memory, () -> {});
        memory.set(ValueLayout.JAVA_BYTE, 4098, (byte) ~memory.get(ValueLayout.JAVA_BYTE, 4098));
        assertNotEquals(first, Checksum.of(memory, () -> {}));
        TestPattern.fill(memory, 2, () -> {});
        assertNotEquals(first, Checksum.of(memory, () -> {}));
        TestPattern.fill(memory, 1, () -> {});
        assertEquals(first, Checksum.of(memory, () -> {}));
    }
}
