package org.rdmapanama.samples.learn;

import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.MW_BIND;
import static org.rdmapanama.memory.AccessFlag.REMOTE_READ;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;
import static org.rdmapanama.samples.learn.Lesson.LIMIT;

import org.rdmapanama.MemoryRegion;
import org.rdmapanama.MemoryWindow;
import org.rdmapanama.MemoryWindowBinding;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairAttribute;

/** Lesson 14: memory that is lent and given back, memory for reading only, and what strangers get. */
final class LendingMemory {
    private LendingMemory() {}

    static void run(Board board) throws InterruptedException {
        try (TwoEnds ends = new TwoEnds(board)) {
            byWindow(ends, board);
        }
        board.say("");
        try (TwoEnds ends = new TwoEnds(board)) {
            forReading(ends, board);
        }
        board.say("");
        try (TwoEnds ends = new TwoEnds(board)) {
            toStrangers(ends, board);
        }
        board.say("");
        try (TwoEnds ends = new TwoEnds(board)) {
            KeyGuesses.run(ends, board);
        }
    }

    // excerpt
    private static void byWindow(TwoEnds ends, Board board) throws InterruptedException {
        MemoryRegion store = ends.domain.register(ends.arena.allocate(48), LOCAL_WRITE, MW_BIND);
        store.memory().fill((byte) '-');
        board.say("B registered %d bytes for %s: no peer has access to them", store.byteSize(), store.access());

        MemoryWindowBinding part = new MemoryWindowBinding(store, 16, 16, REMOTE_WRITE, REMOTE_READ);
        RemoteMemory lent = lend(ends, ends.b, part);
        board.say("B lends bytes 16 to 31 to A, under the key 0x%08x", lent.rkey());
        board.say("A writes: %s; B has '%s'", write(ends, "written by A", lent), TransferSide.text(store.memory()));

        ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1));
        ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                .sendWithInvalidate(lent.rkey())
                .signaled(true));
        board.say("A gives it back: %s", ends.await(ends.queueOfA).status(0));
        WorkCompletions received = ends.await(ends.queueOfB);
        board.say(
                "B's receive: %s; it says that a key is invalid: %b; it is the one that was lent: %b",
                received.status(0), received.hasInvalidatedRkey(0), received.invalidatedRkey(0) == lent.rkey());

        board.say("A writes late: %s; B has '%s'", write(ends, "too late", lent), TransferSide.text(store.memory()));
        board.say("B's device reports %s; A is in state %s, and B in %s", event(ends), state(ends.a), state(ends.b));

        try (FurtherConnection again = new FurtherConnection(ends, ends.domain)) {
            board.draw("A", again.peer, "B", again.b);
            board.say("they connect anew, and B lends the same bytes again");
            board.say(
                    "A reads with the new key: %s, '%s'",
                    again.read(lend(ends, again.b, part)), TransferSide.text(again.memoryOfPeer.memory()));
        }
    }

    /** B: binds a window through a queue pair, whose peer alone can use it. */
    private static RemoteMemory lend(TwoEnds ends, QueuePair b, MemoryWindowBinding part) throws InterruptedException {
        MemoryWindow window = ends.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
        b.postSend(SendWorkRequest.allocate(ends.arena, 0)
                .bindMemoryWindow(window, window.nextRkey(), part)
                .signaled(true));
        ends.await(ends.queueOfB).check(0);
        return part.remote(window);
    }

    // end

    private static CompletionStatus write(TwoEnds ends, String text, RemoteMemory to) throws InterruptedException {
        ends.memoryOfA.memory().setString(0, text);
        ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                .rdmaWrite(to)
                .add(ends.memoryOfA, 0, text.length())
                .signaled(true));
        return ends.await(ends.queueOfA).status(0);
    }

    private static void forReading(TwoEnds ends, Board board) throws InterruptedException {
        MemoryRegion prices = ends.domain.register(ends.arena.allocate(16), REMOTE_READ);
        prices.memory().setString(0, "apples 3");
        board.say("B registered %d bytes for %s", prices.byteSize(), prices.access());
        ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                .rdmaRead(prices.remote())
                .add(ends.memoryOfA, 0, 16)
                .signaled(true));
        board.say(
                "A reads them: %s, '%s'",
                ends.await(ends.queueOfA).status(0), TransferSide.text(ends.memoryOfA.memory()));
        board.say(
                "A writes to them: %s; B has '%s'",
                write(ends, "apples 1", prices.remote()), TransferSide.text(prices.memory()));
    }

    // excerpt
    private static void toStrangers(TwoEnds ends, Board board) throws InterruptedException {
        MemoryRegion region = ends.domain.register(ends.arena.allocate(16), LOCAL_WRITE, REMOTE_READ, MW_BIND);
        region.memory().setString(0, "for A only");
        RemoteMemory lent = lend(ends, ends.b, new MemoryWindowBinding(region, 0, 16, REMOTE_READ));
        ProtectionDomain another = ends.context.allocateProtectionDomain();

        board.say("B's memory has 'for A only'. Three strangers connect to B, and know a key:");
        steal("C, that of the region", region.remote(), ends, ends.domain, board);
        steal("D, that of the window", lent, ends, ends.domain, board);
        steal("E, that of the region; E is in another protection domain", region.remote(), ends, another, board);
    }

    // end

    private static void steal(String who, RemoteMemory memory, TwoEnds ends, ProtectionDomain domain, Board board)
            throws InterruptedException {
        try (FurtherConnection stranger = new FurtherConnection(ends, domain)) {
            board.draw(who.substring(0, 1), stranger.peer, "B", stranger.b);
            board.say("%s: %s, '%s'", who, stranger.read(memory), TransferSide.text(stranger.memoryOfPeer.memory()));
        }
    }

    private static String state(QueuePair queuePair) {
        return queuePair.query(QueuePairAttribute.STATE).state().toString();
    }

    private static AsyncEventType event(TwoEnds ends) throws InterruptedException {
        return ends.context.awaitAsyncEvent(LIMIT).orElseThrow().type();
    }
}
