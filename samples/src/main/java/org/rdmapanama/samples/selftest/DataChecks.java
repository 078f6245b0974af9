package org.rdmapanama.samples.selftest;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionOpcode;

/** Every operation that moves data, with messages of all sizes. */
final class DataChecks {
    /** How often a message is sent that an unreliable transport may lose. */
    private static final int ATTEMPTS = 5;

    /** After how many sizes in a row without an answer the others are not tried. */
    private static final int MAX_SILENT = 2;

    private static final int SHARED_RECEIVES = 32;
    private static final int CHAIN = 16;
    private static final int CHAINS = 50;
    private static final int PIECE = 24;

    private final Subject subject;
    private final SelftestReport report;
    private final Way way;

    DataChecks(Subject subject, SelftestReport report, Way way) {
        this.subject = subject;
        this.report = report;
        this.way = way;
    }

    void run(TestedTransport transport, Limits limits) throws InterruptedException {
        boolean datagrams = transport == TestedTransport.UD;
        List<Integer> sizes = datagrams
                ? Sizes.ofDatagrams(limits.inline(), limits.mtu())
                : Sizes.ofMessages(limits.inline(), limits.mtu());
        Loopback.Options plain = new Loopback.Options(subject, transport, way);
        for (TestedOperation operation : TestedOperation.values()) {
            if (operation.isOn(transport)) {
                check(transport + " " + operation, sizes, () -> transfers(plain, operation, Posting.REQUEST, sizes));
            }
        }
        List<Integer> inlineSizes = Sizes.ofInline(limits.inline());
        for (TestedOperation operation : TestedOperation.values()) {
            if (operation.isOn(transport) && operation != TestedOperation.RDMA_READ) {
                check(transport + " " + operation + Posting.REQUEST_INLINE.text, inlineSizes, () -> {
                    limits.requireInline();
                    transfers(plain, operation, Posting.REQUEST_INLINE, inlineSizes);
                });
            }
        }
        if (transport == TestedTransport.UC) {
            return;
        }
        Loopback.Options shared = new Loopback.Options(subject, transport, way).shared();
        for (TestedOperation operation : TestedOperation.values()) {
            if (operation.isOn(transport) && operation.received != null) {
                check(transport + " " + operation + ", shared receive queue", sizes, () -> {
                    requireSharedReceiveQueues(limits);
                    transfers(shared, operation, Posting.REQUEST, sizes);
                });
            }
        }
        if (transport == TestedTransport.RC) {
            report.check(
                    way,
                    "RC SEND, both queue pairs with one shared receive queue",
                    PIECE + ", " + SHARED_RECEIVES + " times",
                    () -> {
                        requireSharedReceiveQueues(limits);
                        shareReceives(shared);
                    });
            report.check(
                    way,
                    "RC RDMA WRITE, chains of " + CHAIN + " of which the last is signaled",
                    PIECE + ", " + CHAIN * CHAINS + " times",
                    () -> chains(plain));
        }
    }

    private static void requireSharedReceiveQueues(Limits limits) throws NotPossible {
        if (limits.sharedReceiveQueues() == 0) {
            throw new NotPossible("the device has no shared receive queues");
        }
    }

    private void check(String name, List<Integer> sizes, SelftestReport.Check check) throws InterruptedException {
        report.check(way, name, Sizes.text(sizes), check);
    }

    /** Tries all sizes, on a new connection after one that failed; but not for ever on a device that never answers. */
    void transfers(Loopback.Options options, TestedOperation operation, Posting posting, List<Integer> sizes)
            throws CheckFailure, NotPossible, InterruptedException {
        List<String> failures = new ArrayList<>();
        Deque<Integer> left = new ArrayDeque<>(sizes);
        int attempts = 0;
        int silent = 0;
        while (!left.isEmpty() && silent < MAX_SILENT) {
            try (Loopback loopback = options.open()) {
                Transfer transfer = new Transfer(loopback, options.transport(), operation, posting, subject.limit());
                while (!left.isEmpty()) {
                    transfer.run(left.getFirst());
                    left.removeFirst();
                    attempts = 0;
                    silent = 0;
                }
            } catch (CheckFailure e) {
                attempts++;
                boolean mayBeLost = e.isSilence() && !options.transport().isReliable();
                if (!mayBeLost || attempts == ATTEMPTS) {
                    failures.add("with " + left.removeFirst() + " bytes, " + e.getMessage());
                    attempts = 0;
                    silent = e.isSilence() ? silent + 1 : 0;
                }
            }
        }
        if (!left.isEmpty()) {
            failures.add("not tried after that: " + Sizes.text(List.copyOf(left)));
        }
        if (!failures.isEmpty()) {
            throw CheckFailure.ofParts(failures);
        }
    }

    /** Both queue pairs take their receives from one queue, in the order in which they need them. */
    private void shareReceives(Loopback.Options options) throws CheckFailure, NotPossible, InterruptedException {
        try (Loopback loopback = options.open()) {
            long length = 2L * Loopback.GUARD + PIECE * SHARED_RECEIVES;
            Image imageOfA = new Image(loopback.a, length, 1);
            Image imageOfB = new Image(loopback.b, length, 2);
            for (int i = 0; i < SHARED_RECEIVES; i++) {
                loopback.b.postReceive(i, Loopback.GUARD + (long) PIECE * i, PIECE);
            }
            for (int i = 0; i < SHARED_RECEIVES; i++) {
                boolean fromA = i % 3 != 0;
                End sender = fromA ? loopback.a : loopback.b;
                End receiver = fromA ? loopback.b : loopback.a;
                sender.post(sender.request(i, 0, PIECE).send());
                sender.expect(i, CompletionOpcode.SEND);
                receiver.expect(i, CompletionOpcode.RECV);
                imageOfB.expect(fromA ? imageOfA : imageOfB, 0, Loopback.GUARD + (long) PIECE * i, PIECE);
            }
            imageOfA.check();
            imageOfB.check();
        }
    }

    /** More requests than the queue holds, so that its ring wraps; each writes to another place. */
    private void chains(Loopback.Options options) throws CheckFailure, NotPossible, InterruptedException {
        int bytes = CHAIN * CHAINS * PIECE;
        try (Loopback loopback = options.open()) {
            long length = 2L * Loopback.GUARD + bytes;
            Image imageOfA = new Image(loopback.a, length, 1);
            Image imageOfB = new Image(loopback.b, length, 2);
            imageOfB.expect(imageOfA, Loopback.GUARD, Loopback.GUARD, bytes);
            for (int chain = 0; chain < CHAINS; chain++) {
                int last = CHAIN * (chain + 1) - 1;
                SendWorkRequest first = null;
                for (int i = last; i >= CHAIN * chain; i--) {
                    long offset = Loopback.GUARD + (long) i * PIECE;
                    SendWorkRequest request = TestedOperation.RDMA_WRITE
                            .set(loopback.a.request(i, offset, PIECE), loopback.b, offset)
                            .signaled(i == last);
                    first = first == null ? request : request.next(first);
                }
                loopback.a.post(first);
                loopback.a.expect(last, CompletionOpcode.RDMA_WRITE);
            }
            imageOfA.check();
            imageOfB.check();
        }
    }
}
