package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.Program;

/** A receive that nobody posts is told to the log: once, by each side. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReceiveShortageTest {
    private static final List<String> LOGGING = List.of(
            "-Dlog4j.provider=org.apache.logging.log4j.simple.internal.SimpleProvider",
            "-Dorg.apache.logging.log4j.simplelog.level=WARN");

    private static long count(String text, String part) {
        return text.lines().filter(line -> line.contains(part)).count();
    }

    /** Between queue pairs of one device, and with packets. */
    @ParameterizedTest
    @ValueSource(strings = {"false", "true"})
    void shouldWarnOnBothSides(String wire) throws Exception {
        try (Program program = Program.javaWith(LOGGING, WaitsForReceive.class, "wire", wire)) {
            program.assertSucceeds();
            String output = program.output();
            Matcher numbers =
                    Pattern.compile("from (0x[0-9a-f]{6}) to (0x[0-9a-f]{6})").matcher(output);
            assertTrue(numbers.find(), output);
            String sending =
                    "queue pair " + numbers.group(1) + " has been sending one message for more than a second to"
                            + " queue pair " + numbers.group(2) + " of ";
            assertEquals(1, count(output, sending), output);
            assertEquals(1, count(output, "post receives there before this side sends"), output);
            String lacking =
                    "queue pair " + numbers.group(2) + " has had no receive for more than a second for a message"
                            + " that queue pair " + numbers.group(1) + " of ";
            assertEquals(1, count(output, lacking), output);
            assertEquals(1, count(output, "post receives with QueuePair.postReceive before the peer sends"), output);
        }
    }

    /** Messages that find no receive one after the other, each for a moment, are not warned of. */
    @Test
    void shouldTellOneMessageFromTheNext() {
        ReceiveShortage shortage = new ReceiveShortage();
        long start = System.nanoTime();
        for (int message = 0; System.nanoTime() - start < ReceiveShortage.PATIENCE_NANOS + 200_000_000; message++) {
            assertFalse(shortage.isNews(message));
            Thread.onSpinWait();
        }
    }
}
