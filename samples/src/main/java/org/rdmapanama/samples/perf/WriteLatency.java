package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.rdmapanama.SendWorkRequest;

/** A message by RDMA WRITE there, and one back: each side watches the last byte of its memory. */
final class WriteLatency extends LatencyLoop {
    private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();

    private final SendWorkRequest request;
    private final MemorySegment sent;
    private final MemorySegment arriving;

    WriteLatency(TestSide side, Watch watch, long size) {
        super(side, watch);
        request = side.request(0, size).signaled(true);
        sent = side.outgoing(0, size).asSlice(size - 1);
        arriving = side.incoming(0, size).asSlice(size - 1);
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
        sent.set(ValueLayout.JAVA_BYTE, 0, stamp(turn));
        side.post(0, request);
        side.await(side.sendQueue, watch, false);
    }

    private boolean awaitByte(long turn, boolean untilPeerIsDone) throws IOException, InterruptedException {
        byte expected = stamp(turn);
        while ((byte) BYTE.getAcquire(arriving, 0L) != expected) {
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
