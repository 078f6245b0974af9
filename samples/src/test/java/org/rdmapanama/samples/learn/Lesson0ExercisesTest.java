package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.samples.IoCounts;
import org.rdmapanama.samples.today.CopyPath;
import org.rdmapanama.samples.today.TransferMethod;

/** Answers to the exercises of lesson 0, why RDMA, in docs/EXERCISES.md. */
class Lesson0ExercisesTest extends AnswersOfALesson {
    @BeforeEach
    void needCounts() {
        assumeTrue(Files.isReadable(IoCounts.OF_THREAD), "this kernel does not count");
    }

    @Test
    void shouldCountTheCopies() throws Exception {
        long file = 1L << 30;
        CopyPath rdma = new CopyPath(
                "disk",
                List.of(
                        new CopyPath.Step(CopyPath.Mover.DMA, "page cache"),
                        new CopyPath.Step(CopyPath.Mover.CPU, "registered memory"),
                        new CopyPath.Step(CopyPath.Mover.DMA, "card"),
                        new CopyPath.Step(CopyPath.Mover.NETWORK, "card"),
                        new CopyPath.Step(CopyPath.Mover.DMA, "registered memory"),
                        new CopyPath.Step(CopyPath.Mover.CPU, "page cache"),
                        new CopyPath.Step(CopyPath.Mover.DMA, "disk")));
        board.say("%s", rdma.drawing());
        predict(2 * file, rdma.byCpu() * file);

        // B's write to its file comes after what the lesson draws.
        predict(2 * file, (TransferMethod.TRANSFER_TO.path().byCpu() + 1) * file);
        predict(0, TransferMethod.RDMA_READY.path().byCpu());
    }

    @Test
    void shouldCountTheReads() throws Exception {
        Path file = Files.createTempFile("exercise", null);
        Files.write(file, new byte[1 << 20]);
        ByteBuffer piece = ByteBuffer.allocateDirect(64 << 10);
        long calls = 0;
        long callsOfMapping = 0;
        try (FileChannel channel = FileChannel.open(file)) {
            for (int time = 0; time < 2; time++) {
                channel.position(0);
                IoCounts.Start start = IoCounts.start(IoCounts.OF_THREAD);
                while (channel.read(piece.clear()) > 0) {
                    // The data is in the piece.
                }
                calls = start.since().reads();

                IoCounts.Start mapping = IoCounts.start(IoCounts.OF_THREAD);
                MappedByteBuffer mapped = channel.map(MapMode.READ_ONLY, 0, 1 << 20);
                long sum = 0;
                while (mapped.hasRemaining()) {
                    sum += mapped.get();
                }
                callsOfMapping = mapping.since().reads() + sum;
            }
        }
        Files.delete(file);
        predict(17, calls);
        predict(0, callsOfMapping);
    }

    @Test
    void shouldPassByTheKernelOnTheDataPathOnly() throws Exception {
        for (int time = 0; time < 2; time++) {
            IoCounts.Start control = IoCounts.start(IoCounts.OF_THREAD);
            try (TwoEnds ends = new TwoEnds(board)) {
                IoCounts making = control.since();
                SendWorkRequest write = SendWorkRequest.allocate(ends.arena, 1)
                        .rdmaWrite(ends.memoryOfB.remote())
                        .add(ends.memoryOfA, 0, 64)
                        .signaled(true);
                WorkCompletions completions = new WorkCompletions(ends.arena, 1);
                IoCounts.Start data = IoCounts.start(IoCounts.OF_THREAD);
                for (int i = 0; i < 1000; i++) {
                    ends.a.postSend(write);
                    while (ends.queueOfA.poll(completions) == 0) {
                        Thread.onSpinWait();
                    }
                }
                IoCounts moving = data.since();
                if (time == 1) {
                    predict(true, making.reads() > 0);
                    predict(0, moving.reads());
                }
            }
        }
    }
}
