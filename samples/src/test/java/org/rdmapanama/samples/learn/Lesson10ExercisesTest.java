package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;

/** Answers to the exercises of lesson 10, a replicated log: taking over, in docs/EXERCISES.md. */
class Lesson10ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldLetTheFormerPrimaryWriteWithoutTheFence() throws Exception {
        try (TwoEnds former = new TwoEnds(board)) {
            RecordLog logOfA = new RecordLog();
            logOfA.append(1, "tea costs 3");
            logOfA.append(2, "tea costs 4");
            RecordLog logOfB = new RecordLog(former.memoryOfB.memory());
            int end = logOfA.end(2);
            logOfB.memory().asSlice(0, end).copyFrom(logOfA.memory().asSlice(0, end));
            predict(2, logOfB.count());

            logOfA.append(2, "tea costs 5");
            former.a.postSend(SendWorkRequest.allocate(former.arena, 1)
                    .rdmaWrite(former.memoryOfB.remote().slice(end))
                    .add(former.domain.register(logOfA.memory()), end, logOfA.end(3) - end)
                    .signaled(true));
            predict(CompletionStatus.SUCCESS, former.await(former.queueOfA).status(0));
            predict(3, logOfB.count());
        }
    }

    @Test
    void shouldTellRecordsOfOtherTermsApart() throws Exception {
        RecordLog logOfB = new RecordLog();
        RecordLog logOfC = new RecordLog();
        logOfB.append(1, "tea costs 3");
        logOfC.append(1, "tea costs 3");
        logOfB.append(2, "tea costs 4");
        logOfC.append(1, "tea costs 4");
        logOfB.append(2, "milk");
        logOfC.append(2, "milk");
        for (int record = 1; record <= 3; record++) {
            int place = logOfC.end(record - 1);
            MemorySegment headerOfB = logOfB.memory().asSlice(place, RecordLog.PAYLOAD);
            MemorySegment headerOfC = logOfC.memory().asSlice(place, RecordLog.PAYLOAD);
            predict(record == 1, headerOfB.mismatch(headerOfC) == -1);
        }
        int checksums = logOfC.end(2) + RecordLog.CHECKSUM;
        predict(
                false,
                logOfB.memory().get(JAVA_INT, checksums) == logOfC.memory().get(JAVA_INT, checksums));
    }

    @Test
    void shouldFindTheLastCommonRecord() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            RecordLog logOfB = new RecordLog(ends.memoryOfB.memory());
            RecordLog logOfC = new RecordLog();
            for (int record = 1; record <= 9; record++) {
                logOfB.append(record <= 2 ? 1 : 2, "record " + record);
                logOfC.append(1, "record " + record);
            }
            SendWorkRequest read = SendWorkRequest.allocate(ends.arena, 1);
            MemorySegment header = ends.memoryOfA.memory().asSlice(0, RecordLog.PAYLOAD);
            int[] reads = new int[2];
            for (int search = 0; search < 2; search++) {
                int common = 0;
                int different = 10;
                while (different - common > 1) {
                    int record = search == 0 ? different - 1 : (common + different) / 2;
                    int place = logOfC.end(record - 1);
                    ends.a.postSend(read.clear()
                            .rdmaRead(ends.memoryOfB.remote().slice(place))
                            .add(ends.memoryOfA, 0, RecordLog.PAYLOAD)
                            .signaled(true));
                    ends.await(ends.queueOfA);
                    reads[search]++;
                    if (header.mismatch(logOfC.memory().asSlice(place, RecordLog.PAYLOAD)) == -1) {
                        common = record;
                    } else {
                        different = record;
                    }
                }
                predict(2, common);
            }
            predict(8, reads[0]);
            predict(3, reads[1]);
        }
    }
}
