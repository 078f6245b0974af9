package org.rdmapanama.samples.selftest;

import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.efa.EfaCapability;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;

/** Requests over SRD that must fail, with the right status. The queue pair stays usable, unlike one that is connected. */
final class SrdErrorChecks {
    private static final int RECEIVE = 7;
    private static final int BYTES = 64;
    private static final int FLUSHED = 5;
    private static final long LENGTH = 2L * Loopback.GUARD + 2 * BYTES;

    private final Subject subject;
    private final SelftestReport report;
    private final Way way;
    private final Limits limits;

    SrdErrorChecks(Subject subject, SelftestReport report, Way way, Limits limits) {
        this.subject = subject;
        this.report = report;
        this.way = way;
        this.limits = limits;
    }

    void run() throws InterruptedException {
        wrongKey(TestedOperation.RDMA_READ);
        wrongKey(TestedOperation.RDMA_WRITE);
        check("SEND of memory that is no longer registered", BYTES, this::closedMemory);
        int tooLong = (int) Math.min(limits.message() + 1, Sizes.MAX);
        check("SEND that is longer than a packet", tooLong, () -> longerThanPacket(tooLong));
        check("SEND that is longer than the receive", BYTES, this::longerThanReceive);
        check("SEND without a receive, with one retry", BYTES, this::noReceive);
        check("SEND to a queue pair that is closed", BYTES, this::closedPeer);
        check("receives of a queue pair that fails and begins anew", BYTES, this::flush);
    }

    private void check(String name, int bytes, SelftestReport.Check check) throws InterruptedException {
        report.check(way, "SRD " + name, Integer.toString(bytes), check);
    }

    private Loopback.Options options() {
        return new Loopback.Options(subject, TestedTransport.SRD, way);
    }

    /** The queue pair of A must send after a failure as before. */
    private static void requireUsable(Loopback loopback) throws CheckFailure, InterruptedException {
        loopback.b.postReceive(RECEIVE, Loopback.GUARD, BYTES);
        requireUsable(loopback, RECEIVE);
    }

    /** The same, with a receive that was posted before. */
    private static void requireUsable(Loopback loopback, int receive) throws CheckFailure, InterruptedException {
        requireSends(loopback, BYTES);
        loopback.b.expect(receive, CompletionOpcode.RECV);
    }

    private static void requireSends(Loopback loopback, int bytes) throws CheckFailure, InterruptedException {
        loopback.post(loopback.a.request(2, Loopback.GUARD, bytes).send());
        loopback.a.expect(2, CompletionOpcode.SEND);
    }

    private void wrongKey(TestedOperation operation) throws InterruptedException {
        check(operation + " with a wrong rkey", BYTES, () -> {
            SrdChecks.require(limits, operation);
            try (Loopback loopback = options().open()) {
                Image imageOfA = new Image(loopback.a, LENGTH, 1);
                Image imageOfB = new Image(loopback.b, LENGTH, 2);
                long address = loopback.b.region.address() + Loopback.GUARD;
                int key = ErrorChecks.wrongKey(loopback.b);
                try (WorkRequestBuilder builder = loopback.start()) {
                    builder.id(1).signaled(true);
                    if (operation == TestedOperation.RDMA_READ) {
                        builder.rdmaRead(address, key);
                    } else {
                        builder.rdmaWrite(address, key);
                    }
                    loopback.toB(builder);
                    builder.add(loopback.a.region, Loopback.GUARD, BYTES);
                    builder.complete();
                }
                // libefa of rdma-core 44 says the second.
                loopback.a.expectFailure(1, CompletionStatus.REM_ACCESS_ERR, CompletionStatus.GENERAL_ERR);
                imageOfA.check();
                imageOfB.check();
                requireUsable(loopback);
            }
        });
    }

    private void closedMemory() throws CheckFailure, NotPossible, InterruptedException {
        try (Loopback loopback = options().open()) {
            Image imageOfB = new Image(loopback.b, LENGTH, 2);
            loopback.b.postReceive(1, Loopback.GUARD, BYTES);
            MemoryRegion gone =
                    loopback.domain().register(loopback.arena.allocate(BYTES, BYTES), AccessFlag.LOCAL_WRITE);
            SendWorkRequest request =
                    loopback.a.request(1, 0, 0).add(gone, 0, BYTES).send();
            gone.close();
            loopback.post(request);
            loopback.a.expectFailure(1, CompletionStatus.LOC_PROT_ERR);
            imageOfB.check();
            requireUsable(loopback, 1);
        }
    }

    private void longerThanPacket(int bytes) throws CheckFailure, NotPossible, InterruptedException {
        try (Loopback loopback = options().open()) {
            loopback.post(loopback.a.request(1, 0, bytes).send());
            loopback.a.expectFailure(1, CompletionStatus.LOC_LEN_ERR);
            requireUsable(loopback);
        }
    }

    private void longerThanReceive() throws CheckFailure, NotPossible, InterruptedException {
        try (Loopback loopback = options().open()) {
            Image imageOfA = new Image(loopback.a, LENGTH, 1);
            Image imageOfB = new Image(loopback.b, LENGTH, 2);
            loopback.b.postReceive(1, Loopback.GUARD, BYTES - 1);
            loopback.post(loopback.a.request(1, Loopback.GUARD, BYTES).send());
            loopback.a.expectFailure(1, CompletionStatus.REM_INV_REQ_ERR);
            imageOfA.check();
            // What becomes of the receive is not documented.
            imageOfB.accept(Loopback.GUARD, BYTES - 1);
            imageOfB.check();
            // The next message fits into either receive.
            loopback.b.postReceive(RECEIVE, Loopback.GUARD, BYTES);
            requireSends(loopback, BYTES - 1);
        }
    }

    private void noReceive() throws CheckFailure, NotPossible, InterruptedException {
        if (!limits.efa().contains(EfaCapability.RNR_RETRY)) {
            throw new NotPossible("the device does not tell " + EfaCapability.RNR_RETRY);
        }
        try (Loopback loopback = options().repeats(1).open()) {
            Image imageOfB = new Image(loopback.b, LENGTH, 2);
            loopback.post(loopback.a.request(1, Loopback.GUARD, BYTES).send());
            loopback.a.expectFailure(1, CompletionStatus.RNR_RETRY_EXC_ERR);
            imageOfB.check();
            requireUsable(loopback);
        }
    }

    private void closedPeer() throws CheckFailure, NotPossible, InterruptedException {
        try (Loopback loopback = options().open()) {
            SendWorkRequest request = loopback.addressed(
                    loopback.a, loopback.a.request(1, Loopback.GUARD, BYTES).send());
            loopback.b.queuePair.close();
            loopback.a.post(request);
            loopback.a.expectFailure(1, CompletionStatus.REM_INV_RD_REQ_ERR);
            loopback.a.expectState(QueuePairState.RTS);
        }
    }

    private void flush() throws CheckFailure, NotPossible, InterruptedException {
        try (Loopback loopback = options().open()) {
            End b = loopback.b;
            Image imageOfB = new Image(b, LENGTH, 2);
            for (int i = 0; i < FLUSHED; i++) {
                b.postReceive(i, Loopback.GUARD, BYTES);
            }
            b.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            for (int i = 0; i < FLUSHED; i++) {
                b.expectFailure(i, CompletionStatus.WR_FLUSH_ERR);
            }
            imageOfB.check();
            b.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            b.queuePair.activate();
            requireUsable(loopback);
        }
    }
}
