package org.rdmapanama.samples.learn;

import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.MW_BIND;
import static org.rdmapanama.memory.AccessFlag.REMOTE_READ;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.MemoryWindow;
import org.rdmapanama.MemoryWindowBinding;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.memory.RemoteMemory;

/** Answers to the exercises of lesson 14, lending memory safely, in docs/EXERCISES.md. */
class Lesson14ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldLendForReadingWhatItMayWriteItself() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            MemoryRegion fixed = ends.domain.register(ends.arena.allocate(48), MW_BIND);
            predict(
                    "IllegalArgumentException",
                    thrownBy(() -> new MemoryWindowBinding(fixed, 0, 48, REMOTE_WRITE).byteSize()));

            MemoryRegion store = ends.domain.register(ends.arena.allocate(48), LOCAL_WRITE, MW_BIND);
            store.memory().setString(16, "as it was");
            MemoryWindow window = ends.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding part = new MemoryWindowBinding(store, 16, 16, REMOTE_READ);
            ends.b.postSend(SendWorkRequest.allocate(ends.arena, 0)
                    .bindMemoryWindow(window, window.nextRkey(), part)
                    .signaled(true));
            predict(CompletionStatus.SUCCESS, ends.await(ends.queueOfB).status(0));

            SendWorkRequest use = SendWorkRequest.allocate(ends.arena, 1)
                    .add(ends.memoryOfA, 0, 16)
                    .signaled(true);
            ends.a.postSend(use.rdmaRead(part.remote(window)));
            predict(CompletionStatus.SUCCESS, ends.await(ends.queueOfA).status(0));
            predict("as it was", ends.memoryOfA.memory().getString(0));

            ends.memoryOfA.memory().setString(0, "changed");
            ends.a.postSend(use.rdmaWrite(part.remote(window)));
            predict(CompletionStatus.REM_ACCESS_ERR, ends.await(ends.queueOfA).status(0));
            predict("as it was", store.memory().getString(16));
        }
    }

    @Test
    void shouldComeBackToTheFirstKey() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            MemoryRegion store = ends.domain.register(ends.arena.allocate(16), LOCAL_WRITE, MW_BIND);
            MemoryWindow window = ends.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding part = new MemoryWindowBinding(store, 0, 16, REMOTE_READ);
            SendWorkRequest request = SendWorkRequest.allocate(ends.arena, 0);
            RemoteMemory first = null;
            int bindings = 0;
            while (bindings < 2 || window.rkey() != first.rkey()) {
                if (bindings > 0) {
                    ends.b.postSend(request.localInvalidate(window.rkey()).signaled(false));
                }
                ends.b.postSend(request.bindMemoryWindow(window, window.nextRkey(), part)
                        .signaled(true));
                ends.await(ends.queueOfB).check(0);
                first = bindings == 0 ? part.remote(window) : first;
                bindings++;
            }
            predict(257, bindings);

            try (FurtherConnection other = new FurtherConnection(ends, ends.domain)) {
                predict(CompletionStatus.REM_ACCESS_ERR, other.read(first));
            }
            SendWorkRequest read = SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaRead(first)
                    .add(ends.memoryOfA, 0, 16)
                    .signaled(true);
            ends.a.postSend(read);
            predict(CompletionStatus.SUCCESS, ends.await(ends.queueOfA).status(0));

            store.close();
            ends.a.postSend(read);
            predict(CompletionStatus.REM_ACCESS_ERR, ends.await(ends.queueOfA).status(0));
        }
    }

    @Test
    void shouldCountTheGuesses() throws Exception {
        double seconds = 0.0013;
        predict(6, Math.round((1 << 24) * seconds / 3600));
        predict(22, Math.round((1 << 24) * seconds / 1000));
        predict(22, Math.round(((1 << 24) + 1) / (1000 + 1.0) * seconds));

        int keys = 1 << 8;
        long inOrder = 0;
        for (int key = 0; key < keys; key++) {
            for (int guess = 0; guess <= key; guess++) {
                inOrder++;
            }
        }
        predict(128.5, (double) inOrder / keys);

        long firstOfTwo = 0;
        long pairs = 0;
        for (int one = 0; one < keys; one++) {
            for (int other = one + 1; other < keys; other++) {
                firstOfTwo += one + 1;
                pairs++;
            }
        }
        predict((keys + 1) / 3.0, (double) firstOfTwo / pairs);

        Random random = new Random(14);
        long atRandom = 0;
        for (int round = 0; round < 10_000; round++) {
            int key = random.nextInt(keys);
            do {
                atRandom++;
            } while (random.nextInt(keys) != key);
        }
        predict(true, Math.abs(atRandom / 10_000.0 - keys) < 10);
    }
}
