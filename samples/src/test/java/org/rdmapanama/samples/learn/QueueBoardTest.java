package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.FailedCompletionException;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/** The board shows what was posted and polled on queue pairs of soft0, and nothing else. */
@Timeout(60)
class QueueBoardTest {
    private final StringWriter text = new StringWriter();
    private final Board board = new Board(new PrintWriter(text, true));
    private final QueueBoard queues = new QueueBoard(board);
    private TwoEnds ends;

    @BeforeEach
    void connect() {
        ends = new TwoEnds(board);
        queues.add("A", ends.a, ends.channelOfA);
        queues.add("B", ends.b, ends.channelOfB);
    }

    @AfterEach
    void close() {
        ends.close();
    }

    /** Returns the cells of the row of an end, after what has happened so far. */
    private List<String> row(String name) {
        int from = text.getBuffer().length();
        queues.show("now");
        String line = text.toString()
                .substring(from)
                .lines()
                .filter(each -> each.startsWith("    " + name + " "))
                .findFirst()
                .orElseThrow();
        return List.of(line.strip().split(" {2,}", -1));
    }

    private void postReceive(long id) {
        ReceiveWorkRequest request =
                ReceiveWorkRequest.allocate(ends.arena, 1).id(id).add(ends.memoryOfB, 0, 64);
        ends.b.postReceive(request);
        queues.posted(ends.b, request);
    }

    private void postSend(long id, boolean signaled) {
        SendWorkRequest request = SendWorkRequest.allocate(ends.arena, 1)
                .send()
                .id(id)
                .add(ends.memoryOfA, 0, 8)
                .signaled(signaled);
        ends.a.postSend(request);
        queues.posted(ends.a, request);
    }

    @Test
    void shouldFollowASendThatIsNotSignaled() throws InterruptedException {
        assertEquals(List.of("A", "-", "-", "-", "-"), row("A"));
        assertEquals(List.of("B", "-", "-", "-", "-"), row("B"));
        postReceive(5);
        postReceive(6);
        postSend(7, false);
        postSend(8, true);
        assertEquals(List.of("A", "WQE 7, WQE 8", "-", "-", "-"), row("A"));
        assertEquals(List.of("B", "-", "WQE 5, WQE 6", "-", "-"), row("B"));

        queues.awaitEvent(ends.a);
        assertEquals(List.of("A", "WQE 7, WQE 8", "-", "CQE", "-"), row("A"));
        queues.polled(ends.await(ends.queueOfA));
        assertEquals(List.of("A", "-", "-", "-", "WC 8: SUCCESS"), row("A"));
        assertEquals(List.of("A", "-", "-", "-", "-"), row("A"));

        WorkCompletions both = new WorkCompletions(ends.arena, 2);
        queues.awaitEvent(ends.b);
        assertEquals(2, ends.queueOfB.poll(both));
        queues.polled(both);
        assertEquals(List.of("B", "-", "-", "-", "WC 5: SUCCESS, WC 6: SUCCESS"), row("B"));
    }

    @Test
    void shouldWaitForAnEventOfEachMessage() throws InterruptedException {
        for (int id = 1; id <= 3; id++) {
            postReceive(id);
            postSend(10 + id, true);
            queues.awaitEvent(ends.a);
            queues.awaitEvent(ends.b);
            queues.polled(ends.await(ends.queueOfA));
            assertEquals(List.of("A", "-", "-", "-", "WC " + (10 + id) + ": SUCCESS"), row("A"));
            queues.polled(ends.await(ends.queueOfB));
            assertEquals(List.of("B", "-", "-", "-", "WC " + id + ": SUCCESS"), row("B"));
        }
    }

    @Test
    void shouldTellTheSizesOfTheQueues() {
        CompletionQueue queue = ends.context.createCompletionQueue(100, ends.channelOfA, 0);
        QueuePair other = ends.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue)
                .maxSendWorkRequests(70)
                .maxReceiveWorkRequests(300));
        queues.add("C", other, ends.channelOfA);
        QueuePairCapabilities sizes = other.queryInitial().capabilities();
        assertTrue(sizes.maxSendWorkRequests() >= 70 && sizes.maxReceiveWorkRequests() >= 300, sizes::toString);
        String expected =
                "C is queue pair 0x%06x, with room for %d sends and %d receives; its completion queue has room for %d"
                        .formatted(
                                other.number(),
                                sizes.maxSendWorkRequests(),
                                sizes.maxReceiveWorkRequests(),
                                queue.entries());
        assertTrue(text.toString().contains(expected), text::toString);
    }

    @Test
    void shouldRefuseWhatWasNotPosted() throws InterruptedException {
        postReceive(1);
        ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1).send().id(9).signaled(true));
        WorkCompletions completions = ends.await(ends.queueOfA);
        assertThrows(IllegalStateException.class, () -> queues.polled(completions));
    }

    @Test
    void shouldRefuseACompletionThatFailed() throws InterruptedException {
        postSend(9, true);
        ends.a.modify(new QueuePairAttributes().state(QueuePairState.ERR));
        WorkCompletions completions = ends.await(ends.queueOfA);
        assertThrows(FailedCompletionException.class, () -> queues.polled(completions));
    }
}
