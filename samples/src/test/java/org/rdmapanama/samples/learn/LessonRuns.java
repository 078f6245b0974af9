package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.rdmapanama.cm.RdmaDevices;

/** What the lessons print and draw when they run in this process, once for all tests. */
final class LessonRuns {
    private static final Map<Lesson, LessonOutput> RUNS = new EnumMap<>(Lesson.class);
    private static final Map<Lesson, LessonOutput> RUNS_WITH_HEADERS = new EnumMap<>(Lesson.class);

    static {
        // What they measure varies, and is hidden.
        shorten(Contest.TURN_MILLIS, "1");
        shorten(LossAndMarking.WRITING_MILLIS, "300");
    }

    private LessonRuns() {}

    private static void shorten(String property, String millis) {
        if (System.getProperty(property) == null) {
            System.setProperty(property, millis);
        }
    }

    static synchronized LessonOutput of(Lesson lesson) throws Exception {
        return of(lesson, RUNS, false);
    }

    static synchronized LessonOutput withHeaders(Lesson lesson) throws Exception {
        return of(lesson, RUNS_WITH_HEADERS, true);
    }

    /** Returns the runs of all lessons, as a page has them. */
    static synchronized List<LessonOutput> all() throws Exception {
        List<LessonOutput> outputs = new ArrayList<>();
        for (Lesson lesson : Lesson.values()) {
            outputs.add(lesson == LearnDocument.WITH_HEADERS ? withHeaders(lesson) : of(lesson));
        }
        return outputs;
    }

    /** Skips a test of all lessons where some cannot run. */
    static void requireSoft0() {
        assumeTrue(
                RdmaDevices.names().contains("soft0"),
                "the connection manager of this process is the one for other devices");
    }

    private static LessonOutput of(Lesson lesson, Map<Lesson, LessonOutput> runs, boolean headers) throws Exception {
        LessonOutput output = runs.get(lesson);
        if (output == null) {
            output = LessonOutput.of(lesson, headers);
            runs.put(lesson, output);
        }
        return output;
    }
}
