package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.verbs.ibv_mw_bind_info;
import org.rdmapanama.internal.NetworkOrder;
import org.rdmapanama.internal.provider.SendVerbs;
import org.rdmapanama.queue.SendOperation;

/**
 * The operation of the work request that a {@link WorkRequestBuilder} constructs, if it is a rare one: its arguments and
 * the call of the driver. The remote address and key, which frequent operations have as well, stay in the builder.
 */
final class RareOperation {
    private final SendVerbs verbs;

    /** The struct ibv_qp_ex. */
    private final long extended;

    /** A copy of the headers, or the struct ibv_mw_bind_info, or the value of an atomic write. */
    private final MemorySegment memory;

    /** In network byte order. */
    private int immediate;

    private long expected;
    private long desired;
    private long delta;
    private long flushLength;
    private byte flushTypes;
    private byte flushLevel;
    private short headerLength;
    private short maxSegmentSize;
    private long windowAddress;

    RareOperation(ExtendedQueuePair queuePair, SendVerbs verbs, long extended, int maxTsoHeader) {
        this.verbs = verbs;
        this.extended = extended;
        memory = queuePair.allocate(Math.max(ibv_mw_bind_info.sizeof(), maxTsoHeader), Long.BYTES);
    }

    void withImmediate(int value) {
        immediate = NetworkOrder.convert(value);
    }

    void compareAndSwap(long expectedValue, long desiredValue) {
        expected = expectedValue;
        desired = desiredValue;
    }

    void fetchAndAdd(long added) {
        delta = added;
    }

    void atomicWrite(long value) {
        memory.set(JAVA_LONG, 0, value);
    }

    void flush(long length, int types, int level) {
        flushLength = length;
        flushTypes = (byte) types;
        flushLevel = (byte) level;
    }

    void tso(MemorySegment headers, int segmentSize) {
        MemorySegment.copy(headers, 0, memory, 0, headers.byteSize());
        headerLength = (short) headers.byteSize();
        maxSegmentSize = (short) segmentSize;
    }

    void bindMemoryWindow(MemoryWindow window, MemoryWindowBinding binding) {
        windowAddress = window.address;
        binding.write(memory, 0);
    }

    void emit(SendOperation operation, int rkey, long remoteAddress) {
        switch (operation) {
            case SEND, RDMA_READ, RDMA_WRITE -> throw new AssertionError(operation);
            case SEND_WITH_IMM -> verbs.wrSendImm(extended, immediate);
            case SEND_WITH_INV -> verbs.wrSendInv(extended, rkey);
            case TSO -> verbs.wrSendTso(extended, memory.address(), headerLength, maxSegmentSize);
            case RDMA_WRITE_WITH_IMM -> verbs.wrRdmaWriteImm(extended, rkey, remoteAddress, immediate);
            case ATOMIC_CMP_AND_SWP -> verbs.wrAtomicCmpSwp(extended, rkey, remoteAddress, expected, desired);
            case ATOMIC_FETCH_AND_ADD -> verbs.wrAtomicFetchAdd(extended, rkey, remoteAddress, delta);
            case ATOMIC_WRITE -> verbs.wrAtomicWrite(extended, rkey, remoteAddress, memory.address());
            case FLUSH -> verbs.wrFlush(extended, rkey, remoteAddress, flushLength, flushTypes, flushLevel);
            case BIND_MW -> verbs.wrBindMw(extended, windowAddress, rkey, memory.address());
            case LOCAL_INV -> verbs.wrLocalInv(extended, rkey);
        }
    }
}
