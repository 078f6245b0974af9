package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.samples.Run;

/** The help of {@code rdma learn}. */
class LearnCommandTest {
    @ParameterizedTest
    @ValueSource(strings = {"--serve", "--to=HOST:PORT"})
    void shouldNameTheLessonThatHasTwoSides(String option) throws Exception {
        Run run = Run.start("learn", "--help");
        assertEquals(0, run.join(), run::toString);
        String text = run.out().replaceAll("\\s+", " ");
        assertTrue(
                text.contains(option + " Lesson " + Lesson.TRANSFER.number() + ": run only the side that "),
                run::toString);
    }
}
