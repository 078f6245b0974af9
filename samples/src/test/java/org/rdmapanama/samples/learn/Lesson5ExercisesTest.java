package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.RemoteMemory;

/** Answers to the exercises of lesson 5, atomics, in docs/EXERCISES.md. */
class Lesson5ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldRefuseAnAtomicThatIsNotAligned() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            RemoteMemory number = ends.memoryOfB.remote().slice(4, 8);
            SendWorkRequest request = SendWorkRequest.allocate(ends.arena, 1);
            predict("IllegalArgumentException", thrownBy(() -> request.fetchAndAdd(number, 2)));
            predictPackets(0, "FETCH_ADD");
        }
    }

    @Test
    void shouldLoseAnAdditionWithoutAtomics() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            RemoteMemory number = ends.memoryOfB.remote().slice(0, 8);
            SendWorkRequest request = SendWorkRequest.allocate(ends.arena, 1);
            for (int client = 0; client < 2; client++) {
                ends.a.postSend(request.clear()
                        .rdmaRead(number)
                        .add(ends.memoryOfA, client * 8L, 8)
                        .signaled(true));
                ends.await(ends.queueOfA);
            }
            for (int client = 0; client < 2; client++) {
                MemorySegment own = ends.memoryOfA.memory().asSlice(client * 8L, 8);
                own.set(JAVA_LONG, 0, own.get(JAVA_LONG, 0) + 1);
                ends.a.postSend(request.clear()
                        .rdmaWrite(number)
                        .add(ends.memoryOfA, client * 8L, 8)
                        .signaled(true));
                ends.await(ends.queueOfA);
            }
            predict(1, ends.memoryOfB.memory().get(JAVA_LONG, 0));

            ends.memoryOfB.memory().set(JAVA_LONG, 0, 0);
            for (int client = 0; client < 2; client++) {
                ends.a.postSend(request.clear()
                        .fetchAndAdd(number, 1)
                        .add(ends.memoryOfA, client * 8L, 8)
                        .signaled(true));
                ends.await(ends.queueOfA);
            }
            predict(2, ends.memoryOfB.memory().get(JAVA_LONG, 0));
        }
    }

    @Test
    void shouldMakeALock() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            RemoteMemory lock = ends.memoryOfB.remote().slice(0, 8);
            MemorySegment before = ends.memoryOfA.memory();
            SendWorkRequest request = SendWorkRequest.allocate(ends.arena, 1)
                    .add(ends.memoryOfA, 0, 8)
                    .signaled(true);
            ends.a.postSend(request.compareAndSwap(lock, 0, 7));
            ends.await(ends.queueOfA);
            predict(0, before.get(JAVA_LONG, 0));

            ends.a.postSend(request.compareAndSwap(lock, 0, 8));
            predict(CompletionStatus.SUCCESS, ends.await(ends.queueOfA).status(0));
            predict(7, before.get(JAVA_LONG, 0));

            ends.a.postSend(request.compareAndSwap(lock, 7, 0));
            ends.await(ends.queueOfA);
            ends.a.postSend(request.compareAndSwap(lock, 0, 8));
            predict(CompletionStatus.SUCCESS, ends.await(ends.queueOfA).status(0));
            predict(0, before.get(JAVA_LONG, 0));
            predict(8, ends.memoryOfB.memory().get(JAVA_LONG, 0));
        }
    }
}
