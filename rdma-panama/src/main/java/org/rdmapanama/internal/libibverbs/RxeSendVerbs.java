package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_data_buf;
import org.rdmapanama.ffm.verbs.ibv_sge;

/**
 * The work request builder of Soft-RoCE, with workarounds for the faults that its driver had before rdma-core 64, and
 * for its differences from all others.
 */
final class RxeSendVerbs extends NativeSendVerbs {
    private static final int LISTS_WORK_SINCE = 64;
    private static final long SGE_SIZE = ibv_sge.sizeof();
    private static final long SGE_LENGTH = ibv_sge.length$offset();
    private static final long BUFFER_SIZE = ibv_data_buf.sizeof();
    private static final long BUFFER_ADDR = ibv_data_buf.addr$offset();
    private static final long BUFFER_LENGTH = ibv_data_buf.length$offset();

    /** More than the 512 bytes that the driver accepts inline at most. */
    private static final long SCRATCH_BYTES = 4096;

    /** The buffer in which inline data is assembled. Each thread has its own, which lives as long as the thread. */
    private static final ThreadLocal<MemorySegment> SCRATCH =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(SCRATCH_BYTES));

    private final boolean listsWork;

    RxeSendVerbs(int version) {
        listsWork = version >= LISTS_WORK_SINCE;
    }

    /** This driver reports a full queue with another errno than all others. */
    @Override
    public int wrComplete(long queuePair) {
        int result = super.wrComplete(queuePair);
        return result == -Errno.ENOSPC ? -Errno.ENOMEM : result;
    }

    /** It uses the first segment's length for all segments. */
    @Override
    public String faultOfSgeList(long count, long list) {
        if (listsWork) {
            return null;
        }
        for (long i = 1; i < count; i++) {
            if (lengthOf(list, i) != lengthOf(list, 0)) {
                return "the driver of rdma-core " + LISTS_WORK_SINCE
                        + ", which adds up the lengths of the segments; older"
                        + " ones need segments of equal length, and QueuePair.postSend takes any";
            }
        }
        return null;
    }

    private static int lengthOf(long list, long index) {
        return InlineVerbs.MEMORY.get(JAVA_INT, list + index * SGE_SIZE + SGE_LENGTH);
    }

    /** It does not add up the lengths of the buffers, and checks each one separately. */
    @Override
    public void wrSetInlineDataList(long queuePair, long count, long list) {
        if (listsWork) {
            super.wrSetInlineDataList(queuePair, count, list);
            return;
        }
        MemorySegment scratch = SCRATCH.get();
        long total = 0;
        for (long i = 0; i < count; i++) {
            long buffer = list + i * BUFFER_SIZE;
            long length = InlineVerbs.MEMORY.get(JAVA_LONG, buffer + BUFFER_LENGTH);
            long from = InlineVerbs.MEMORY.get(JAVA_LONG, buffer + BUFFER_ADDR);
            MemorySegment.copy(InlineVerbs.MEMORY, from, scratch, total, length);
            total += length;
        }
        wrSetInlineData(queuePair, scratch.address(), total);
    }
}
