package org.rdmapanama.samples.selftest;

import java.util.BitSet;
import java.util.List;
import java.util.function.Predicate;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.completion.CompletionOpcode;

/**
 * Every operation that moves data over SRD, the transport of EFA devices. Sends are posted as requests and call by call, and
 * have one packet; reads and writes, which are posted call by call only, are longer.
 */
final class SrdChecks {
    private static final List<TestedOperation> SENDS =
            List.of(TestedOperation.SEND, TestedOperation.SEND_WITH_IMMEDIATE);
    private static final List<TestedOperation> ONE_SIDED =
            List.of(TestedOperation.RDMA_READ, TestedOperation.RDMA_WRITE, TestedOperation.RDMA_WRITE_WITH_IMMEDIATE);

    /** Inline data for which the entries of a send queue must be large. */
    private static final int LARGE_INLINE = 64;

    private static final int CHAIN = 16;
    private static final int CHAINS = 50;
    private static final int PIECE = 24;
    private static final String EXTENT = PIECE + ", " + CHAIN * CHAINS + " times";
    private static final long LENGTH = 2L * Loopback.GUARD + CHAIN * PIECE;

    private final Subject subject;
    private final SelftestReport report;
    private final Way way;
    private final Limits limits;
    private final Loopback.Options plain;
    private final DataChecks data;

    SrdChecks(Subject subject, SelftestReport report, Way way, Limits limits) {
        this.subject = subject;
        this.report = report;
        this.way = way;
        this.limits = limits;
        plain = options();
        data = new DataChecks(subject, report, way);
    }

    private Loopback.Options options() {
        return new Loopback.Options(subject, TestedTransport.SRD, way);
    }

    /** Requires that the device can do an operation. */
    static void require(Limits limits, TestedOperation operation) throws NotPossible {
        if (!operation.isPossible(limits.efa())) {
            throw new NotPossible("the device, its driver in the kernel or libefa does not tell " + operation.needed);
        }
    }

    void run() throws InterruptedException {
        int message = (int) Math.min(limits.message(), Sizes.MAX);
        List<Integer> sizes = Sizes.ofDatagrams(limits.inline(), message);
        List<Integer> inlineSizes = Sizes.ofInline(limits.inline());
        for (TestedOperation operation : SENDS) {
            for (Posting posting : Posting.values()) {
                check(operation, posting.text, posting.isInline() ? inlineSizes : sizes, tested -> {
                    if (posting.isInline()) {
                        limits.requireInline();
                    }
                    data.transfers(plain, operation, posting, tested);
                });
            }
        }
        Loopback.Options large = options().largeEntries();
        for (Posting posting : Posting.values()) {
            List<Integer> largeSizes =
                    posting.isInline() ? Sizes.ofInline(LARGE_INLINE) : Sizes.ofDatagrams(LARGE_INLINE, message);
            check(TestedOperation.SEND, posting.text + ", large entries", largeSizes, tested -> {
                requireLargeEntries(large);
                data.transfers(large, TestedOperation.SEND, posting, tested);
            });
        }
        // What a device does with nothing to read or write is not documented.
        List<Integer> longSizes = Sizes.ofMessages(limits.inline(), message).stream()
                .filter(Predicate.not(Integer.valueOf(0)::equals))
                .toList();
        for (TestedOperation operation : ONE_SIDED) {
            check(operation, Posting.CALLS.text, longSizes, tested -> {
                require(limits, operation);
                data.transfers(plain, operation, Posting.CALLS, tested);
            });
        }
        report.check(way, "SRD SEND with immediate, chains of " + CHAIN, EXTENT, this::chains);
        report.check(way, "SRD RDMA WRITE, batches of " + CHAIN, EXTENT, this::batches);
    }

    /** A check with messages of several sizes. */
    private interface SizesCheck {
        void run(List<Integer> sizes) throws CheckFailure, NotPossible, InterruptedException;
    }

    private void check(TestedOperation operation, String more, List<Integer> sizes, SizesCheck check)
            throws InterruptedException {
        report.check(way, "SRD " + operation + more, Sizes.text(sizes), () -> check.run(sizes));
    }

