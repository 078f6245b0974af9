package org.rdmapanama.samples.table;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.Random;

/** Values that prove by themselves that they are whole, without the checksum of the table. */
final class Values {
    /** The number of the key and a seed, from which the rest follows. */
    private static final int HEADER = 16;

    private Values() {}

    static byte[] key(int number) {
        return ("key " + number).getBytes(StandardCharsets.UTF_8);
    }

    /** A value of a key, of a random length up to a maximum. */
    static byte[] random(int key, int most, Random random) {
        byte[] value = new byte[HEADER + random.nextInt(most - HEADER + 1)];
        fill(value, key, random.nextLong());
        return value;
    }

    private static void fill(byte[] value, int key, long seed) {
        byte[] head = java.nio.ByteBuffer.allocate(HEADER)
                .putInt(key)
                .putInt(value.length)
                .putLong(seed)
                .array();
        new Random(seed).nextBytes(value);
        System.arraycopy(head, 0, value, 0, HEADER);
    }

    static boolean isWhole(int key, byte[] value) {
        if (value.length < HEADER) {
            return false;
        }
        java.nio.ByteBuffer head = java.nio.ByteBuffer.wrap(value);
        if (head.getInt() != key || head.getInt() != value.length) {
            return false;
        }
        byte[] expected = new byte[value.length];
        fill(expected, key, head.getLong());
        return java.util.Arrays.equals(expected, value);
    }

    static void check(int key, byte[] value) {
        assertEquals(true, isWhole(key, value), () -> "a torn value of key " + key + ", of " + value.length + " bytes");
    }
}
