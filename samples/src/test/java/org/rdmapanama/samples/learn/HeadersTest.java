package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The headers that a lesson shows are all bytes of a packet, in order. */
@Timeout(120)
class HeadersTest {
    private static final Pattern TITLE = Pattern.compile("^(RC_\\w+(?: as .*)?), (\\d+) bytes$");
    private static final Pattern FIELD = Pattern.compile("^ {4}((?:[0-9a-f]{2} )+)(\\.\\.\\. )? *(.*)$");
    private static final Pattern DATA = Pattern.compile("^(\\d+) bytes?$");

    @ParameterizedTest
    @CsvSource({
        "SEND, RC_SEND_FIRST RC_SEND_MIDDLE RC_SEND_LAST RC_ACKNOWLEDGE",
        "WRITE, RC_RDMA_WRITE_ONLY RC_RDMA_READ_REQUEST RC_RDMA_READ_RESPONSE_FIRST RC_RDMA_READ_RESPONSE_LAST",
        "ATOMICS, RC_FETCH_ADD RC_COMPARE_SWAP RC_ATOMIC_ACKNOWLEDGE",
    })
    void shouldShowEveryByteOnce(Lesson lesson, String operations) throws Exception {
        Set<String> found = new TreeSet<>();
        int expected = 0;
        int bytes = 0;
        for (String line : LessonRuns.withHeaders(lesson).text().lines().toList()) {
            Matcher title = TITLE.matcher(line);
            Matcher field = FIELD.matcher(line);
            if (title.matches()) {
                assertEquals(expected, bytes, () -> "before " + line);
                assertTrue(found.add(title.group(1)), () -> "twice: " + line);
                expected = Integer.parseInt(title.group(2));
                bytes = 0;
            } else if (expected > 0 && field.matches()) {
                Matcher data = DATA.matcher(field.group(3));
                bytes += data.matches()
                        ? Integer.parseInt(data.group(1))
                        : field.group(1).length() / "00 ".length();
            }
        }
        assertEquals(expected, bytes, "of the last packet");
        assertTrue(found.containsAll(List.of(operations.split(" ", -1))), found::toString);
    }

    @Test
    void shouldShowImmediateDataAsTheProgramGaveThem() throws Exception {
        String text = LessonRuns.withHeaders(Lesson.WRITE).text();
        assertTrue(text.contains("    00 00 00 07               immediate data 7\n"), text);
    }

    @Test
    void shouldShowTheFirstWriteInOtherStacks() throws Exception {
        String text = LessonRuns.withHeaders(Lesson.WRITE).text();
        for (String each : List.of("as RoCE v1", "as iWARP", "in three stacks")) {
            String part = LearnDocument.headers(text, "RC_RDMA_WRITE_ONLY " + each);
            assertTrue(part.contains(" bytes around 64 bytes of data\n"), part);
        }
        assertFalse(LessonRuns.withHeaders(Lesson.SEND).text().contains("in three stacks"), "without a write");
    }
}
