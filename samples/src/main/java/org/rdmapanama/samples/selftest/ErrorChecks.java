package org.rdmapanama.samples.selftest;

import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairState;

/** Requests that must fail, with the right status, and change no memory. */
final class ErrorChecks {
    private static final int RECEIVE = 7;
    private static final int FLUSHED = 5;
    private static final int BYTES = 64;
    private static final long LENGTH = 2L * Loopback.GUARD + 2 * BYTES;

    private final Subject subject;
    private final SelftestReport report;
    private final Way way;

    ErrorChecks(Subject subject, SelftestReport report, Way way) {
        this.subject = subject;
        this.report = report;
        this.way = way;
    }

    void run(Limits limits) throws InterruptedException {
        wrongKey("RC RDMA WRITE", TestedOperation.RDMA_WRITE);
        wrongKey("RC RDMA READ", TestedOperation.RDMA_READ);
        report.check(way, "RC fetch-and-add with a wrong rkey", "8", () -> {
            if (!limits.atomics()) {
                throw new NotPossible("the device has no atomic operations");
            }
            refused(
                    (request, b) -> request.fetchAndAdd(b.region.address() + Loopback.GUARD, wrongKey(b), 1),
                    Long.BYTES);
        });
        report.check(way, "RC SEND that is longer than the receive", Integer.toString(BYTES), this::tooLong);
        report.check(way, "RC SEND without a receive, with one retry", Integer.toString(BYTES), this::noReceive);
    }

    /** Makes a request that fails. */
    private interface Wrong {
        SendWorkRequest set(SendWorkRequest request, End b);
    }

    /** Returns a key with which devices draw no region: every bit differs from that of B, also those of its index. */
    static int wrongKey(End b) {
        return ~b.region.rkey();
    }

    private void wrongKey(String name, TestedOperation operation) throws InterruptedException {
        report.check(way, name + " with a wrong rkey", Integer.toString(BYTES), () -> {
            refused(
                    (request, b) -> {
                        long address = b.region.address() + Loopback.GUARD;
                        return operation == TestedOperation.RDMA_READ
                                ? request.rdmaRead(address, wrongKey(b))
                                : request.rdmaWrite(address, wrongKey(b));
                    },
                    BYTES);
        });
    }

    /** The request fails; the receives and the requests after it are flushed; the queue pair is in state ERR. */
    private void refused(Wrong wrong, int bytes) throws CheckFailure, NotPossible, InterruptedException {
        try (Loopback loopback = new Loopback.Options(subject, TestedTransport.RC, way).open()) {
            End a = loopback.a;
            Image imageOfA = new Image(a, LENGTH, 1);
            Image imageOfB = new Image(loopback.b, LENGTH, 2);
            a.postReceive(RECEIVE, Loopback.GUARD, BYTES);
            a.post(wrong.set(a.request(0, Loopback.GUARD, bytes), loopback.b));
            a.expectFailure(0, CompletionStatus.REM_ACCESS_ERR);
            a.expectFailure(RECEIVE, CompletionStatus.WR_FLUSH_ERR);
            for (int i = 1; i <= FLUSHED; i++) {
                a.post(TestedOperation.RDMA_WRITE.set(
                        a.request(i, Loopback.GUARD, BYTES).signaled(false), loopback.b, Loopback.GUARD));
                a.expectFailure(i, CompletionStatus.WR_FLUSH_ERR);
            }
            a.expectState(QueuePairState.ERR);
            End.equal(
                    "first failure of the queue pair",
                    CompletionStatus.REM_ACCESS_ERR,
                    a.queuePair.failure().orElseThrow().status());
            imageOfA.check();
            imageOfB.check();
        }
    }

    private void tooLong() throws CheckFailure, NotPossible, InterruptedException {
        try (Loopback loopback = new Loopback.Options(subject, TestedTransport.RC, way).open()) {
            Image imageOfA = new Image(loopback.a, LENGTH, 1);
            loopback.b.postReceive(RECEIVE, Loopback.GUARD, BYTES - 1);
            loopback.a.post(loopback.a.request(1, Loopback.GUARD, BYTES).send());
            // Soft-RoCE reports the second of each.
            loopback.a.expectFailure(1, CompletionStatus.REM_INV_REQ_ERR, CompletionStatus.REM_OP_ERR);
            loopback.b.expectFailure(RECEIVE, CompletionStatus.LOC_LEN_ERR, CompletionStatus.LOC_QP_OP_ERR);
            imageOfA.check();
        }
    }

    private void noReceive() throws CheckFailure, NotPossible, InterruptedException {
        Loopback.Options options = new Loopback.Options(subject, TestedTransport.RC, way)
                .connect(connecting -> connecting.rnrRetry(1).minRnrTimer(1));
        try (Loopback loopback = options.open()) {
            Image imageOfB = new Image(loopback.b, LENGTH, 2);
            loopback.a.post(loopback.a.request(1, Loopback.GUARD, BYTES).send());
            loopback.a.expectFailure(1, CompletionStatus.RNR_RETRY_EXC_ERR);
            imageOfB.check();
        }
    }
}
