package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class LossAndMarkingTest {
    private record Line(int rate, int packets, int repeated, int notifications) {}

    /** Returns the lines of the lesson's table. */
    private static Map<NetworkCase, Line> table(String output) {
        Map<NetworkCase, Line> lines = new EnumMap<>(NetworkCase.class);
        for (NetworkCase each : NetworkCase.values()) {
            Matcher line = Pattern.compile(
                            "^" + Pattern.quote(each.title()) + " +(\\d+) MiB/s +\\d+ % +(\\d+)× +(\\d+)× +(\\d+)×$",
                            Pattern.MULTILINE)
                    .matcher(output);
            assertTrue(line.find(), () -> each.title() + " in " + output);
            lines.put(
                    each,
                    new Line(
                            Integer.parseInt(line.group(1)),
                            Integer.parseInt(line.group(2)),
                            Integer.parseInt(line.group(3)),
                            Integer.parseInt(line.group(4))));
        }
        return lines;
    }

    @Test
    @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void shouldMeasureEachNetwork() throws Exception {
        LessonOutput output = LessonRuns.of(Lesson.LOSSLESS);
        Map<NetworkCase, Line> measured = table(output.text());
        for (NetworkCase each : NetworkCase.values()) {
            assertTrue(measured.get(each).packets() > 0, each::title);
            if (each != NetworkCase.MARKS) {
                assertEquals(0, measured.get(each).notifications(), each::title);
            }
        }
        assertTrue(measured.get(NetworkCase.FIVE_IN_HUNDRED).repeated() > 0);
        assertTrue(measured.get(NetworkCase.MARKS).notifications() > 0);

        assertEquals(1, output.pictures().size());
        String picture = output.pictures().getFirst().figure().draw().document();
        for (NetworkCase each : NetworkCase.values()) {
            assertTrue(picture.contains(each.title()), each::title);
        }
    }

    @Test
    void shouldTellOtherProcessesWhatWasMeasured() {
        Goodput goodput = new Goodput(1L << 40, 2_000_000_000, 3, 4, 5);
        assertEquals(goodput, Goodput.of(goodput.words()));
        assertEquals(1 << 19, goodput.rate());
    }
}
