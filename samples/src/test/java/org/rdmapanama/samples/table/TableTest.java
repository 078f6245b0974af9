package org.rdmapanama.samples.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A table in memory, without clients. */
class TableTest {
    private static Table table(int slots, int window) {
        return new Table(new Geometry(0, 0, 1, slots, 128, window, 42));
    }

    private static MemorySegment bytes(String text) {
        return MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
    }

    private static Window window(Table table, MemorySegment key) {
        Geometry geometry = table.geometry();
        int home = geometry.home(Hash.of(key, 0, (int) key.byteSize(), geometry.seed()));
        return new Window(table.memory().asSlice((long) home * geometry.slotBytes(), geometry.windowBytes()), geometry);
    }

    @Test
    void shouldDoWhatAMapDoes() {
        Table table = table(256, 8);
        Map<String, String> map = new HashMap<>();
        Random random = new Random(3);
        for (int i = 0; i < 20_000; i++) {
            String key = "key " + random.nextInt(120);
            if (random.nextInt(3) == 0) {
                assertEquals(map.remove(key) != null, table.remove(bytes(key)));
            } else {
                String value = "x".repeat(random.nextInt(90));
                if (table.put(bytes(key), bytes(value))) {
                    map.put(key, value);
                } else {
                    assertFalse(map.containsKey(key));
                }
            }
            assertEquals(map.size(), table.size());
        }
        for (int i = 0; i < 120; i++) {
            MemorySegment key = bytes("key " + i);
            String value = map.get("key " + i);
            int at = window(table, key).find(key, 0, (int) key.byteSize());
            if (value == null) {
                assertNull(table.get(key));
                assertEquals(Window.ABSENT, at);
            } else {
                assertArrayEquals(
                        value.getBytes(StandardCharsets.UTF_8), table.get(key).toArray(ValueLayout.JAVA_BYTE));
                assertTrue(at >= 0);
            }
        }
    }

    @Test
    void shouldTellKeysOfOnePlaceApart() {
        // All keys have the same place.
        Table table = table(1, 4);
        for (String each : new String[] {"a", "b", "ab", "ba"}) {
            assertTrue(table.put(bytes(each), bytes("value of " + each)));
        }
        assertFalse(table.put(bytes("c"), bytes("")));
        assertTrue(table.put(bytes("b"), bytes("other")), "a key that is there needs no room");
        assertTrue(table.remove(bytes("a")));
        assertArrayEquals(
                bytes("other").toArray(ValueLayout.JAVA_BYTE),
                table.get(bytes("b")).toArray(ValueLayout.JAVA_BYTE));
        assertTrue(table.put(bytes("c"), bytes("")));
        assertEquals(0, table.get(bytes("c")).byteSize());
        assertNull(table.get(bytes("a")));
        assertEquals(4, table.size());
    }

    @Test
    void shouldSayThatItWasReplaced() {
        Table table = table(16, 4);
        assertTrue(table.put(bytes("key"), bytes("value")));
        Table next = new Table(new Geometry(0, 0, 2, 32, 128, 4, 43));
        assertTrue(table.copyTo(next));
        table.move();
        assertEquals(Window.MOVED, window(table, bytes("key")).find(bytes("key"), 0, 3));
        assertEquals(Window.MOVED, window(table, bytes("none")).find(bytes("none"), 0, 4));
        assertTrue(window(next, bytes("key")).find(bytes("key"), 0, 3) >= 0);
        assertEquals(1, next.size());
    }

