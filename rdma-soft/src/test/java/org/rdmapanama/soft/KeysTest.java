package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.MemoryWindow;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairType;

/** Many keys, queue pair numbers and PSNs do not tell a stranger the others. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class KeysTest {
    private static final int COUNT = 1000;
    private static final int BITS_24 = 24;

    @Test
    void shouldGiveRegionsKeysThatNobodyCanPredict() {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions())) {
            int[] keys = new int[COUNT];
            for (int i = 0; i < COUNT; i++) {
                MemoryRegion region = pair.domain.register(pair.memory, AccessFlag.REMOTE_READ);
                assertEquals(region.lkey(), region.rkey());
                keys[i] = region.rkey();
            }
            Unpredictable.check(Integer.SIZE, keys);
        }
    }

    @Test
    void shouldGiveWindowsKeysThatNobodyCanPredict() {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions())) {
            int[] keys = new int[COUNT];
            for (int i = 0; i < COUNT; i++) {
                keys[i] = pair.domain
                        .allocateMemoryWindow(i % 2 == 0 ? MemoryWindowType.TYPE_1 : MemoryWindowType.TYPE_2)
                        .rkey();
            }
            Unpredictable.check(Integer.SIZE, keys);
        }
    }

    @Test
    void shouldGiveQueuePairsNumbersThatNobodyCanPredict() {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions())) {
            int[] numbers = new int[COUNT];
            int[] first = new int[COUNT];
            for (int i = 0; i < COUNT; i++) {
                QueuePair each =
                        pair.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.queue, pair.queue));
                numbers[i] = each.number();
                first[i] = each.localEndpoint().packetSequenceNumber();
            }
            Unpredictable.check(BITS_24, numbers);
            Unpredictable.check(BITS_24, first);
        }
    }

    /** As soon as a region or a window is gone, its key is nobody's, and not the next one's. */
    @Test
    void shouldNotReachTheNextRegionByTheKeyOfTheLastOne() {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true")) {
            SoftDevice device =
                    SoftDevice.contextAt(pair.context.nativeAddress()).device();
            Set<Integer> gone = new HashSet<>();
            for (int i = 0; i < COUNT; i++) {
                MemorySegment memory = pair.memory;
                MemoryRegion region = pair.domain.register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
                MemoryWindow window = pair.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
                gone.remove(region.rkey());
                gone.remove(window.rkey());
                for (int each : gone) {
                    assertNull(device.keys.get(each));
                }
                gone.add(region.rkey());
                gone.add(window.rkey());
                region.close();
                window.close();
            }
            pair.domain.register(pair.memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
            SendWorkRequest write = pair.request()
                    .rdmaWrite(pair.memory.address(), gone.iterator().next())
                    .add(pair.region, 0, Long.BYTES);
            pair.a.postSend(write);
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.next().status(0));
        }
    }
}
