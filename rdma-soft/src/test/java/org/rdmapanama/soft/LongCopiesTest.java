package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.FillPattern;

/** Messages between two queue pairs of one process that are longer than what is copied at once. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LongCopiesTest {
    private static final long PART = LocalRequester.BYTES_PER_TURN;
    private static final long LONG = 3 * PART + 5;
    private static final long BEHIND = 64;
    private static final int TRIES = 30;
    private static final int IMMEDIATE = 0x1234_5678;

    private static MemoryRegion region(SoftPair pair, long bytes) {
        return pair.domain.register(
                pair.arena.allocate(bytes, 4096),
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_READ);
    }

    @ParameterizedTest
    @CsvSource({
        "RC, write",
        "RC, writeImm",
        "RC, read",
        "RC, send",
        "RC, sendImm",
        "UC, write",
        "UC, writeImm",
        "UC, send",
    })
    void shouldArriveWhole(QueuePairType type, String kind) {
        try (SoftPair pair = new SoftPair(type, new ConnectOptions())) {
            MemoryRegion source = region(pair, LONG);
            MemoryRegion target = region(pair, LONG + BEHIND);
            FillPattern.fill(source.memory(), 0);
            boolean receives = kind.startsWith("send") || kind.endsWith("Imm");
            if (receives) {
                // In two pieces, neither of which ends where a part does.
                pair.b.postReceive(ReceiveWorkRequest.allocate(pair.arena, 2)
                        .id(2)
                        .add(target, 0, PART + 3)
                        .add(target, PART + 3, LONG - PART - 3));
            }
            SendWorkRequest request = pair.request().id(1);
            boolean read = kind.equals("read");
            MemoryRegion here = read ? target : source;
            long there = read ? source.address() : target.address();
            switch (kind) {
                case "write" -> request.rdmaWrite(there, target.rkey());
                case "writeImm" -> request.rdmaWriteWithImmediate(there, target.rkey(), IMMEDIATE);
                case "read" -> request.rdmaRead(there, source.rkey());
                case "send" -> request.send();
                default -> request.sendWithImmediate(IMMEDIATE);
            }
            request.add(here, 0, 2 * PART - 1).add(here, 2 * PART - 1, LONG - 2 * PART + 1);
            pair.a.postSend(request);
            Set<Long> ids = new HashSet<>();
            for (int i = receives ? 2 : 1; i > 0; i--) {
                WorkCompletions wc = pair.next();
                assertEquals(CompletionStatus.SUCCESS, wc.status(0));
                ids.add(wc.id(0));
                if (wc.id(0) == 2) {
                    assertEquals(LONG, wc.byteLength(0));
                }
            }
            assertEquals(receives ? Set.of(1L, 2L) : Set.of(1L), ids);
            assertEquals(-1, source.memory().mismatch(target.memory().asSlice(0, LONG)));
            for (long i = LONG; i < LONG + BEHIND; i++) {
                assertEquals(0, target.memory().get(JAVA_BYTE, i), "behind it");
            }
        }
    }

    /** A short message of another queue pair need not wait until a long one is copied. */
    @Test
    void shouldLetOthersHaveTheirTurn() {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions())) {
            long bytes = 128 * PART;
            MemoryRegion source = region(pair, bytes);
            MemoryRegion target = region(pair, bytes);
            QueuePair other = pair.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.queue));
            other.connect(other.localEndpoint());
            SendWorkRequest longOne = pair.request()
                    .id(1)
                    .rdmaWrite(target.address(), target.rkey())
                    .add(source, 0, bytes);
            SendWorkRequest shortOne = pair.request()
                    .id(2)
                    .rdmaWrite(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, 64, 8);
            boolean overtaken = false;
            // This thread may well lose its processor between the two.
            for (int i = 0; i < TRIES && !overtaken; i++) {
                pair.a.postSend(longOne);
                other.postSend(shortOne);
                overtaken = pair.next().id(0) == 2;
                assertEquals(CompletionStatus.SUCCESS, pair.next().status(0));
            }
            assertTrue(overtaken);
        }
    }

    /** Once it is deregistered, nothing is written there, though a message was on its way. */
    @ParameterizedTest
    @ValueSource(strings = {"write", "send"})
    void shouldEndWhereMemoryIsTakenAway(String kind) {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions())) {
            long bytes = 64 * PART;
            MemoryRegion source = region(pair, bytes);
            MemoryRegion target = region(pair, bytes);
            source.memory().fill((byte) 1);
            SendWorkRequest request = pair.request().id(1).add(source, 0, bytes);
            if (kind.equals("send")) {
                pair.b.postReceive(
                        ReceiveWorkRequest.allocate(pair.arena, 1).id(2).add(target, 0, bytes));
                request.send();
            } else {
                request.rdmaWrite(target.address(), target.rkey());
            }
            MemorySegment memory = target.memory();
            pair.a.postSend(request);
            target.close();
            memory.fill((byte) 2);
            CompletionStatus status = CompletionStatus.SUCCESS;
            for (long id = 0; id != 1; ) {
                WorkCompletions wc = pair.next();
                id = wc.id(0);
                status = wc.status(0);
            }
            for (long i = 0; i < bytes; i += 64) {
                assertEquals(2, memory.get(JAVA_BYTE, i), "after " + status);
            }
        }
    }
}
