package org.rdmapanama.samples.selftest;

import java.time.Duration;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.completion.CompletionOpcode;

/** Moves one message between A and B, and checks the completions and every byte at both ends. */
final class Transfer {
    private static final long SEND_ID = 0x1234_5678_9abc_def0L;
    private static final long RECEIVE_ID = 0xfedc_ba98_7654_3210L;

    private final Loopback loopback;
    private final TestedTransport transport;
    private final TestedOperation operation;
    private final Posting posting;
    private final Duration limit;

    Transfer(Loopback loopback, TestedTransport transport, TestedOperation operation, Posting posting, Duration limit) {
        this.loopback = loopback;
        this.transport = transport;
        this.operation = operation;
        this.posting = posting;
        this.limit = limit;
    }

    void run(int size) throws CheckFailure, InterruptedException {
        End a = loopback.a;
        End b = loopback.b;
        int header = transport == TestedTransport.UD ? AddressHandle.GRH_BYTES : 0;
        long length = 2L * Loopback.GUARD + header + size;
        Image imageOfA = new Image(a, length, size);
        Image imageOfB = new Image(b, length, ~size);
        if (operation == TestedOperation.RDMA_READ) {
            imageOfA.expect(imageOfB, Loopback.GUARD, Loopback.GUARD, size);
        } else {
            imageOfB.expect(imageOfA, Loopback.GUARD, Loopback.GUARD + header, size);
        }
        if (operation.received != null) {
            // A receive of EFA without memory never completes.
            int least = transport == TestedTransport.SRD ? 1 : 0;
            b.postReceive(
                    RECEIVE_ID, Loopback.GUARD, operation.fillsReceive() ? Math.max(least, header + size) : least);
        }
        post(a, b, size);
        if (posting.isInline()) {
            // The data was copied when it was posted.
            imageOfA.clear(Loopback.GUARD, size);
        }
        a.await(operation.sent.toString());
        a.is(SEND_ID, sentOpcode(a));
        if (operation.received != null) {
            checkReceived(b, header + size);
            imageOfB.accept(Loopback.GUARD, header);
        } else if (transport == TestedTransport.UC || transport == TestedTransport.SRD) {
            // The completion at A does not say that the data can be seen at B.
            imageOfB.await(limit);
        }
        imageOfA.check();
        imageOfB.check();
    }

    private void post(End a, End b, int size) {
        if (!posting.isByCalls()) {
            SendWorkRequest request = operation.set(a.request(SEND_ID, Loopback.GUARD, size), b, Loopback.GUARD);
            loopback.post(request.inline(posting.isInline()));
            return;
        }
        try (WorkRequestBuilder builder = loopback.start()) {
            builder.id(SEND_ID).signaled(true);
            operation.build(builder, b, Loopback.GUARD);
            loopback.toB(builder);
            if (posting.isInline()) {
                builder.inlineData(a.memory().asSlice(Loopback.GUARD, size));
            } else {
                builder.add(a.region, Loopback.GUARD, size);
            }
            builder.complete();
        }
    }

    /** The driver of EFA says of a read that it is a send. */
    private CompletionOpcode sentOpcode(End a) {
        boolean readOfEfa = transport == TestedTransport.SRD && operation == TestedOperation.RDMA_READ;
        boolean isSend = a.completions.succeeded(0) && a.completions.opcode(0) == CompletionOpcode.SEND;
        return readOfEfa && isSend ? CompletionOpcode.SEND : operation.sent;
    }

    private void checkReceived(End b, int bytes) throws CheckFailure, InterruptedException {
        b.expect(RECEIVE_ID, operation.received);
        End.equal("bytes received", bytes, b.completions.byteLength(0));
        End.equal("presence of immediate data", operation.hasImmediate(), b.completions.hasImmediate(0));
        if (operation.hasImmediate()) {
            End.equal("immediate data", TestedOperation.IMMEDIATE, b.completions.immediate(0));
        }
        if (transport.isDatagram()) {
            End.equal(
                    "source queue pair of the datagram",
                    loopback.a.queuePair.number(),
                    b.completions.sourceQueuePair(0));
        }
    }
}
