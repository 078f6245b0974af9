package org.rdmapanama.spark.jobs;

import java.io.Serializable;

/**
 * What a job has given, in short: two results with the same digest have the same records. It is no record of Java, because
 * Kryo, which Spark may send it with, cannot write these.
 */
final class Digest implements Serializable {
    private static final long serialVersionUID = 1;

    static final Digest NONE = new Digest(0, 0);

    private static final long FACTOR = 0x9E3779B97F4A7C15L;

    private final long records;
    private final long value;

    private Digest(long records, long value) {
        this.records = records;
        this.value = value;
    }

    /** Returns how many records there are. */
    long records() {
        return records;
    }

    /** Returns what their bytes give. */
    long value() {
        return value;
    }

    /** Returns the digest of a record with parts that have an order. */
    static Digest of(long... parts) {
        long value = 0;
        for (long each : parts) {
            value = mix(value * FACTOR + each);
        }
        return new Digest(1, value);
    }

    /** Returns a digest of bytes. */
    static long of(byte... bytes) {
        long value = bytes.length;
        for (byte each : bytes) {
            value = value * FACTOR + each;
        }
        return mix(value);
    }

    /** Adds records, which have no order. */
    Digest and(Digest others) {
        return new Digest(records + others.records, value + others.value);
    }

    /** Adds records, which come after these. */
    Digest then(Digest later) {
        return new Digest(records + later.records, value * power(later.records) + later.value);
    }

    /** Returns what a digest is multiplied by when so many records come after it. */
    private static long power(long exponent) {
        long result = 1;
        long square = FACTOR;
        for (long left = exponent; left > 0; left >>= 1) {
            if ((left & 1) != 0) {
                result *= square;
            }
            square *= square;
        }
        return result;
    }

    /** Changes a number so that its bits depend on each other; no two numbers give the same. */
    static long mix(long number) {
        long mixed = (number ^ number >>> 30) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94D049BB133111EBL;
        return mixed ^ mixed >>> 31;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Digest digest && digest.records == records && digest.value == value;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(value);
    }

    @Override
    public String toString() {
        return records + " records, " + Long.toHexString(value);
    }
}
