package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class RecordLogTest {
    private static RecordLog logOfThree() {
        RecordLog log = new RecordLog();
        log.append(1, "one");
        log.append(1, "the second");
        log.append(2, "");
        return log;
    }

    @Test
    void shouldHaveWhatWasAppended() {
        RecordLog log = logOfThree();
        assertEquals(3, log.count());
        assertEquals("the second", log.payload(log.end(1)));
        assertEquals(0, new RecordLog().count());
    }

    @Test
    void shouldEndAtARecordWithAFlippedBit() {
        RecordLog log = logOfThree();
        for (int at = log.end(1); at < log.end(2); at++) {
            MemorySegment memory = log.memory();
            byte before = memory.get(JAVA_BYTE, at);
            for (int bit = 0; bit < Byte.SIZE; bit++) {
                memory.set(JAVA_BYTE, at, (byte) (before ^ 1 << bit));
                assertEquals(1, log.count(), "records, with bit " + bit + " of byte " + at + " flipped");
            }
            memory.set(JAVA_BYTE, at, before);
        }
        assertEquals(3, log.count());
    }

    @Test
    void shouldNotTakeARecordOfAnotherLog() {
        RecordLog log = logOfThree();
        RecordLog other = new RecordLog();
        other.append(1, "two");
        MemorySegment.copy(log.memory(), log.end(1), other.memory(), other.end(1), 512);
        assertEquals(1, other.count());
    }

    @Test
    void shouldTakeNoLengthBeyondTheMemory() {
        for (int length : new int[] {-1, Integer.MIN_VALUE, Integer.MAX_VALUE, 1024, 993}) {
            RecordLog log = new RecordLog();
            log.memory().set(JAVA_INT, 0, length);
            assertEquals(0, log.count(), "records, with a length of " + length);
        }
    }
}
