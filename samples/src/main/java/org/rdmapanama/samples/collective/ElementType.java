package org.rdmapanama.samples.collective;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import java.lang.foreign.MemorySegment;
import java.util.Locale;

/** The type of the elements of a vector, in the byte order of the machine. */
enum ElementType {
    FLOAT(Float.BYTES) {
        @Override
        void reduce(
                Reduction reduction,
                MemorySegment result,
                long resultAt,
                MemorySegment other,
                long otherAt,
                int count) {
            for (int i = 0; i < count; i++) {
                long at = resultAt + (long) i * Float.BYTES;
                float one = result.get(JAVA_FLOAT, at);
                float two = other.get(JAVA_FLOAT, otherAt + (long) i * Float.BYTES);
                result.set(
                        JAVA_FLOAT,
                        at,
                        switch (reduction) {
                            case SUM -> one + two;
                            case MIN -> Math.min(one, two);
                            case MAX -> Math.max(one, two);
                        });
            }
        }

        @Override
        void set(MemorySegment memory, long index, double value) {
            memory.setAtIndex(JAVA_FLOAT, index, (float) value);
        }

        @Override
        double get(MemorySegment memory, long index) {
            return memory.getAtIndex(JAVA_FLOAT, index);
        }
    },

    DOUBLE(Double.BYTES) {
        @Override
        void reduce(
                Reduction reduction,
                MemorySegment result,
                long resultAt,
                MemorySegment other,
                long otherAt,
                int count) {
            for (int i = 0; i < count; i++) {
                long at = resultAt + (long) i * Double.BYTES;
                double one = result.get(JAVA_DOUBLE, at);
                double two = other.get(JAVA_DOUBLE, otherAt + (long) i * Double.BYTES);
                result.set(
                        JAVA_DOUBLE,
                        at,
                        switch (reduction) {
                            case SUM -> one + two;
                            case MIN -> Math.min(one, two);
                            case MAX -> Math.max(one, two);
                        });
            }
        }

        @Override
        void set(MemorySegment memory, long index, double value) {
            memory.setAtIndex(JAVA_DOUBLE, index, value);
        }

        @Override
        double get(MemorySegment memory, long index) {
            return memory.getAtIndex(JAVA_DOUBLE, index);
        }
    };

    private final int bytes;

    ElementType(int bytes) {
        this.bytes = bytes;
    }

    /** Returns the size of an element. */
    int bytes() {
        return bytes;
    }

    /** Combines elements of one array with those of another, and leaves the results in the first one. */
    abstract void reduce(
            Reduction reduction, MemorySegment result, long resultAt, MemorySegment other, long otherAt, int count);

    abstract void set(MemorySegment memory, long index, double value);

    abstract double get(MemorySegment memory, long index);

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
