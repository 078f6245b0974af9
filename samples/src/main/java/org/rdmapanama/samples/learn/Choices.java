package org.rdmapanama.samples.learn;

import static org.rdmapanama.samples.learn.TimedEnds.CONNECTIONS;
import static org.rdmapanama.samples.learn.TimedEnds.DEPTH;

import java.time.Duration;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.samples.learn.Contest.Way;

/** Lesson 15: ways to do the same, each timed beside its opposite. */
final class Choices {
    private static final int SMALL = 64;
    private static final int LARGE = TimedEnds.LARGEST;
    private static final int[] SIZES = {SMALL, 4 << 10, LARGE};

    /** Polls as long as it takes. */
    private static final Duration POLLING = Lesson.LIMIT;

    /** Sleeps at once. */
    private static final Duration EVENTS = Duration.ZERO;

    private final TimedEnds ends;
    private final RemoteMemory memoryOfB;

    private Choices(TimedEnds ends) {
        this.ends = ends;
        memoryOfB = ends.memoryOfB.remote();
    }

    /** Returns the name of the device: that of the variable RDMA_DEVICE, or else soft0. */
    static String device() {
        String name = System.getenv("RDMA_DEVICE");
        return name == null || name.isBlank() ? "soft0" : name;
    }

    static void run(Board board) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                TimedEnds ends = new TimedEnds(arena, device())) {
            OtherWork.say(board);
            board.say(
                    "On %s, in turns, medians of %d rounds. The ratio says how many times as long the opposite takes,",
                    device(), Contest.ROUNDS);
            board.say("and which ratios single rounds had.");
            board.say("");
            Choices lesson = new Choices(ends);
            Contest contest = new Contest(board);
            lesson.timePosting(contest);
            lesson.timeSides(contest);
        }
    }

    // excerpt
    private void timePosting(Contest contest) throws Exception {
        SendWorkRequest large = write(LARGE).signaled(true);
        Way once = new Way("WRITE of 64 KiB: registered once", () -> post(ends.a[0], large, 1));
        SendWorkRequest other = write(LARGE).signaled(true);
        Way eachTime = new Way("registered each time", () -> {
            try (MemoryRegion region = ends.domain.register(ends.unregistered)) {
                post(ends.a[0], other.set(0, region, 0, LARGE), 1);
            }
        });
        contest.time(1, once, eachTime);

        SendWorkRequest inline = write(SMALL).signaled(true).inline(true);
        SendWorkRequest small = write(SMALL).signaled(true);
        contest.time(
                1,
                new Way("WRITE of 64 B: inline", () -> post(ends.a[0], inline, 1)),
                new Way("from registered memory", () -> post(ends.a[0], small, 1)));

        SendWorkRequest chain = chain(DEPTH);
        Way atOnce = new Way("16 WRITEs: posted as a chain", () -> post(ends.a[0], chain, 1));
        SendWorkRequest plain = write(SMALL);
        Way oneByOne = new Way("posted one by one", () -> postEach(plain, small, 1));
        Way unsignaled = new Way("16 WRITEs: only the last signaled", () -> postEach(plain, small, 1));
        Way signaled = new Way("all signaled", () -> postEach(small, small, DEPTH));
        contest.time(DEPTH, atOnce, oneByOne);
        contest.time(DEPTH, unsignaled, signaled);

        SendWorkRequest part = chain(DEPTH / CONNECTIONS);
        contest.time(
                DEPTH,
                new Way("16 WRITEs: by 4 queue pairs", () -> postParts(part, ends.a)),
                new Way("by one queue pair", () -> postParts(part, ends.a[0], ends.a[0], ends.a[0], ends.a[0])));
    }

    /** A takes part alone, or B's program does, too: all by one thread, except in the last line. */
    private void timeSides(Contest contest) throws Exception {
        for (int bytes : SIZES) {
            SendWorkRequest write = write(bytes).signaled(true);
            SendWorkRequest send = send(ends.memoryOfA, bytes);
            ReceiveWorkRequest receive = receive(ends.memoryOfB, bytes);
            contest.time(
                    1,
                    new Way("to B, " + bytes + " B: WRITE", () -> post(ends.a[0], write, 1)),
                    new Way("SEND, and receive", () -> {
                        ends.b.postReceive(receive);
                        post(ends.a[0], send, 1);
                        ends.poll(ends.queueOfB, 1);
                    }));
        }
        for (int bytes : SIZES) {
            SendWorkRequest read =
                    request().rdmaRead(memoryOfB).add(ends.memoryOfA, 0, bytes).signaled(true);
            SendWorkRequest question = send(ends.memoryOfA, SMALL);
            ReceiveWorkRequest receiveOfB = receive(ends.memoryOfB, SMALL);
            SendWorkRequest answer = send(ends.memoryOfB, bytes);
            ReceiveWorkRequest receiveOfA = receive(ends.memoryOfA, bytes);
            contest.time(
                    1,
                    new Way("from B, " + bytes + " B: READ", () -> post(ends.a[0], read, 1)),
                    new Way("SEND, and B's answer", () -> {
                        ends.b.postReceive(receiveOfB);
                        ends.a[0].postReceive(receiveOfA);
                        post(ends.a[0], question, 1);
                        ends.poll(ends.queueOfB, 1);
                        ends.b.postSend(answer);
                        ends.poll(ends.queueOfA, 1);
                        ends.poll(ends.queueOfB, 1);
                    }));
        }
        contest.time(
                1,
                new Way("two threads, 64 B: polling", () -> ends.ask(SMALL, POLLING)),
                new Way("events", () -> ends.ask(SMALL, EVENTS)));
    }

    private void post(QueuePair queuePair, SendWorkRequest first, int completions) {
        queuePair.postSend(first);
        ends.poll(ends.queueOfA, completions);
    }

    private void postEach(SendWorkRequest first, SendWorkRequest last, int completions) {
        for (int i = 1; i < DEPTH; i++) {
            ends.a[0].postSend(first);
        }
        ends.a[0].postSend(last);
        ends.poll(ends.queueOfA, completions);
    }

    private void postParts(SendWorkRequest chain, QueuePair... queuePairs) {
        for (QueuePair each : queuePairs) {
            each.postSend(chain);
        }
        ends.poll(ends.queueOfA, queuePairs.length);
    }
    // end

    /** Returns a chain of writes, of which the last one is signaled. */
    private SendWorkRequest chain(int length) {
        SendWorkRequest first = write(SMALL).signaled(true);
        for (int i = 1; i < length; i++) {
            first = write(SMALL).next(first);
        }
        return first;
    }

    private SendWorkRequest write(int bytes) {
        return request().rdmaWrite(memoryOfB).add(ends.memoryOfA, 0, bytes);
    }

    private SendWorkRequest send(MemoryRegion from, int bytes) {
        return request().send().add(from, 0, bytes).signaled(true);
    }

    private ReceiveWorkRequest receive(MemoryRegion into, int bytes) {
        return ReceiveWorkRequest.allocate(ends.arena, 1).add(into, 0, bytes);
    }

    private SendWorkRequest request() {
        return SendWorkRequest.allocate(ends.arena, 1);
    }
}
