package org.rdmapanama.spark.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class DigestTest {
    private static final List<Digest> RECORDS =
            LongStream.range(0, 100).mapToObj(Digest::of).toList();

    private static Digest inOrder(List<Digest> records) {
        return records.stream().reduce(Digest.NONE, Digest::then);
    }

    private static Digest inAnyOrder(List<Digest> records) {
        return records.stream().reduce(Digest.NONE, Digest::and);
    }

    @Test
    void shouldNotDependOnWherePartitionsBegin() {
        for (int end = 0; end <= RECORDS.size(); end++) {
            Digest first = inOrder(RECORDS.subList(0, end));
            Digest second = inOrder(RECORDS.subList(end, RECORDS.size()));
            assertEquals(inOrder(RECORDS), first.then(second));
        }
    }

    @Test
    void shouldDependOnTheOrderOnlyWhereThereIsOne() {
        assertNotEquals(inOrder(RECORDS), inOrder(RECORDS.reversed()));
        assertEquals(inAnyOrder(RECORDS), inAnyOrder(RECORDS.reversed()));
    }

    @Test
    void shouldDependOnEachByteAndOnTheNumberOfRecords() {
        byte[] bytes = new byte[92];
        long before = Digest.of(bytes);
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = 1;
            assertNotEquals(before, Digest.of(bytes));
            bytes[i] = 0;
        }
        assertNotEquals(inAnyOrder(RECORDS), inAnyOrder(RECORDS.subList(0, 99)));
        assertNotEquals(inOrder(RECORDS), inOrder(RECORDS.subList(0, 99)));
        assertNotEquals(Digest.of(1, 2), Digest.of(2, 1));
    }
}
