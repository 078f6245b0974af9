package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.rdmapanama.address.Gid;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.device.PortAttributes;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.Side;

/**
 * Keeps the objects of a world in those states that random calls would seldom bring about: there are completions to read,
 * batches of completions and of work requests are open, and objects of every type are closed.
 */
final class FuzzTraffic {
    /** What Soft-RoCE can tell. */
    private static final Set<CompletionField> FIELDS =
            EnumSet.range(CompletionField.BYTE_LEN, CompletionField.DLID_PATH_BITS);

    /** What Soft-RoCE can do. */
    private static final SendOperation[] OPERATIONS = {
        SendOperation.RDMA_WRITE,
        SendOperation.RDMA_WRITE_WITH_IMM,
        SendOperation.SEND,
        SendOperation.SEND_WITH_IMM,
        SendOperation.RDMA_READ,
        SendOperation.ATOMIC_CMP_AND_SWP,
        SendOperation.ATOMIC_FETCH_AND_ADD,
        SendOperation.LOCAL_INV,
        SendOperation.BIND_MW,
        SendOperation.SEND_WITH_INV
    };

    private final World world;

    /** Extended queue pairs on one extended completion queue. */
    private final ConnectedPair extended;

    /** Of the queue of {@link #extended}. */
    private final PollCursor cursor;

    /** Nobody else uses it: what is posted to it ends at once. */
    private final QueuePair failed;

    private final SendWorkRequest write;
    private final ReceiveWorkRequest receive;
    private final ReceiveWorkRequest unused;

    /** The one with what was polled last, and the one to poll into next. */
    private WorkCompletions completions;

    private WorkCompletions nextCompletions;
    private final List<WorkRequestBuilder> builders = new ArrayList<>();
    private int turn;

    FuzzTraffic(World world) {
        this.world = world;
        Side plain = world.pair.a;
        extended = ConnectedPair.of(QueuePairType.RC)
                .in(plain.arena)
                .through(arena -> plain.context)
                .shared()
                .extended(FIELDS.toArray(CompletionField[]::new))
                .extended(OPERATIONS)
                .inline(64)
                .open();
        ExtendedCompletionQueue queue = extended.a.extended();
        cursor = queue.poll();
        failed = extended.a.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
        failed.initialize();
        failed.modify(new QueuePairAttributes().state(QueuePairState.ERR));
        write = world.pair.writeToB(1, 0, 8);
        receive = plain.receiveRequest(2, 64, 8);
        unused = ReceiveWorkRequest.allocate(plain.arena, 1);
        completions = new WorkCompletions(plain.arena, 8);
        nextCompletions = new WorkCompletions(plain.arena, 8);
        world.add(completions);
        world.add(nextCompletions);
        world.add(queue);
        for (Side side : List.of(extended.a, extended.b)) {
            world.add(side.queuePair);
            WorkRequestBuilder builder = ((ExtendedQueuePair) side.queuePair).startWorkRequests();
            world.add(builder);
            builders.add(builder);
        }
        RegisteredPool pool = RegisteredPool.create(plain.domain, 8192, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
        world.add(pool);
        world.add(pool.allocate(64));
        world.add(Gid.parse("ff0e:0000:0000:0000:0000:ffff:ef01:0101"));
        world.add(DeviceAttributes.ofNative(MemorySegment.ofArray(new byte[240])));
        world.add(PortAttributes.ofNative(1, MemorySegment.ofArray(new byte[0])));
    }

    /** An object of a type that has something to do, or null. */
    Object busy(Class<?> type) {
        return Stream.of(extended.a.queue, cursor, builders.get(turn % 2), completions)
                .filter(type::isInstance)
                .findFirst()
                .orElse(null);
    }

    /** Whether this would come to an end without an object. */
    boolean standsOn(Object object) {
        return object == extended.a.domain
                || object == extended.a.queue
                || object == extended.a.queuePair
                || object == extended.b.queuePair
                || object == failed;
    }

    /** Has one more operation of each kind done, and one more completion to be read. */
    void goOn() {
        turn++;
        Side plain = world.pair.a;
        if (plain.queuePair.isOpen() && plain.region.isOpen()) {
            attempt(() -> plain.queuePair.postReceive(receive));
            attempt(() -> plain.queuePair.postSend(write));
        }
        if (plain.queue.isOpen() && turn % 4 == 0) {
            attempt(() -> poll(plain.queue));
        }
        for (Side side : List.of(extended.a, extended.b)) {
            ExtendedQueuePair queuePair = (ExtendedQueuePair) side.queuePair;
            if (queuePair.isOpen() && turn % 8 == 0) {
                attempt(() -> queuePair.postReceive(receive));
                attempt(queuePair::startWorkRequests);
            }
        }
        ExtendedCompletionQueue queue = extended.a.extended();
        if (queue.isOpen() && failed.isOpen()) {
            attempt(() -> failed.postReceive(unused));
            // Soft-RoCE's kernel only sees receives when something else makes it look.
            attempt(() -> failed.postSend(write));
            if (turn % 4 == 0) {
                attempt(queue::endPoll);
            }
            attempt(queue::startPoll);
        }
    }

    private void poll(CompletionQueue queue) {
        if (queue.poll(nextCompletions) > 0) {
            WorkCompletions filled = nextCompletions;
            nextCompletions = completions;
            completions = filled;
        }
    }

    /** What random calls have made impossible stays undone. */
    private static void attempt(Runnable call) {
        try {
            call.run();
        } catch (VerbsException | IllegalStateException | IllegalArgumentException refused) {
            return;
        }
    }
}
