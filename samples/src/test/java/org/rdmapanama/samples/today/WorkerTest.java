package org.rdmapanama.samples.today;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.samples.CpuTime;
import org.rdmapanama.samples.Failure;

/** The two processes, except for what needs RDMA. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkerTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final String HOST = "127.0.0.1";
    private static final String SIZE = "1000003";
    private static final int SLACK = 100_000;

    @TempDir
    private Path folder;

    private Worker sender;
    private Worker receiver;

    @BeforeEach
    void start() throws IOException {
        String file = folder.resolve("data").toString();
        sender = new Worker("sender", LIMIT, List.of("send", HOST, SIZE, "60", file));
        receiver = new Worker("receiver", LIMIT, List.of("receive", HOST, SIZE, "60"));
    }

    @AfterEach
    void end() {
        sender.close();
        receiver.close();
        assertFalse(ProcessHandle.of(sender.pid()).map(ProcessHandle::isAlive).orElse(false));
    }

    /** Returns why the file cannot be read by direct I/O; empty if it can. */
    private String awaitReady() throws InterruptedException {
        String obstacle = sender.await("ready", receiver);
        receiver.await("ready", sender);
        return obstacle;
    }

    @Test
    void shouldMoveDataInEachWay() throws Exception {
        String obstacle = awaitReady();
        String all = null;
        List<TransferMethod> ways = List.of(TransferMethod.values());
        // Twice, because loading classes reads files, too.
        for (int i = 0; i < 2 * ways.size(); i++) {
            TransferMethod way = ways.get(i % ways.size());
            if (way.isRdma() || (way.isDirect() && !obstacle.isEmpty())) {
                continue;
            }
            receiver.tell("prepare " + way);
            sender.tell("prepare " + way + " " + receiver.await("listening", sender) + " " + HOST);
            assertEquals("", sender.await("ready", receiver));
            assertEquals("", receiver.await("ready", sender));
            long before = CpuTime.ofProcess(receiver.pid());
            receiver.tell("go");
            sender.tell("go ");
            assertTrue(Long.parseLong(sender.await("done", receiver)) > 0);
            receiver.await("done", sender);
            assertTrue(CpuTime.ofProcess(receiver.pid()) > before);
            sender.tell("check");
            receiver.tell("check");
            String[] sent = sender.await("sum", receiver).split(" ", 2);
            String[] received = receiver.await("sum", sender).split(" ", 2);
            assertEquals(sent[0], received[0], way.title());
            assertEquals(all == null ? sent[0] : all, sent[0]);
            all = sent[0];
            if (i >= ways.size()) {
                assertCounted(way, Counts.parse(sent[1]));
            }
        }
    }

    /** A transfer reads its data as often as the way says, and one byte that says that it has arrived. */
    private static void assertCounted(TransferMethod way, Counts counts) {
        assertTrue(counts.voluntary() >= 0, counts::toString);
        if (!counts.missing().isEmpty()) {
            return;
        }
        int bytes = Integer.parseInt(SIZE);
        boolean readsFile = way != TransferMethod.MEMORY && way != TransferMethod.MAP_WRITE;
        assertEquals(bytes, counts.bytesWritten(), way.title());
        // Meanwhile the thread that waits for the parent's end may read about it, and a class may be loaded.
        double more = counts.bytesRead() - 1 - (readsFile ? bytes : 0);
        assertTrue(more >= 0 && more < SLACK, () -> way.title() + ": " + counts);
        assertTrue(counts.writes() >= 1, counts::toString);
    }

    @Test
    void shouldTellThatTheOtherOneHasEnded() throws Exception {
        awaitReady();
        receiver.close();
        Failure failure = assertThrows(Failure.class, () -> sender.await("done", receiver));
        assertEquals("the receiver ended unexpectedly", failure.getMessage());
    }

    @Test
    void shouldTellWhatFailed() throws Exception {
        awaitReady();
        sender.tell("prepare MEMORY 1 " + HOST);
        Failure failure = assertThrows(Failure.class, () -> receiver.await("listening", sender));
        assertEquals("the sender failed: Connection refused", failure.getMessage());
    }

    @Test
    void shouldNotWaitForEver() throws Exception {
        awaitReady();
        Failure failure = assertThrows(Failure.class, () -> sender.await("done", receiver, Duration.ofMillis(1)));
        assertTrue(failure.getMessage().startsWith("the sender made no progress for "), failure::getMessage);
    }
}
