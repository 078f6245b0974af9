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

    private void awaitReady() throws InterruptedException {
        sender.await("ready", receiver);
        receiver.await("ready", sender);
    }

    @Test
    void shouldMoveDataInEachWay() throws Exception {
        awaitReady();
        String all = null;
        for (TransferMethod way : List.of(
                TransferMethod.MEMORY,
                TransferMethod.READ_WRITE,
                TransferMethod.MAP_WRITE,
                TransferMethod.TRANSFER_TO)) {
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
            String sum = sender.await("sum", receiver);
            assertEquals(sum, receiver.await("sum", sender), way.title);
            assertEquals(all == null ? sum : all, sum);
            all = sum;
        }
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