    /** How full a table gets before the first key has no room; docs/STRUCTURES.md has the numbers. */
    @ParameterizedTest
    @CsvSource({"1024, 4, 20", "1024, 8, 35", "65536, 4, 8", "65536, 8, 20"})
    void shouldFillUpBeforeAKeyHasNoRoom(int slots, int window, int percent, TestReporter reporter) {
        double[] full = new double[9];
        for (int seed = 0; seed < full.length; seed++) {
            Table table = new Table(new Geometry(0, 0, 1, slots, 64, window, seed));
            int keys = 0;
            while (table.put(bytes("key " + keys), bytes(""))) {
                keys++;
            }
            full[seed] = 100.0 * keys / slots;
        }
        Arrays.sort(full);
        reporter.publishEntry(slots + " slots, window " + window + ": " + full[4] + " % full");
        assertTrue(full[4] > percent, () -> full[4] + " % full");
    }

    @Test
    void shouldNotCopyWhatHasNoRoom() {
        Table table = table(64, 4);
        for (int i = 0; i < 10; i++) {
            assertTrue(table.put(bytes("key " + i), bytes("value")));
        }
        assertFalse(table.copyTo(new Table(new Geometry(0, 0, 2, 1, 128, 4, 42))));
    }

    /** A window of random bytes, and with random bytes in the fields that matter, is never anything but torn. */
    @Test
    void shouldBearRandomWindows() {
        Random random = new Random(9);
        Table table = table(1, 4);
        MemorySegment key = bytes("key");
        for (int i = 0; i < 20_000; i++) {
            Window window = window(table, key);
            MemorySegment memory = window.memory();
            byte[] noise = new byte[(int) memory.byteSize()];
            random.nextBytes(noise);
            MemorySegment.copy(noise, 0, memory, ValueLayout.JAVA_BYTE, 0, noise.length);
            if (random.nextBoolean()) {
                memory.set(Slot.INT, Slot.KEY_LENGTH, 3);
                MemorySegment.copy(key, 0, memory, Slot.HEADER, 3);
                memory.set(Slot.INT, Slot.GENERATION, 1);
                memory.set(Slot.LONG, 0, 2);
                memory.set(Slot.INT, Slot.VALUE_LENGTH, random.nextInt());
            }
            assertEquals(Window.TORN, window.find(key, 0, 3));
        }
    }

    @Test
    void shouldRefuseGeometriesThatCannotBe() {
        Geometry good = new Geometry(4096, 1, 1, 1024, 128, 8, 7);
        assertEquals(good, Geometry.of(good.bytes()).orElseThrow());
        Geometry[] bad = {
            new Geometry(4096, 1, 0, 1024, 128, 8, 7),
            new Geometry(4096, 1, -1, 1024, 128, 8, 7),
            new Geometry(4096, 1, 1, 0, 128, 8, 7),
            new Geometry(4096, 1, 1, 1000, 128, 8, 7),
            new Geometry(4096, 1, 1, Integer.MIN_VALUE, 128, 8, 7),
            new Geometry(4096, 1, 1, 1 << 28, 128, 8, 7),
            new Geometry(4096, 1, 1, 1 << 27, 128, 8, 7),
            new Geometry(4096, 1, 1, 1024, 0, 8, 7),
            new Geometry(4096, 1, 1, 1024, -128, 8, 7),
            new Geometry(4096, 1, 1, 1024, 100, 8, 7),
            new Geometry(4096, 1, 1, 1024, 1 << 30, 8, 7),
            new Geometry(4096, 1, 1, 1024, 128, 0, 7),
            new Geometry(4096, 1, 1, 1024, 128, 65, 7),
            new Geometry(4096, 1, 1, 1024, 65536, 64, 7),
            new Geometry(4097, 1, 1, 1024, 128, 8, 7),
            new Geometry(-8, 1, 1, 1024, 128, 8, 7),
        };
        for (Geometry each : bad) {
            assertTrue(Geometry.of(each.bytes()).isEmpty(), each::toString);
        }
        byte[] bytes = good.bytes();
        for (int length = 0; length < Geometry.BYTES; length++) {
            assertTrue(Geometry.of(Arrays.copyOf(bytes, length)).isEmpty());
        }
        bytes[0]++;
        assertTrue(Geometry.of(bytes).isEmpty());
    }
}
