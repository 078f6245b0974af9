package org.rdmapanama.samples.selftest;

import org.rdmapanama.MemoryWindow;
import org.rdmapanama.MemoryWindowBinding;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;

/** Atomic operations, memory windows and SEND with invalidate, on reliable connections. */
final class KeyChecks {
    private static final long OFFSET = Loopback.GUARD;
    private static final long BEFORE = 0x1122_3344_5566_7788L;
    private static final long AFTER = 0x99aa_bbcc_ddee_ff00L;
    private static final long LENGTH = 2L * Loopback.GUARD + Long.BYTES;

    private final Subject subject;
    private final SelftestReport report;
    private final Way way;

    KeyChecks(Subject subject, SelftestReport report, Way way) {
        this.subject = subject;
        this.report = report;
        this.way = way;
    }

    void run(Limits limits) throws InterruptedException {
        atomic(
                limits,
                "RC compare-and-swap that hits",
                (request, b) -> request.compareAndSwap(b.region.address() + OFFSET, b.region.rkey(), BEFORE, AFTER),
                CompletionOpcode.COMP_SWAP,
                AFTER);
        atomic(
                limits,
                "RC compare-and-swap that misses",
                (request, b) -> request.compareAndSwap(b.region.address() + OFFSET, b.region.rkey(), BEFORE + 1, AFTER),
                CompletionOpcode.COMP_SWAP,
                BEFORE);
        atomic(
                limits,
                "RC fetch-and-add",
                (request, b) -> request.fetchAndAdd(b.region.address() + OFFSET, b.region.rkey(), AFTER),
                CompletionOpcode.FETCH_ADD,
                BEFORE + AFTER);
        report.check(way, "RC SEND with invalidate, of a memory window of type 2", "8", () -> invalidate(limits));
    }

    /** Makes a request an atomic operation on memory of B. */
    private interface Atomic {
        SendWorkRequest set(SendWorkRequest request, End b);
    }

    private void atomic(Limits limits, String name, Atomic atomic, CompletionOpcode opcode, long after)
            throws InterruptedException {
        report.check(way, name, Integer.toString(Long.BYTES), () -> {
            if (!limits.atomics()) {
                throw new NotPossible("the device has no atomic operations");
            }
            try (Loopback loopback = new Loopback.Options(subject, TestedTransport.RC, way).open()) {
                Image imageOfA = new Image(loopback.a, LENGTH, 1);
                Image imageOfB = new Image(loopback.b, LENGTH, 2);
                imageOfB.set(OFFSET, BEFORE);
                loopback.a.post(atomic.set(loopback.a.request(1, OFFSET, Long.BYTES), loopback.b));
                loopback.a.expect(1, opcode);
                imageOfA.expect(OFFSET, BEFORE);
                imageOfB.expect(OFFSET, after);
                imageOfA.check();
                imageOfB.check();
            }
        });
    }

    private void invalidate(Limits limits) throws CheckFailure, NotPossible, InterruptedException {
        if (!limits.windows()) {
            throw new NotPossible("the device has no memory windows of type 2");
        }
        if (way == Way.DIRECT) {
            throw new NotPossible("direct queue pairs bind no memory windows");
        }
        try (Loopback loopback =
                new Loopback.Options(subject, TestedTransport.RC, way).windows().open()) {
            End a = loopback.a;
            End b = loopback.b;
            Image imageOfB = new Image(b, LENGTH + Long.BYTES, 2);
            Image imageOfA = new Image(a, LENGTH, 1);
            MemoryWindow window = loopback.domain().allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding binding =
                    new MemoryWindowBinding(b.region, OFFSET, Long.BYTES, AccessFlag.REMOTE_WRITE);
            b.post(b.request(1, 0, 0).bindMemoryWindow(window, window.nextRkey(), binding));
            b.expect(1, CompletionOpcode.BIND_MW);

            a.post(a.request(2, OFFSET, Long.BYTES).rdmaWrite(binding.remoteAddress(), window.rkey()));
            a.expect(2, CompletionOpcode.RDMA_WRITE);
            b.postReceive(3, OFFSET + Long.BYTES, Long.BYTES);
            a.post(a.request(4, OFFSET, Long.BYTES).sendWithInvalidate(window.rkey()));
            a.expect(4, CompletionOpcode.SEND);
            b.expect(3, CompletionOpcode.RECV);
            End.equal("key that is invalid now", window.rkey(), b.completions.invalidatedRkey(0));
            imageOfB.expect(imageOfA, OFFSET, OFFSET, Long.BYTES);
            imageOfB.expect(imageOfA, OFFSET, OFFSET + Long.BYTES, Long.BYTES);
            imageOfB.check();

            a.post(a.request(5, 0, Long.BYTES).rdmaWrite(binding.remoteAddress(), window.rkey()));
            a.expectFailure(5, CompletionStatus.REM_ACCESS_ERR);
            imageOfB.check();
        }
    }
}
