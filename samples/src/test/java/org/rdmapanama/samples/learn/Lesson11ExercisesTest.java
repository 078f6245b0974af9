package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;

/** Answers to the exercises of lesson 11, ring all-reduce, in docs/EXERCISES.md. */
class Lesson11ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldCountTheMessagesOfARing() throws Exception {
        int n = 8;
        int bytes = 1 << 20;
        double[][] ends = new double[n][n];
        for (double[] each : ends) {
            Arrays.fill(each, 1);
        }
        int[] sent = new int[n];
        for (int step = 0; step < 2 * (n - 1); step++) {
            for (int i = 0; i < n; i++) {
                int index = Math.floorMod(i - step, n);
                double[] right = ends[(i + 1) % n];
                right[index] = step < n - 1 ? right[index] + ends[i][index] : ends[i][index];
                sent[i]++;
            }
        }
        for (int i = 0; i < n; i++) {
            predict(8.0, ends[i][i]);
            predict(14, sent[i]);
        }
        predict(1.75 * (1 << 20), 14.0 * bytes / n);
    }

    @Test
    void shouldAddInAnotherOrderForEachIndex() throws Exception {
        double large = 1e16;
        double a = large;
        double b = 1;
        double c = -large;
        predict(0.0, (a + b) + c);
        predict(0.0, (b + c) + a);
        predict(1.0, (c + a) + b);
    }

    @Test
    void shouldNotWriteOverTheNumberThatIsToBeAdded() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            MemorySegment numbersOfB = ends.memoryOfB.memory();
            int inbox = 1;
            for (int place : new int[] {inbox, 0}) {
                ends.memoryOfA.memory().setAtIndex(JAVA_DOUBLE, 0, 1);
                numbersOfB.setAtIndex(JAVA_DOUBLE, 0, 10);
                ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1));
                ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                        .rdmaWriteWithImmediate(ends.memoryOfB.remote().slice(place * 8L), 0)
                        .add(ends.memoryOfA, 0, 8)
                        .signaled(true));
                ends.await(ends.queueOfA);
                ends.await(ends.queueOfB);
                double sum = numbersOfB.getAtIndex(JAVA_DOUBLE, 0) + numbersOfB.getAtIndex(JAVA_DOUBLE, place);
                predict(place == inbox ? 11.0 : 2.0, sum);
            }
        }
    }
}
