package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;

/** Measures a message by RDMA WRITE, and one back: each side polls the last byte of its memory. */
final class WriteLatency extends LatencyLoop {
    private final Message message;

    // Buffers, because a compiler that inlines little reads a byte of a buffer several times faster.
    private final ByteBuffer sent;
    private final ByteBuffer arriving;

    WriteLatency(TestSide side, TestSettings settings, Watch watch, long size) {
        super(side, settings, watch);
        message = side.message(0, size, true);
        sent = side.outgoing(0, size).asSlice(size - 1).asByteBuffer();
        arriving = side.incoming(0, size).asSlice(size - 1).asByteBuffer();
    }

    @Override
    void ping(long turn) throws IOException, InterruptedException {
        write(turn);
        awaitByte(turn, false);
    }

    @Override
    boolean pong(long turn) throws IOException, InterruptedException {
        if (!awaitByte(turn, isTimed())) {
            return false;
        }
        write(turn);
        return true;
    }

    private void write(long turn) throws IOException, InterruptedException {
        sent.put(0, stamp(turn));
        message.post(0);
        side.await(side.sendQueue, watch, false);
    }

    private boolean awaitByte(long turn, boolean untilPeerIsDone) throws IOException, InterruptedException {
        byte expected = stamp(turn);
        while (arriving.get(0) != expected) {
            // Forces the byte to be read again.
            VarHandle.acquireFence();
            if (untilPeerIsDone && watch.isPeerDone()) {
                return false;
            }
            watch.idle();
        }
        return true;
    }

    /** Returns a byte that differs from that of the previous turn, and from the initial zero. */
    private static byte stamp(long turn) {
        return (byte) (turn + 1);
    }
}
