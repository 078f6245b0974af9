package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import org.rdmapanama.SendWorkRequest;

/** A message by RDMA WRITE there, and one back: each side watches the last byte of its memory. */
final class WriteLatency extends LatencyLoop {
    private final SendWorkRequest request;

    // As buffers, because a compiler that inlines little reads one byte of them several times faster.
    private final ByteBuffer sent;
    private final ByteBuffer arriving;

    WriteLatency(TestSide side, TestSettings settings, Watch watch, long size) {
        super(side, settings, watch);
        request = side.request(0, size).signaled(true);
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
        side.post(0, request);
        side.await(side.sendQueue, watch, false);
    }

    private boolean awaitByte(long turn, boolean untilPeerIsDone) throws IOException, InterruptedException {
        byte expected = stamp(turn);
        while (arriving.get(0) != expected) {
            // So that it is read anew.
            VarHandle.acquireFence();
            if (untilPeerIsDone && watch.isPeerDone()) {
                return false;
            }
            watch.idle();
        }
        return true;
    }

    /** Different from that of the turn before, and from the zero that is there at first. */
    private static byte stamp(long turn) {
        return (byte) (turn + 1);
    }
}
