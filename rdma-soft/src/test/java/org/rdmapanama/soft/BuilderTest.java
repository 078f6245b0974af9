package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.provider.SendVerbs;
import org.rdmapanama.queue.QueuePairType;

/** The builder of work requests with a caller that does not look after what it says. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BuilderTest {
    private static final int HALF = SoftPair.BYTES / 2;

    // Made in the thread of the test.
    private SoftPair pair;
    private SendVerbs verbs;
    private long address;

    private SoftPair start(QueuePairType type) {
        pair = new SoftPair(QueuePairType.RC, new ConnectOptions().timeout(10));
        verbs = new SoftSendVerbs(device());
        QueuePair loop = pair.domain.createQueuePair(new QueuePairOptions(type, pair.queue, pair.queue)
                .maxSegments(1, 1)
                .maxInlineData(16)
                .signalAll(true));
        if (type == QueuePairType.UD) {
            loop.activate();
        } else {
            loop.connect(loop.localEndpoint());
        }
        address = loop.nativeAddress();
        verbs.wrStart(address);
        return pair;
    }

    private SoftDevice device() {
        return SoftDevice.contextAt(pair.context.nativeAddress()).device();
    }

    @Test
    void shouldRefuseAReadOfInlineData() {
        try (SoftPair open = start(QueuePairType.RC)) {
            verbs.wrRdmaRead(address, open.region.rkey(), open.memory.address());
            verbs.wrSetInlineData(address, open.memory.address(), 8);
            assertEquals(-Errno.EINVAL, verbs.wrComplete(address));
        }
    }

    @Test
    void shouldTakeSegmentsInPlaceOfInlineData() {
        try (SoftPair open = start(QueuePairType.RC)) {
            open.memory.asSlice(HALF, 4096).fill((byte) 7);
            verbs.wrRdmaWrite(address, open.region.rkey(), open.memory.address());
            verbs.wrSetInlineData(address, open.memory.address() + 8192, 8);
            verbs.wrSetSge(address, open.region.lkey(), open.memory.address() + HALF, 4096);
            assertEquals(0, verbs.wrComplete(address));
            assertEquals(CompletionStatus.SUCCESS, open.next().status(0));
            assertEquals(-1, open.memory.asSlice(0, 4096).mismatch(open.memory.asSlice(HALF, 4096)));
        }
    }

    @Test
    void shouldRefuseCountsBelowZero() {
        try (SoftPair open = start(QueuePairType.RC)) {
            verbs.wrSend(address);
            verbs.wrSetSgeList(address, -1, open.memory.address());
            assertEquals(-Errno.EINVAL, verbs.wrComplete(address));
            verbs.wrStart(address);
            verbs.wrSend(address);
            verbs.wrSetInlineData(address, open.memory.address(), -8);
            assertEquals(-Errno.EINVAL, verbs.wrComplete(address));
        }
    }

    @Test
    void shouldNotGoOnForEverBehindTheLastSegment() {
        try (SoftPair open = start(QueuePairType.RC)) {
            MemorySegment list = open.arena.allocate(SendQueue.SGE_BYTES, 8);
            list.set(JAVA_LONG, ScatterGatherCursor.ADDRESS, open.memory.address());
            list.set(JAVA_INT, ScatterGatherCursor.LENGTH, 8);
            list.set(JAVA_INT, ScatterGatherCursor.KEY, open.region.lkey());
            ScatterGatherCursor segments = new ScatterGatherCursor(device());
            segments.start(list.address(), 1, 0);
            assertThrows(IndexOutOfBoundsException.class, () -> segments.write(open.memory.address() + HALF, 9));
        }
    }

    @Test
    void shouldNotSendByTheHandleOfAnotherDomain() {
        try (SoftPair open = start(QueuePairType.UD)) {
            AddressVector vector =
                    AddressVector.toGid(1, 0, open.a.localEndpoint().gid());
            AddressHandle handle = open.context.allocateProtectionDomain().createAddressHandle(vector);
            verbs.wrSend(address);
            verbs.wrSetUdAddr(address, handle.nativeAddress(), 5, 5);
            assertEquals(0, verbs.wrComplete(address));
            assertEquals(CompletionStatus.LOC_QP_OP_ERR, open.next().status(0));
        }
    }
}
