package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_READ;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.lang.foreign.ValueLayout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.Side;

/** A side on the device of an id, which sends texts and receives them in the second half of its buffer. */
final class IdSide extends Side {
    static final int RECEIVE = 2048;

    /** One at a time: sends and receives share the queue, and a test waits for each of them in turn. */
    private final WorkCompletions next = new WorkCompletions(arena, 1);

    IdSide(VerbsArena arena, CmId id) {
        this(arena, id, id.openContext(arena).allocateProtectionDomain());
    }

    private IdSide(VerbsArena arena, CmId id, ProtectionDomain domain) {
        super(
                arena,
                domain,
                null,
                createQueuePair(id, domain),
                domain.register(arena.allocate(2 * RECEIVE, 4096), LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ),
                Lab.SECONDS);
    }

    private static QueuePair createQueuePair(CmId id, ProtectionDomain domain) {
        return domain.createQueuePair(
                new QueuePairOptions(id.queuePairType(), domain.context().createCompletionQueue(64))
                        .maxSendWorkRequests(8)
                        .maxReceiveWorkRequests(8));
    }

    void postReceive() {
        postReceive(2, RECEIVE, RECEIVE);
    }

    SendWorkRequest message(String text) {
        memory.setString(0, text);
        return request(1, 0, text.length() + 1L).send();
    }

    void send(String text) {
        post(message(text));
        complete(1);
    }

    String receive() {
        complete(2);
        return memory.getString(RECEIVE);
    }

    String receiveDatagram() {
        complete(2);
        return memory.getString(RECEIVE + AddressHandle.GRH_BYTES);
    }

    /** Waits for one successful completion, of this work request. */
    void complete(long id) {
        Bound.of(Lab.SECONDS)
                .spin(
                        () -> "no completion of " + id + " on " + queuePair + ", which is " + queuePair.query(),
                        () -> queue.poll(next) > 0);
        assertEquals(CompletionStatus.SUCCESS, next.status(0), () -> next.describe(0));
        assertEquals(id, next.id(0));
    }

    /** Whether nothing completed that was not waited for. */
    boolean isIdle() {
        return queue.poll(next) == 0;
    }

    /** The first bytes of the buffer. */
    byte[] bytes(int count) {
        return memory.asSlice(0, count).toArray(ValueLayout.JAVA_BYTE);
    }
}
