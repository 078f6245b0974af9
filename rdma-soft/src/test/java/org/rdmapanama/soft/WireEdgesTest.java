package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.FillPattern;

/** What a reliable connection by packets does at its edges: many reads at once, the order of answers, ends. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WireEdgesTest {
    private static final int HALF = SoftPair.BYTES / 2;
    private static final Duration LONG = Duration.ofSeconds(10);

    private static ConnectOptions options() {
        return new ConnectOptions().timeout(10).retryCount(7).minRnrTimer(1).rnrRetry(7);
    }

    /** Reads longer than what may be under way at once, and several at a time. */
    @ParameterizedTest
    @CsvSource({
        "'', 1, 500000",
        "'loss=0.01,seed=1', 1, 262144",
        "'loss=0.05,seed=2', 1, 262144",
        "'reorder=0.01,seed=3', 1, 262144",
        "'loss=0.01,seed=4', 8, 49152",
        "'loss=0.05,seed=5', 8, 8192",
        "'reorder=0.01,seed=6', 8, 49152",
        "'duplicate=0.05,seed=7', 8, 49152",
        "'loss=0.02,duplicate=0.02,reorder=0.02,corrupt=0.02,seed=8', 4, 100000"
    })
    void shouldReadLongMessagesSideBySide(String faults, int count, int length) {
        String[] settings = faults.isEmpty() ? new String[] {"wire", "true"} : new String[] {"faults", faults};
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options().maxReadAtomic(8), settings)) {
            MemorySegment source = pair.memory.asSlice(0, HALF);
            MemorySegment target = pair.memory.asSlice(HALF, HALF);
            SendWorkRequest request = pair.request();
            for (int round = 0; round < 10; round++) {
                FillPattern.fill(source, round);
                target.fill((byte) 0);
                for (int i = 0; i < count; i++) {
                    long at = (long) i * length;
                    request.clear()
                            .signaled(true)
                            .id(i)
                            .rdmaRead(source.address() + at, pair.region.rkey())
                            .add(pair.region, HALF + at, length);
                    pair.a.postSend(request);
                }
                for (int i = 0; i < count; i++) {
                    WorkCompletions wc = pair.next();
                    assertEquals(CompletionStatus.SUCCESS, wc.status(0));
                    assertEquals(i, wc.id(0));
                }
                long all = (long) count * length;
                assertEquals(-1, source.asSlice(0, all).mismatch(target.asSlice(0, all)));
                assertEquals(0, all == HALF ? 0 : target.get(JAVA_BYTE, all), "behind the last");
            }
        }
    }

    /** What was delivered was delivered, though the receiver is gone before it said so. */
    @RepeatedTest(20)
    void shouldAcknowledgeBeforeTheEnd() {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options(), "wire", "true")) {
            ReceiveWorkRequest receive =
                    ReceiveWorkRequest.allocate(pair.arena, 1).add(pair.region, HALF, 100);
            pair.b.postReceive(receive.id(2));
            SendWorkRequest send = pair.request().id(1).send().add(pair.region, 0, 100);
            pair.a.postSend(send);
            boolean sent = pair.next().id(0) == 1;
            pair.b.close();
            if (!sent) {
                assertEquals(CompletionStatus.SUCCESS, pair.next().status(0));
            }
        }
    }

    /** A refusal comes behind the answers to what was asked before. */
    @Test
    void shouldAnswerBeforeItRefuses() {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options(), "wire", "true")) {
            FillPattern.fill(pair.memory.asSlice(0, 100_000), 1);
            SendWorkRequest read = pair.request()
                    .id(1)
                    .rdmaRead(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, HALF, 100_000);
            SendWorkRequest write = pair.request()
                    .id(2)
                    .rdmaWrite(pair.memory.address(), pair.region.rkey() ^ 0x5500)
                    .add(pair.region, 0, 8);
            pair.a.postSend(read);
            pair.a.postSend(write);
            assertEquals(CompletionStatus.SUCCESS, pair.next().status(0));
            assertEquals(-1, pair.memory.asSlice(0, 100_000).mismatch(pair.memory.asSlice(HALF, 100_000)));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.next().status(0));
        }
    }

    /** The answer to an atomic says nothing of what comes behind it. */
    @Test
    void shouldAcknowledgeWhatComesBehindAnAtomic() {
        ConnectOptions patient =
                new ConnectOptions().timeout(0).maxReadAtomic(8).minRnrTimer(1).rnrRetry(7);
        try (SoftPair pair = new SoftPair(QueuePairType.RC, patient, "wire", "true")) {
            SendWorkRequest read = pair.request()
                    .rdmaRead(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, HALF, 400_000);
            SendWorkRequest add = pair.request()
                    .fetchAndAdd(pair.memory.address(), pair.region.rkey(), 3)
                    .add(pair.region, HALF, Long.BYTES);
            SendWorkRequest write = pair.request()
                    .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                    .add(pair.region, 0, 8);
            for (int round = 0; round < 20; round++) {
                pair.a.postSend(read.id(1));
                pair.a.postSend(add.id(2));
                pair.a.postSend(write.id(3));
                for (int id = 1; id <= 3; id++) {
                    WorkCompletions wc = pair.next();
                    assertEquals(CompletionStatus.SUCCESS, wc.status(0));
                    assertEquals(id, wc.id(0));
                }
            }
        }
    }

    /** What stands behind a work request that fails here does not happen. */
    @Test
    void shouldNotGoOnBehindAFailure() {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options(), "wire", "true")) {
            MemoryRegion readOnly = pair.domain.register(pair.arena.allocate(4096, 4096));
            pair.memory.set(JAVA_BYTE, 0, (byte) 7);
            SendWorkRequest first = pair.request()
                    .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                    .add(pair.region, 0, 50_000);
            SendWorkRequest second = pair.request()
                    .rdmaRead(pair.memory.address(), pair.region.rkey())
                    .add(readOnly, 0, 8);
            SendWorkRequest third = pair.request()
                    .rdmaWrite(pair.memory.address() + HALF + 100_000, pair.region.rkey())
                    .add(pair.region, 0, 8);
            pair.a.postSend(first);
            pair.a.postSend(second);
            pair.a.postSend(third);
            assertEquals(CompletionStatus.SUCCESS, pair.next().status(0));
            assertEquals(CompletionStatus.LOC_PROT_ERR, pair.next().status(0));
            assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.next().status(0));
            assertEquals(7, pair.memory.get(JAVA_BYTE, HALF));
            assertEquals(0, pair.memory.get(JAVA_BYTE, HALF + 100_000));
        }
    }

    /** Draining finishes what has begun, lost packets or not, and tells when that is done. */
    @ParameterizedTest
    @CsvSource({"wire, true", "faults, 'loss=0.05,seed=31'"})
    void shouldDrainWhatHasBegun(String setting, String value) throws InterruptedException {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options(), setting, value)) {
            FillPattern.fill(pair.memory.asSlice(0, 400_000), 3);
            SendWorkRequest write = pair.request()
                    .id(1)
                    .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                    .add(pair.region, 0, 400_000);
            pair.a.postSend(write);
            pair.a.modify(new QueuePairAttributes().state(QueuePairState.SQD).notifyWhenDrained(true));
            pair.a.postSend(write.id(2));
            Optional<AsyncEvent> event = pair.context.awaitAsyncEvent(LONG);
            assertEquals(AsyncEventType.SQ_DRAINED, event.orElseThrow().type());
            assertEquals(1, pair.next().id(0), "told when it was over");
            assertEquals(-1, pair.memory.asSlice(0, 400_000).mismatch(pair.memory.asSlice(HALF, 400_000)));
            assertEquals(Optional.empty(), pair.context.awaitAsyncEvent(Duration.ofMillis(100)));
            pair.a.modify(new QueuePairAttributes().state(QueuePairState.RTS));
            assertEquals(2, pair.next().id(0));
        }
    }

    /** A long message without acknowledgements leaves the device to others in between. */
    @Test
    void shouldSendUnreliableMessagesInTurns() {
        try (SoftPair pair = new SoftPair(QueuePairType.UC, options(), "wire", "true")) {
            SendWorkRequest write = pair.request()
                    .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                    .add(pair.region, 0, 400_000);
            pair.complete(write);
        }
    }

    /** Memory of a file that becomes shorter is gone: that queue pair fails, and no other. */
    @Test
    void shouldOutliveMemoryThatIsGone(@TempDir Path folder) throws IOException, InterruptedException {
        Path file = folder.resolve("mapped");
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options(), "wire", "true");
                SoftPair other = new SoftPair(QueuePairType.RC, options(), "wire", "true");
                FileChannel channel = FileChannel.open(
                        file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            channel.truncate(0);
            MemorySegment mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, 1 << 16, pair.arena);
            MemoryRegion region = pair.domain.register(
                    mapped, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
            channel.truncate(0);
            SendWorkRequest read =
                    pair.request().rdmaRead(mapped.address(), region.rkey()).add(pair.region, 0, 4096);
            pair.a.postSend(read);
            assertTrue(pair.next().status(0) != CompletionStatus.SUCCESS);
            AsyncEvent event = pair.context.awaitAsyncEvent(LONG).orElseThrow();
            assertEquals(AsyncEventType.QP_FATAL, event.type());
            assertEquals(pair.b, event.source());
            SendWorkRequest write = other.request()
                    .rdmaWrite(other.memory.address() + HALF, other.region.rkey())
                    .add(other.region, 0, 4096);
            other.complete(write);
        }
    }
}
