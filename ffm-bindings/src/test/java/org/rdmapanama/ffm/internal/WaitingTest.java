package org.rdmapanama.ffm.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmapanama.testing.Bound;

class WaitingTest {
    private static String nothing(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            // As a native wait does not notice it, neither does this one.
            Thread.currentThread().interrupt();
        }
        return null;
    }

    @Test
    void shouldLookOnceWithoutATimeout() throws InterruptedException {
        List<Integer> slices = new ArrayList<>();
        assertNull(Waiting.await(Duration.ZERO, millis -> {
            slices.add(millis);
            return null;
        }));
        assertEquals(List.of(0), slices);
    }

    @Test
    void shouldReturnWhatCame() throws InterruptedException {
        int[] slices = new int[1];
        assertEquals("it", Waiting.await(Duration.ofSeconds(10), millis -> ++slices[0] == 3 ? "it" : null));
        assertEquals(3, slices[0]);
    }

    @Test
    void shouldReturnNullWhenTheTimeIsOver() throws InterruptedException {
        long start = System.nanoTime();
        assertNull(Waiting.await(Duration.ofMillis(120), WaitingTest::nothing));
        Duration waited = Duration.ofNanos(System.nanoTime() - start);
        assertTrue(waited.toMillis() >= 120 && waited.toSeconds() < 10, waited::toString);
    }

    @Test
    void shouldWaitInShortSlices() throws InterruptedException {
        List<Integer> slices = new ArrayList<>();
        Waiting.await(Duration.ofDays(1_000_000_000), millis -> {
            slices.add(millis);
            return slices.size() == 5 ? "enough" : null;
        });
        assertTrue(slices.stream().allMatch(millis -> millis > 0 && millis <= 50), slices::toString);
    }

    @Test
    void shouldNotEndATimeoutEarlyForWantOfAMillisecond() throws InterruptedException {
        // Half a millisecond is waited for as a whole one, and not polled for.
        List<Integer> slices = new ArrayList<>();
        Waiting.await(Duration.ofNanos(500_000), millis -> {
            slices.add(millis);
            return nothing(millis);
        });
        assertTrue(slices.get(0) == 1 || slices.equals(List.of(0)), slices::toString);
    }

    @Test
    void shouldNoticeAnInterruptBeforeItWaits() {
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> Waiting.await(Duration.ofDays(1), millis -> null));
        assertFalse(Thread.currentThread().isInterrupted(), "the exception tells of it from here on");
    }

    @Test
    void shouldNoticeAnInterruptWhileItWaits() {
        Thread waiting = Thread.currentThread();
        Thread interrupter = new Thread(() -> {
            nothing(100);
            waiting.interrupt();
        });
        interrupter.start();
        Bound bound = Bound.usual();
        assertThrows(InterruptedException.class, () -> Waiting.await(Duration.ofDays(1), WaitingTest::nothing));
        bound.check("the interrupt did not end the wait at once");
    }

    @Test
    void shouldRefuseNegativeTimeouts() {
        assertThrows(IllegalArgumentException.class, () -> Waiting.await(Duration.ofNanos(-1), millis -> "something"));
    }

    @Test
    void shouldNotKeepTheCarrierOfAVirtualThread() throws InterruptedException {
        List<Integer> slices = new ArrayList<>();
        Thread virtual = Thread.startVirtualThread(() -> {
            try {
                Waiting.await(Duration.ofMinutes(1), millis -> {
                    slices.add(millis);
                    return slices.size() > 2 ? "seen enough" : null;
                });
            } catch (InterruptedException e) {
                slices.clear();
            }
        });
        virtual.join();
        assertTrue(slices.size() > 2 && slices.stream().allMatch(millis -> millis == 0), slices::toString);
    }
}
