package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.samples.learn.Contest.Way;

/** How lesson 15 times two ways to do the same, and what answers B gives in it. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ContestTest {
    private final StringWriter text = new StringWriter();
    private final Board board = new Board(new PrintWriter(text));

    @BeforeEach
    void takeOneStepEachTurn() {
        System.setProperty(Contest.TURN_MILLIS, "0");
    }

    @AfterEach
    void restore() {
        System.clearProperty(Contest.TURN_MILLIS);
    }

    @Test
    void shouldTakeTurns() throws Exception {
        StringBuilder steps = new StringBuilder();
        new Contest(board).time(1, new Way("a", () -> steps.append('a')), new Way("b", () -> steps.append('b')));
        assertEquals("ab".repeat(10) + "abba".repeat(4) + "ab", steps.toString());
    }

    @Test
    void shouldSayWhatAnOperationTakes() throws Exception {
        System.setProperty(Contest.TURN_MILLIS, "1");
        AtomicLong clock = new AtomicLong();
        // Three steps of the one and two of the other fill a turn. Some rounds are slower, but less than half of them.
        AtomicInteger steps = new AtomicInteger();
        Way fast = new Way("fast", () -> clock.addAndGet(steps.incrementAndGet() % 9 == 0 ? 5_000_000 : 400_000));
        Way slow = new Way("slow", () -> clock.addAndGet(800_000));
        new Contest(board, clock::get).time(4, fast, slow);
        List<String> lines =
                text.toString().lines().map(line -> line.replaceAll(" +", " ")).toList();
        assertEquals(
                List.of(
                        "choice each takes opposite each takes ratio in the rounds",
                        "fast 100000 ns slow 200000 ns 2.00× 0.41× to 2.00×"),
                lines);
    }

    @Test
    void shouldEndWhenInterrupted() {
        Way interrupted = new Way("a", () -> Thread.currentThread().interrupt());
        Contest contest = new Contest(board);
        assertThrows(InterruptedException.class, () -> contest.time(1, interrupted, interrupted));
    }

    @ParameterizedTest
    @ValueSource(ints = {128, 4096, TimedEnds.LARGEST})
    void shouldGetAnAnswerOfB(int bytes) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                TimedEnds ends = new TimedEnds(arena, "soft0")) {
            for (Duration polls : List.of(Duration.ZERO, Duration.ofSeconds(20), Duration.ZERO)) {
                ends.memoryOfB.memory().fill((byte) 1);
                ends.memoryOfA.memory().fill((byte) 0);
                // The question, which comes back with what B has behind it.
                ends.memoryOfA.memory().asSlice(0, TimedEnds.INLINE).fill((byte) 2);
                ends.ask(bytes, polls);
                long same = ends.memoryOfA.memory().mismatch(ends.memoryOfB.memory());
                assertEquals(bytes == TimedEnds.LARGEST ? -1 : bytes, same);
            }
        }
    }
}