    private static void requireLargeEntries(Loopback.Options options) throws NotPossible {
        try (Loopback loopback = options.open()) {
            int granted = loopback.a.queuePair.capabilities().maxInlineData();
            if (granted < LARGE_INLINE) {
                throw new NotPossible("the device or libefa grants " + granted + " bytes of inline data, not "
                        + LARGE_INLINE + ", and so entries are small");
            }
        }
    }

    /**
     * Chains of sends, many more than the queues hold, so that their rings wrap. They may arrive in any order: the immediate
     * data of each one is its number in the chain.
     */
    private void chains() throws CheckFailure, NotPossible, InterruptedException {
        try (Loopback loopback = plain.open()) {
            Image imageOfA = new Image(loopback.a, LENGTH, 1);
            for (int chain = 0; chain < CHAINS; chain++) {
                Image imageOfB = new Image(loopback.b, LENGTH, 2L + chain);
                SendWorkRequest first = null;
                for (int i = CHAIN - 1; i >= 0; i--) {
                    loopback.b.postReceive(i, place(i), PIECE);
                    SendWorkRequest request =
                            loopback.a.request(i, place(i), PIECE).sendWithImmediate(i);
                    request = loopback.addressed(loopback.a, request);
                    first = first == null ? request : request.next(first);
                }
                loopback.a.post(first);
                expectAll(loopback.a, CompletionOpcode.SEND);
                BitSet messages = new BitSet();
                BitSet receives = new BitSet();
                for (int i = 0; i < CHAIN; i++) {
                    loopback.b.await("receive");
                    int message = arrived(loopback.b, messages, receives);
                    imageOfB.expect(imageOfA, place(message), place(loopback.b.completions.id(0)), PIECE);
                }
                imageOfB.check();
            }
            imageOfA.check();
        }
    }

    private static long place(long number) {
        return Loopback.GUARD + number * PIECE;
    }

    /** Checks the completion of a receive, whose buffer and message must be new ones. Returns the number of the message. */
    private static int arrived(End b, BitSet messages, BitSet receives) throws CheckFailure {
        b.is(b.completions.id(0), CompletionOpcode.RECV);
        End.equal("presence of immediate data", true, b.completions.hasImmediate(0));
        End.equal("bytes received", PIECE, b.completions.byteLength(0));
        add("receive", (int) b.completions.id(0), receives);
        add("message", b.completions.immediate(0), messages);
        return b.completions.immediate(0);
    }

    private static void add(String what, int number, BitSet numbers) throws CheckFailure {
        if (number < 0 || number >= CHAIN || numbers.get(number)) {
            throw new CheckFailure(what, "a number below " + CHAIN + " that was not yet there", number);
        }
        numbers.set(number);
    }

    /** Expects the completions of a chain, which may come in any order. */
    private static void expectAll(End end, CompletionOpcode opcode) throws CheckFailure, InterruptedException {
        BitSet ids = new BitSet();
        for (int i = 0; i < CHAIN; i++) {
            end.await(opcode.toString());
            end.is(end.completions.id(0), opcode);
            add("id", (int) end.completions.id(0), ids);
        }
    }

    /** Batches of writes, each to another place. */
    private void batches() throws CheckFailure, NotPossible, InterruptedException {
        require(limits, TestedOperation.RDMA_WRITE);
        try (Loopback loopback = plain.open()) {
            End a = loopback.a;
            for (int batch = 0; batch < CHAINS; batch++) {
                Image imageOfA = new Image(a, LENGTH, batch);
                Image imageOfB = new Image(loopback.b, LENGTH, ~batch);
                imageOfB.expect(imageOfA, Loopback.GUARD, Loopback.GUARD, (long) CHAIN * PIECE);
                try (WorkRequestBuilder builder = loopback.start()) {
                    for (int i = 0; i < CHAIN; i++) {
                        builder.id(i).signaled(true);
                        TestedOperation.RDMA_WRITE.build(builder, loopback.b, place(i));
                        loopback.toB(builder);
                        builder.add(a.region, place(i), PIECE);
                    }
                    builder.complete();
                }
                expectAll(a, CompletionOpcode.RDMA_WRITE);
                imageOfB.await(subject.limit());
                imageOfA.check();
            }
        }
    }
}
