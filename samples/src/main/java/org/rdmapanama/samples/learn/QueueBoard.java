package org.rdmapanama.samples.learn;

import static org.rdmapanama.samples.learn.Lesson.LIMIT;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.FailedCompletionException;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.samples.Failure;

/**
 * Draws queue pairs and their completion queues. A work queue element is on the board from when a lesson has posted it until
 * the lesson has polled its completion, which is as much as a program knows. A completion queue element is on it once the
 * completion queue has told of it by an event. Each queue pair has a completion queue, and a channel, of its own.
 */
final class QueueBoard {
    private static final String ROW = "    %-3s %-15s %-18s %-18s %s";
    private static final String EMPTY = "-";
    private static final Set<CompletionOpcode> RECEIVES =
            EnumSet.of(CompletionOpcode.RECV, CompletionOpcode.RECV_RDMA_WITH_IMM);

    private final Board board;
    private final List<Step> steps = new ArrayList<>();

    /** All queues after something has happened. */
    record Step(String event, List<Row> rows) {}

    /** The queues of an end. */
    record Row(String name, List<String> sends, List<String> receives, List<String> completions, List<String> polled) {}

    /** By the number of the queue pair. */
    private final Map<Integer, End> ends = new LinkedHashMap<>();

    /** What the board shows of a queue pair. */
    private static final class End {
        final String name;
        final CompletionQueue queue;
        final CompletionChannel channel;
        final List<Long> sends = new ArrayList<>();
        final List<Long> receives = new ArrayList<>();
        final List<String> polled = new ArrayList<>();
        boolean holds;

        End(String name, CompletionQueue queue, CompletionChannel channel) {
            this.name = name;
            this.queue = queue;
            this.channel = channel;
        }
    }

    QueueBoard(Board board) {
        this.board = board;
        board.picture("queues", "the queues after each step; what is new is filled", new QueuePicture(steps));
    }

    /** Adds a queue pair to which nothing is posted, and says how large its queues are. */
    void add(String name, QueuePair queuePair, CompletionChannel channel) {
        CompletionQueue queue = queuePair.sendQueue();
        QueuePairCapabilities sizes = queuePair.capabilities();
        queue.requestNotification(false);
        ends.put(queuePair.number(), new End(name, queue, channel));
        board.say(
                "%s is queue pair 0x%06x, with room for %d sends and %d receives; its completion queue has room for %d",
                name, queuePair.number(), sizes.maxSendWorkRequests(), sizes.maxReceiveWorkRequests(), queue.entries());
    }

    /** Notes what was posted to a send queue. */
    void posted(QueuePair to, SendWorkRequest request) {
        end(to.number()).sends.add(request.id());
    }

    /** Notes what was posted to a receive queue. */
    void posted(QueuePair to, ReceiveWorkRequest request) {
        end(to.number()).receives.add(request.id());
    }

    /** Waits until the completion queue of a queue pair tells that it holds a completion. */
    void awaitEvent(QueuePair of) throws InterruptedException {
        End end = end(of.number());
        if (end.channel.await(LIMIT) == null) {
            throw new Failure("the completion queue of " + end.name + " told of no completion within "
                    + LIMIT.toSeconds() + " s");
        }
        end.holds = true;
    }

    /**
     * Notes completions that were polled, all that their queue held, and asks for an event of the next one.
     *
     * @throws FailedCompletionException when one of them tells of a failure
     */
    void polled(WorkCompletions completions) {
        for (int i = 0; i < completions.count(); i++) {
            completions.check(i);
            End end = end(completions.queuePairNumber(i));
            long id = completions.id(i);
            List<Long> requests = RECEIVES.contains(completions.opcode(i)) ? end.receives : end.sends;
            int at = requests.indexOf(id);
            if (at < 0) {
                throw new IllegalStateException("work request " + id + " was not posted to " + end.name);
            }
            // Requests are done in order: those before it were not signaled.
            requests.subList(0, at + 1).clear();
            end.polled.add("WC " + id + ": " + completions.status(i));
            end.holds = false;
            end.queue.requestNotification(false);
        }
    }

    /** Says what has happened, and shows all queues as they are then. A work completion is shown once. */
    void show(String format, Object... values) {
        List<Row> rows = new ArrayList<>();
        for (End each : ends.values()) {
            List<String> completions = each.holds ? List.of("CQE") : List.of();
            rows.add(new Row(
                    each.name, elements(each.sends), elements(each.receives), completions, List.copyOf(each.polled)));
            each.polled.clear();
        }
        Step step = new Step(String.format(Locale.ROOT, format, values), rows);
        steps.add(step);
        print(step);
    }

    private void print(Step step) {
        board.say("");
        board.say("%s", step.event);
        board.say(ROW, "", "send queue", "receive queue", "completion queue", "polled");
        for (Row row : step.rows) {
            board.say(ROW, row.name, text(row.sends), text(row.receives), text(row.completions), text(row.polled));
        }
    }

    private End end(int number) {
        End end = ends.get(number);
        if (end == null) {
            throw new IllegalStateException("queue pair " + number + " is not on the board");
        }
        return end;
    }

    private static List<String> elements(List<Long> ids) {
        return ids.stream().map(id -> "WQE " + id).toList();
    }

    private static String text(List<String> parts) {
        return parts.isEmpty() ? EMPTY : String.join(", ", parts);
    }
}
