package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmapanama.SendWorkRequest;

/** Answers to the exercises of lesson 9, a replicated log: commit by writing, in docs/EXERCISES.md. */
class Lesson9ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldPadRecords() throws Exception {
        RecordLog log = new RecordLog();
        log.append(1, "");
        log.append(1, "12345678");
        log.append(1, "123456789");
        predict(24, log.end(1));
        predict(32, log.end(2) - log.end(1));
        predict(40, log.end(3) - log.end(2));
        predict(48, log.end(3) - log.end(2) + RecordLog.END_MARK);
    }

    @Test
    void shouldEndAtTheFirstRecordThatIsBroken() throws Exception {
        RecordLog log = new RecordLog();
        for (String payload : List.of("tea", "coffee", "milk")) {
            log.append(1, payload);
        }
        predict(3, log.count());
        int inSecond = log.end(1) + RecordLog.PAYLOAD;
        int inFirst = RecordLog.PAYLOAD;
        log.memory().set(JAVA_BYTE, inSecond, (byte) (log.memory().get(JAVA_BYTE, inSecond) ^ 1));
        predict(1, log.count());
        log.memory().set(JAVA_BYTE, inFirst, (byte) (log.memory().get(JAVA_BYTE, inFirst) ^ 1));
        predict(0, log.count());
    }

    @Test
    void shouldNotTakeAnOldRecordBehindANewOne() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            RecordLog logOfC = new RecordLog(ends.memoryOfB.memory());
            logOfC.append(1, "tea costs 3");
            logOfC.append(1, "tea costs 4");
            for (String payload : List.of("tea costs 3", "tea costs 9")) {
                RecordLog log = new RecordLog();
                log.append(1, payload);
                ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                        .rdmaWrite(ends.memoryOfB.remote())
                        .add(ends.domain.register(log.memory()), 0, log.end(1))
                        .signaled(true));
                ends.await(ends.queueOfA);
                predict(payload.equals("tea costs 3") ? 2 : 1, logOfC.count());
            }
        }
    }
}
