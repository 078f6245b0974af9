package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.memory.RemoteMemory;

/** Answers to the exercises of lesson 12, structures that others read, in docs/EXERCISES.md. */
class Lesson12ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldDetectATornReadByReadingTheVersionTwice() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            MemorySegment slot = ends.memoryOfB.memory();
            MemorySegment copy = ends.memoryOfA.memory();
            SendWorkRequest read = SendWorkRequest.allocate(ends.arena, 1);
            slot.set(JAVA_LONG, 0, 2);
            slot.setString(8, "fog and rain");
            long[] versions = new long[2];
            int[][] pieces = {{0, 8}, {8, 8}, {16, 8}, {0, 8}};
            for (int i = 0; i < pieces.length; i++) {
                if (i == 2) {
                    slot.set(JAVA_LONG, 0, 3);
                    slot.setString(8, "sun and wind");
                    slot.set(JAVA_LONG, 0, 4);
                }
                ends.a.postSend(read.clear()
                        .rdmaRead(ends.memoryOfB.remote().slice(pieces[i][0]))
                        .add(ends.memoryOfA, pieces[i][0], pieces[i][1])
                        .signaled(true));
                ends.await(ends.queueOfA);
                versions[i / 2 == 0 ? 0 : 1] = copy.get(JAVA_LONG, 0);
            }
            predict("fog and wind", copy.getString(8));
            predict(2, versions[0]);
            predict(4, versions[1]);
        }
    }

    @Test
    void shouldDrawManyNumbersAtOnce() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            SendWorkRequest draw = SendWorkRequest.allocate(ends.arena, 1)
                    .fetchAndAdd(ends.memoryOfB.remote().slice(128, 8), 10)
                    .add(ends.memoryOfA, 128, 8)
                    .signaled(true);
            for (int client = 0; client < 2; client++) {
                ends.a.postSend(draw);
                ends.await(ends.queueOfA);
                predict(10 * client, ends.memoryOfA.memory().get(JAVA_LONG, 128));
            }
            predict(20, ends.memoryOfB.memory().get(JAVA_LONG, 128));
        }
    }

    @Test
    void shouldAddRealNumbersByAScale() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            RemoteMemory sum = ends.memoryOfB.remote().slice(0, 8);
            SendWorkRequest add = SendWorkRequest.allocate(ends.arena, 1)
                    .add(ends.memoryOfA, 0, 8)
                    .signaled(true);
            double inDouble = 0;
            for (int client = 0; client < 10; client++) {
                ends.a.postSend(add.fetchAndAdd(sum, 100));
                ends.await(ends.queueOfA);
                inDouble += 0.1;
            }
            predict(1000, ends.memoryOfB.memory().get(JAVA_LONG, 0));
            predict(0.9999999999999999, inDouble);

            ends.a.postSend(add.fetchAndAdd(sum, -250));
            ends.await(ends.queueOfA);
            predict(750, ends.memoryOfB.memory().get(JAVA_LONG, 0));
        }
    }
}
