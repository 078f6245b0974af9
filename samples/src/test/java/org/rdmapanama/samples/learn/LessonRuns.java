package org.rdmapanama.samples.learn;

import java.util.EnumMap;
import java.util.Map;

/** What the lessons print and draw when they run in this process, once for all tests. */
final class LessonRuns {
    private static final Map<Lesson, LessonOutput> RUNS = new EnumMap<>(Lesson.class);
    private static final Map<Lesson, LessonOutput> RUNS_WITH_HEADERS = new EnumMap<>(Lesson.class);

    private LessonRuns() {}

    static synchronized LessonOutput of(Lesson lesson) throws Exception {
        return of(lesson, RUNS, false);
    }

    static synchronized LessonOutput withHeaders(Lesson lesson) throws Exception {
        return of(lesson, RUNS_WITH_HEADERS, true);
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
