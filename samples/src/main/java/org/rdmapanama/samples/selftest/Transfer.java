package org.rdmapanama.samples.selftest;

import java.time.Duration;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.queue.QueuePairType;

/** Moves one message between A and B, and checks the completions and every byte at both ends. */
final class Transfer {
    private static final long SEND_ID = 0x1234_5678_9abc_def0L;
    private static final long RECEIVE_ID = 0xfedc_ba98_7654_3210L;

    private final Loopback loopback;
    private final QueuePairType type;
    private final TestedOperation operation;
    private final boolean inline;
    private final Duration limit;

    Transfer(Loopback loopback, QueuePairType type, TestedOperation operation, boolean inline, Duration limit) {
        this.loopback = loopback;
        this.type = type;
        this.operation = operation;
        this.inline = inline;
        this.limit = limit;
    }

    void run(int size) throws CheckFailure, InterruptedException {
        End a = loopback.a;
        End b = loopback.b;
        int header = type == QueuePairType.UD ? AddressHandle.GRH_BYTES : 0;
        long length = 2L * Loopback.GUARD + header + size;
        Image imageOfA = new Image(a, length, size);
        Image imageOfB = new Image(b, length, ~size);
        if (operation == TestedOperation.RDMA_READ) {
            imageOfA.expect(imageOfB, Loopback.GUARD, Loopback.GUARD, size);
        } else {
            imageOfB.expect(imageOfA, Loopback.GUARD, Loopback.GUARD + header, size);
        }
        if (operation.received != null) {
            b.postReceive(RECEIVE_ID, Loopback.GUARD, operation.fillsReceive() ? header + size : 0);
        }
        post(a, b, size);
        if (inline) {
            // The data was copied when it was posted.
            imageOfA.clear(Loopback.GUARD, size);
        }
        a.expect(SEND_ID, operation.sent);
        if (operation.received != null) {
            checkReceived(b, header + size);
            imageOfB.accept(Loopback.GUARD, header);
        } else if (type == QueuePairType.UC) {
            imageOfB.await(limit);
        }
        imageOfA.check();
        imageOfB.check();
    }

    private void post(End a, End b, int size) {
        SendWorkRequest request = operation.set(a.request(SEND_ID, Loopback.GUARD, size), b, Loopback.GUARD);
        request.inline(inline);
        a.post(type == QueuePairType.UD ? loopback.toB(request) : request);
    }

    private void checkReceived(End b, int bytes) throws CheckFailure, InterruptedException {
        b.expect(RECEIVE_ID, operation.received);
        End.equal("bytes received", bytes, b.completions.byteLength(0));
        End.equal("presence of immediate data", operation.hasImmediate(), b.completions.hasImmediate(0));
        if (operation.hasImmediate()) {
            End.equal("immediate data", TestedOperation.IMMEDIATE, b.completions.immediate(0));
        }
        if (type == QueuePairType.UD) {
            End.equal(
                    "source queue pair of the datagram",
                    loopback.a.queuePair.number(),
                    b.completions.sourceQueuePair(0));
        }
    }
}
