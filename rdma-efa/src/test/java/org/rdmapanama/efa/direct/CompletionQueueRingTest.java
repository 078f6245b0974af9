package org.rdmapanama.efa.direct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;

/** What a device may write when places, entries and numbers are used again. */
class CompletionQueueRingTest {
    private static final int ENTRIES = 4;
    private static final int NUMBER = 7;

    private final Arena arena = Arena.ofShared();
    private final PlainDevice device = new PlainDevice(arena, ENTRIES);

    @AfterEach
    void close() {
        arena.close();
    }

    private static int[] fill(IntSupplier post) {
        int[] requests = new int[ENTRIES];
        for (int i = 0; i < ENTRIES; i++) {
            requests[i] = post.getAsInt();
            assertTrue(requests[i] >= 0);
        }
        return requests;
    }

    /** The device has no room behind what is outstanding: it writes the next completion over the first one. */
    @Test
    void shouldLeaveAnEntryToTheCursorUntilItMovesOn() {
        PlainDevice.Pair pair = device.new Pair(NUMBER);
        int value = 100;
        for (int request : fill(() -> pair.receive(1))) {
            pair.completeReceive(request, value++);
        }
        PlainDevice.Cursor cursor = device.cursor();
        assertEquals(0, cursor.start());
        for (int i = 0; i < ENTRIES; i++) {
            int request = pair.receive(2);
            assertEquals(i == 0, request == -Errno.ENOMEM, "only the place of the entry that is shown is missing");
            if (request >= 0) {
                pair.completeReceive(request, 200);
            }
            assertEquals(-Errno.ENOMEM, pair.receive(3));
            assertEquals(100 + i, cursor.verbs().readByteLen(0));
            assertEquals(100 + i, cursor.verbs().readSrcQp(0));
            assertEquals(100 + i, cursor.verbs().readSlid(0));
            assertEquals(100 + i, Integer.reverseBytes(cursor.verbs().readImmData(0)));
            assertEquals(0, cursor.next());
        }
        assertEquals(200, cursor.verbs().readByteLen(0));
        cursor.end();
        // Two completions were not taken.
        assertTrue(pair.receive(4) >= 0);
        assertTrue(pair.receive(4) >= 0);
        assertEquals(-Errno.ENOMEM, pair.receive(4));
    }

