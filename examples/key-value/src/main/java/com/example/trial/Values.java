package com.example.trial;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;

/** Values that show which key they were written for, and which of its versions they are: a number, and bytes that follow from both. */
final class Values {
    private static final int LONGEST = 3800;

    private Values() {}

    static byte[] of(String key, long version) {
        Random random = new Random(key.hashCode() * 1_000_003L + version);
        byte[] value = new byte[Long.BYTES + random.nextInt(LONGEST - Long.BYTES)];
        random.nextBytes(value);
        ByteBuffer.wrap(value).putLong(0, version);
        return value;
    }

    /** Returns the version of a value; -1 if it was never written for that key. */
    static long version(String key, byte[] value) {
        if (value.length < Long.BYTES) {
            return -1;
        }
        long version = ByteBuffer.wrap(value).getLong(0);
        return version > 0 && Arrays.equals(value, of(key, version)) ? version : -1;
    }
}
