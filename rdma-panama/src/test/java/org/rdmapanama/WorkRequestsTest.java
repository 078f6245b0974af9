package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.memory.RemoteMemory;

/** What work requests and completions check before any device sees them. */
class WorkRequestsTest {
    private final VerbsArena arena = VerbsArena.ofConfined();

    @AfterEach
    void close() {
        arena.close();
    }

    @Test
    void shouldKeepTheIdentifier() {
        assertEquals(0, SendWorkRequest.allocate(arena, 0).id());
        assertEquals(-1, SendWorkRequest.allocate(arena, 0).id(-1).id());
        assertEquals(
                Long.MIN_VALUE,
                ReceiveWorkRequest.allocate(arena, 2).id(Long.MIN_VALUE).id());
    }

    @Test
    void shouldRefuseANegativeNumberOfSegments() {
        assertThrows(IllegalArgumentException.class, () -> SendWorkRequest.allocate(arena, -1));
        assertThrows(IllegalArgumentException.class, () -> ReceiveWorkRequest.allocate(arena, -1));
    }

    @Test
    void shouldChainSends() {
        SendWorkRequest third = SendWorkRequest.allocate(arena, 0);
        SendWorkRequest second = SendWorkRequest.allocate(arena, 0).next(third);
        SendWorkRequest first = SendWorkRequest.allocate(arena, 0).next(second);
        assertSame(second, first.next());
        assertNull(third.next());
        for (SendWorkRequest ring : new SendWorkRequest[] {first, second, third}) {
            assertThrows(IllegalArgumentException.class, () -> third.next(ring));
        }
        assertNull(first.next(null).next());
    }

    @Test
    void shouldChainReceives() {
        ReceiveWorkRequest second = ReceiveWorkRequest.allocate(arena, 0);
        ReceiveWorkRequest first = ReceiveWorkRequest.allocate(arena, 0).next(second);
        assertSame(second, first.next());
        assertThrows(IllegalArgumentException.class, () -> second.next(first));
        assertThrows(IllegalArgumentException.class, () -> second.next(second));
    }

    @Test
    void shouldRefuseToChainWhatAnotherArenaFrees() {
        try (VerbsArena other = VerbsArena.ofConfined()) {
            SendWorkRequest send = SendWorkRequest.allocate(arena, 0);
            SendWorkRequest foreignSend = SendWorkRequest.allocate(other, 0);
            assertThrows(IllegalArgumentException.class, () -> send.next(foreignSend));
            assertNull(send.next());
            ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(arena, 0);
            ReceiveWorkRequest foreignReceive = ReceiveWorkRequest.allocate(other, 0);
            assertThrows(IllegalArgumentException.class, () -> receive.next(foreignReceive));
        }
    }

    @Test
    void shouldSayWhatTheyAre() {
        assertTrue(SendWorkRequest.allocate(arena, 3).id(17).toString().contains("send work request 17"));
        assertEquals(
                "send work request 0 (ATOMIC_FETCH_AND_ADD, 0 of 1 segments)",
                SendWorkRequest.allocate(arena, 1).fetchAndAdd(0, 0, 1).toString());
        assertTrue(ReceiveWorkRequest.allocate(arena, 3).id(18).toString().contains("0 of 3 segments"));
    }

    @Test
    void shouldTakeRemoteMemory() {
        RemoteMemory memory = new RemoteMemory(0x7f00_0000_1008L, 0xa3b4, 8);
        long address = memory.address();
        int rkey = memory.rkey();
        assertSameBytes(send().rdmaWrite(address, rkey), send().rdmaWrite(memory));
        assertSameBytes(send().rdmaRead(address, rkey), send().rdmaRead(memory));
        assertSameBytes(send().rdmaWriteWithImmediate(address, rkey, 5), send().rdmaWriteWithImmediate(memory, 5));
        assertSameBytes(send().fetchAndAdd(address, rkey, 6), send().fetchAndAdd(memory, 6));
        assertSameBytes(send().compareAndSwap(address, rkey, 7, 8), send().compareAndSwap(memory, 7, 8));
    }

    private SendWorkRequest send() {
        return SendWorkRequest.allocate(arena, 0);
    }

    /** Of the C structure up to the pointer to the segments, and behind their number. */
    private static void assertSameBytes(SendWorkRequest expected, SendWorkRequest found) {
        assertEquals(expected.toString(), found.toString());
        long list = ibv_send_wr.sg_list$offset();
        long count = ibv_send_wr.num_sge$offset();
        assertEquals(-1, expected.struct.asSlice(0, list).mismatch(found.struct.asSlice(0, list)));
        long rest = ibv_send_wr.sizeof() - count;
        assertEquals(-1, expected.struct.asSlice(count, rest).mismatch(found.struct.asSlice(count, rest)));
    }

    @Test
    void shouldRefuseAtomicsOnOtherThanEightAlignedBytes() {
        for (RemoteMemory memory : new RemoteMemory[] {
            new RemoteMemory(4096, 1, 7), new RemoteMemory(4100, 1, 8), new RemoteMemory(-7, 1, 7),
        }) {
            String message = assertThrows(IllegalArgumentException.class, () -> send().fetchAndAdd(memory, 1))
                    .getMessage();
            assertTrue(message.contains(memory.length() + " bytes at 0x"), message);
            assertThrows(IllegalArgumentException.class, () -> send().compareAndSwap(memory, 1, 2));
        }
        send().fetchAndAdd(new RemoteMemory(-8, 1, 8), 1);
    }

    @Test
    void shouldHaveNoCompletionsBeforeTheFirstPoll() {
        WorkCompletions completions = new WorkCompletions(arena, 4);
        assertEquals(4, completions.capacity());
        assertEquals(0, completions.count());
        assertThrows(IndexOutOfBoundsException.class, () -> completions.id(0));
        assertThrows(IndexOutOfBoundsException.class, () -> completions.status(0));
        assertThrows(IndexOutOfBoundsException.class, () -> completions.describe(-1));
        assertThrows(IllegalArgumentException.class, () -> new WorkCompletions(arena, 0));
    }

    @Test
    void shouldNotReadBehindTheLastPoll() {
        WorkCompletions completions = new WorkCompletions(arena, 4);
        completions.polled(2);
        assertEquals(CompletionStatus.SUCCESS, completions.status(1));
        assertThrows(IndexOutOfBoundsException.class, () -> completions.status(2));
        completions.polled(0);
        assertThrows(IndexOutOfBoundsException.class, () -> completions.status(0));
    }

    @Test
    void shouldExplainAFailedCompletion() {
        assertEquals("SUCCESS", WorkCompletions.explained(CompletionStatus.SUCCESS, 0));
        assertEquals(
                "REM_ACCESS_ERR (remote key does not cover the peer's memory, or does not allow the access)",
                WorkCompletions.explained(CompletionStatus.REM_ACCESS_ERR, 0));
        assertEquals(
                "RETRY_EXC_ERR (peer does not answer, and the retries are used up; vendor error 0x81)",
                WorkCompletions.explained(CompletionStatus.RETRY_EXC_ERR, 0x81));
        WorkCompletions completions = new WorkCompletions(arena, 1);
        completions.polled(1);
        assertEquals("SUCCESS on queue pair 0x000000, work request 0", completions.describe(0));
    }
}
