package org.rdmapanama.cards;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * A queue pair of a card whose work a queue pair of soft0 does: this reads the work requests from the rings of the card, as far
 * as counters of 16 bits say, and posts them there.
 */
abstract class PostingQueuePair implements CardQueuePair {
    private static final int COUNTER = 0xffff;

    final DeviceFile file;
    final Card.QueuePairRequest request;

    /** The work request that is being posted. */
    final SoftPost post;

    /** In state RESET, in which the card does not look at rings. */
    private boolean isReset = true;

    /** The units of the ring of sends that were executed. */
    private int executed;

    /** The counter of the units that may be executed. */
    private int announced;

    /** The receives that were posted. */
    private int received;

    // What the next one shall fail with, or null.
    private InjectedError sendError;
    private InjectedError receiveError;

    PostingQueuePair(DeviceFile file, Card.QueuePairRequest request) {
        this.file = file;
        this.request = request;
        post = new SoftPost(file.soft());
    }

    /** Returns what the provider has counted in the ring of sends, in units of the ring. */
    abstract int countOfSends();

    /** Returns what the provider has counted in the ring of receives. */
    abstract int countOfReceives();

    /** Returns the opcode of the send at a counter. */
    abstract int opcodeOf(int counter);

    /** Returns how many units of the ring the send at a counter has. */
    abstract int unitsOf(int counter);

    /**
     * Posts the send at a counter, which was begun.
     *
     * @return false if soft0 has no room for it
     */
    abstract boolean postSend(int counter);

    /**
     * Adds the segments of the receive at a counter, which was begun.
     *
     * @return null, or what is wrong with it
     */
    abstract InjectedError readReceive(int counter);

    /** Returns from which counters on the rings are read after the state RESET. */
    abstract Start startAfterReset();

    /** Counters of both rings. */
    record Start(int sends, int receives) {}

    @Override
    public Card.QueuePairRequest request() {
        return request;
    }

    @Override
    public void modified(MemorySegment attributes, int mask) {
        if ((mask & rdma_h.IBV_QP_STATE()) == 0) {
            return;
        }
        isReset = ibv_qp_attr.qp_state(attributes) == rdma_h.IBV_QPS_RESET();
        if (isReset) {
            Start start = startAfterReset();
            executed = start.sends();
            announced = start.sends();
            received = start.receives();
        }
    }

    @Override
    public void inject(boolean receive, InjectedError error) {
        if (receive) {
            receiveError = error;
        } else {
            sendError = error;
        }
    }

    @Override
    public void noteSends() {
        if (!isReset) {
            announced = countOfSends();
        }
    }

    @Override
    public boolean takeReceives() {
        if (isReset) {
            return false;
        }
        boolean busy = false;
        int posted = countOfReceives();
        while ((received & COUNTER) != posted && postReceive()) {
            received++;
            busy = true;
        }
        return busy;
    }

    private boolean postReceive() {
        post.begin(WorkId.receive(received));
        InjectedError error = receiveError;
        receiveError = null;
        if (error == null) {
            error = readReceive(received);
        }
        if (error != null) {
            fail(request.receiveCompletions(), error);
            return true;
        }
        return post.receive(request.softPair()) == 0;
    }

    @Override
    public boolean executeSends() {
        boolean busy = false;
        while ((executed & COUNTER) != announced) {
            // A request that was written over may say any number.
            int units = Math.min(unitsOf(executed), announced - executed & COUNTER);
            if (!execute()) {
                break;
            }
            executed += units;
            busy = true;
        }
        return busy;
    }

    /** Returns false if soft0 has no room. */
    private boolean execute() {
        post.begin(WorkId.send(opcodeOf(executed), executed));
        if (sendError != null) {
            failSend(sendError);
            sendError = null;
            return true;
        }
        return postSend(executed);
    }

    @Override
    public void fail() {
        file.fail(request.softPair());
    }

    /** Fails the send that was begun, and the pair with it. */
    final void failSend(InjectedError error) {
        fail(request.sendCompletions(), error);
    }

    /** Fails the send that was begun with a status of enum ibv_wc_status, and the pair with it. */
    final void failSend(int status) {
        fail();
        request.sendCompletions().fail(this, post.id(), status);
    }

    private void fail(CardCompletionQueue completions, InjectedError error) {
        fail();
        ((ForwardingCompletionQueue) completions).fail(this, post.id(), error);
    }

    /** Looks at what soft0 said to a send. Returns false if there was no room for it. */
    final boolean finish(int result) {
        if (result == Errno.ENOMEM) {
            return false;
        }
        if (result != 0) {
            // A driver accepts what its hardware fails.
            failSend(rdma_h.IBV_WC_LOC_QP_OP_ERR());
        }
        return true;
    }

    @Override
    public void close() {
        post.free();
    }
}
