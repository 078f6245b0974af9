package org.rdmapanama.samples.learn;

import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_ATOMIC;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.RemoteMemory;

/** Answers to the exercises of lesson 2, memory and its keys, in docs/EXERCISES.md. */
class Lesson2ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldRefuseAReadWithoutRemoteRead() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            MemoryRegion region =
                    ends.domain.register(ends.arena.allocate(64, 8), LOCAL_WRITE, REMOTE_WRITE, REMOTE_ATOMIC);
            region.memory().setString(0, "a secret");
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaRead(region.remote())
                    .add(ends.memoryOfA, 0, 64)
                    .signaled(true));
            predict(CompletionStatus.REM_ACCESS_ERR, ends.await(ends.queueOfA).status(0));
            predict("", ends.memoryOfA.memory().getString(0));
            predictPackets(1, "NAK: remote access error");
        }
    }

    @Test
    void shouldRefuseAKeyThatIsClosed() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            MemorySegment memory = ends.arena.allocate(64, 8);
            MemoryRegion open = ends.domain.register(memory, LOCAL_WRITE, REMOTE_WRITE);
            RemoteMemory known = open.remote();
            open.close();
            ends.memoryOfA.memory().setString(0, "too late");
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWrite(known)
                    .add(ends.memoryOfA, 0, 64)
                    .signaled(true));
            predict(CompletionStatus.REM_ACCESS_ERR, ends.await(ends.queueOfA).status(0));
            predict("", memory.getString(0));
        }
    }

    @Test
    void shouldRefuseAnotherProtectionDomain() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            ProtectionDomain other = ends.context.allocateProtectionDomain();
            MemoryRegion region = other.register(ends.arena.allocate(64, 8), LOCAL_WRITE, REMOTE_WRITE);
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWrite(region.remote())
                    .add(ends.memoryOfA, 0, 64)
                    .signaled(true));
            predict(CompletionStatus.REM_ACCESS_ERR, ends.await(ends.queueOfA).status(0));
        }
    }
}