    /** One thread is the device and posts, another one polls. */
    @Test
    void shouldReadACompletionBeforeItsPlaceIsFree() throws Exception {
        int messages = 30_000;
        PlainDevice single = new PlainDevice(arena, 1);
        PlainDevice.Pair pair = single.new Pair(NUMBER);
        CompletableFuture<Void> posting = Async.start(() -> {
            for (int i = 0; i < messages; i++) {
                int id = i;
                int[] request = {0};
                Bound.usual().spin("no room", () -> {
                    request[0] = pair.receive(id);
                    return request[0] >= 0;
                });
                pair.completeReceive(request[0], i);
            }
            return null;
        });
        for (int i = 0; i < messages; i++) {
            Bound.usual().spin("a completion is missing", () -> single.poll() == 1);
            int value = i & 0x7fff;
            assertEquals(i, single.id());
            assertEquals(value, single.source());
            assertEquals(value, single.bytes());
            assertEquals(value, single.immediate());
        }
        Async.get(posting);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldRefuseACompletionThatComesTwice(boolean byCursor) {
        PlainDevice.Pair pair = device.new Pair(NUMBER);
        PlainDevice.Cursor cursor = device.cursor();
        int first = pair.send(1);
        pair.completeSend(first);
        pair.completeSend(first);
        if (byCursor) {
            assertEquals(0, cursor.start());
            assertEquals(-Errno.EINVAL, cursor.next());
        } else {
            assertEquals(1, device.poll());
            assertEquals(-Errno.EINVAL, device.poll());
        }
        // All places are there, once, and still none when the first one is taken again.
        int[] requests = fill(() -> pair.send(2));
        assertEquals(-Errno.ENOMEM, pair.send(3));
        assertEquals(ENTRIES, Arrays.stream(requests).distinct().count());
        pair.completeSend(first);
        assertEquals(-Errno.EINVAL, byCursor ? cursor.start() : device.poll());
        for (int request : requests) {
            pair.completeSend(request);
            assertEquals(1, device.poll());
            assertEquals(2, device.id());
        }
    }

    /** A program asks for an event, and polls once more before it sleeps. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldLeaveARequestForAnEventAloneWhenItOnlySkips(boolean byCursor) {
        PlainDevice.Pair pair = device.new Pair(NUMBER);
        PlainDevice.Pair closed = device.new Pair(NUMBER + 1);
        pair.completeSend(pair.send(1));
        closed.completeSend(closed.send(2));
        closed.rings.cleared(true);
        assertEquals(1, device.poll());
        assertFalse(device.isArmed());
        assertEquals(0, device.completions.requestNotification(0, false));
        if (byCursor) {
            assertEquals(-Errno.ENOENT, device.cursor().start());
        } else {
            assertEquals(0, device.poll());
        }
        assertTrue(device.isArmed());
    }

    @Test
    void shouldRefuseACompletionOfWhatWasNotAnnounced() {
        PlainDevice.Pair pair = device.new Pair(NUMBER);
        int first = pair.send(1);
        pair.completeSend(first ^ 1);
        assertEquals(-Errno.EINVAL, device.poll());
        pair.completeSend(first);
        assertEquals(1, device.poll());
        fill(() -> pair.send(2));
        assertEquals(-Errno.ENOMEM, pair.send(3));
    }

    /** The device gives the number of a queue pair away while that is still being destroyed. */
    @Test
    void shouldKeepTheCompletionsOfANewQueuePairWithTheSameNumber() {
        PlainDevice.Pair old = device.new Pair(NUMBER);
        old.completeSend(old.send(1));
        PlainDevice.Pair next = device.new Pair(NUMBER);
        next.completeSend(next.send(2));
        old.rings.cleared(true);
        next.completeSend(next.send(3));
        assertEquals(1, device.poll());
        assertEquals(2, device.id());
        assertEquals(1, device.poll());
        assertEquals(3, device.id());
        assertEquals(0, device.poll());
    }

    /** A device that writes after it has said that a queue pair is destroyed. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTakeNoCompletionOfAnEarlierQueuePairForThatOfANewOne(boolean late) {
        // With so many work requests one bit is left.
        int entries = 0x8000;
        PlainDevice large = new PlainDevice(arena, entries);
        PlainDevice.Pair old = large.new Pair(NUMBER);
        int send = old.send(1);
        int receive = old.receive(1);
        old.rings.cleared(true);
        if (!late) {
            old.completeSend(send);
            old.completeReceive(receive, 1);
        }
        large.new Pair(NUMBER + 1);
        PlainDevice.Pair next = large.new Pair(NUMBER);
        int nextSend = next.send(2);
        int nextReceive = next.receive(3);
        if (late) {
            old.completeSend(send);
            assertEquals(-Errno.EINVAL, large.poll());
            old.completeReceive(receive, 1);
            assertEquals(-Errno.EINVAL, large.poll());
        }
        next.completeSend(nextSend);
        next.completeReceive(nextReceive, 1);
        assertEquals(1, large.poll());
        assertEquals(2, large.id());
        assertEquals(1, large.poll());
        assertEquals(3, large.id());
        assertEquals(0, large.poll());
    }

    @Test
    void shouldTakeNoCompletionOfBeforeAReset() {
        PlainDevice large = new PlainDevice(arena, 0x8000);
        PlainDevice.Pair pair = large.new Pair(NUMBER);
        int before = pair.send(1);
        pair.reset();
        int after = pair.send(2);
        pair.completeSend(before);
        assertEquals(-Errno.EINVAL, large.poll());
        pair.completeSend(after);
        assertEquals(1, large.poll());
        assertEquals(2, large.id());
    }

    /** A program should not reset a queue pair while it reads; if it does, its completion has no place any more. */
    @Test
    void shouldSurviveAResetWhileACursorShowsACompletion() {
        PlainDevice.Pair pair = device.new Pair(NUMBER);
        pair.completeSend(pair.send(1));
        PlainDevice.Cursor cursor = device.cursor();
        assertEquals(0, cursor.start());
        pair.resetUnderLock();
        cursor.end();
        int[] requests = fill(() -> pair.send(2));
        assertEquals(-Errno.ENOMEM, pair.send(3));
        assertEquals(ENTRIES, Arrays.stream(requests).distinct().count());
    }

    /** The completions of a queue pair that is gone fill the ring, and nobody polls until the device has filled it again. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldMakeRoomWhenAQueuePairIsClosedOrReset(boolean destroyed) {
        PlainDevice.Pair old = device.new Pair(NUMBER);
        for (int request : fill(() -> old.send(1))) {
            old.completeSend(request);
        }
        old.rings.cleared(destroyed);
        PlainDevice.Pair next = device.new Pair(NUMBER + 1);
        for (int request : fill(() -> next.send(2))) {
            next.completeSend(request);
        }
        for (int i = 0; i < ENTRIES; i++) {
            assertEquals(1, device.poll());
            assertEquals(2, device.id());
        }
        assertEquals(0, device.poll());
    }

    @Test
    void shouldSkipWhatIsBehindOtherCompletions() {
        PlainDevice.Pair closed = device.new Pair(NUMBER);
        PlainDevice.Pair open = device.new Pair(NUMBER + 1);
        closed.completeSend(closed.send(1));
        open.completeSend(open.send(2));
        closed.completeSend(closed.send(3));
        open.completeSend(open.send(4));
        closed.rings.cleared(true);
        closed.completeSend(0);
        assertEquals(1, device.poll());
        assertEquals(2, device.id());
        assertEquals(1, device.poll());
        assertEquals(4, device.id());
        assertFalse(device.poll() > 0, "a completion that came late");
    }
}
