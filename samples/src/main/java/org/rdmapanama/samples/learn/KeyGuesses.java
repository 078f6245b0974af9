package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_READ;
import static org.rdmapanama.samples.learn.Lesson.LIMIT;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.Random;
import java.util.function.IntUnaryOperator;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.memory.RemoteMemory;

/** The part of lesson 14 in which F, to whom B has lent memory, guesses the key of other memory of B. Threads: one. */
final class KeyGuesses {
    static final int GUESSES = 100;
    private static final int KEYS = 64;

    private static final String LINE = "%-34s %11s %7s %11s %10s";

    private final TwoEnds ends;
    private final Board board;
    private final MemoryRegion secret;
    private long nanos;
    private int guesses;

    KeyGuesses(TwoEnds ends, Board board) {
        this.ends = ends;
        this.board = board;
        secret = ends.domain.register(ends.arena.allocate(16), REMOTE_READ);
        secret.memory().fill((byte) '!');
    }

    /** Returns the key that F is to guess. */
    int key() {
        return secret.rkey();
    }

    static void run(TwoEnds ends, Board board) throws InterruptedException {
        KeyGuesses lesson = new KeyGuesses(ends, board);
        lesson.guess();
        lesson.sayOdds();
    }

    // excerpt
    private void guess() throws InterruptedException {
        MemoryRegion lentToF = ends.domain.register(ends.arena.allocate(16), REMOTE_READ);
        int known = lentToF.rkey();
        Random random = new SecureRandom();
        try (FurtherConnection connection = new FurtherConnection(ends, ends.domain)) {
            board.say("B lends memory to F, which reads it: %s", connection.read(lentToF.remote()));
        }
        board.say(LINE, "F guesses the key of other memory", "connections", "refused", "bytes read", "events at B");
        guess("the key that F knows", i -> known);
        guess("that key, plus 1, 2, ...", i -> known + i);
        guess("that key, plus 256, 512, ...", i -> known + 256 * i);
        guess("at random", i -> random.nextInt());
    }

    /**
     * Adds a line about guesses, each of which takes a connection. F knows the address, which others would have to guess,
     * too.
     *
     * @param guess the key to try, given the number of the guess, from 1
     */
    void guess(String how, IntUnaryOperator guess) throws InterruptedException {
        int refused = 0;
        long read = 0;
        int events = 0;
        long start = System.nanoTime();
        for (int i = 1; i <= GUESSES; i++) {
            try (FurtherConnection connection = new FurtherConnection(ends, ends.domain)) {
                RemoteMemory guessed = new RemoteMemory(secret.address(), guess.applyAsInt(i), secret.byteSize());
                boolean isRefused = connection.read(guessed) == CompletionStatus.REM_ACCESS_ERR;
                refused += isRefused ? 1 : 0;
                read += bytesOf(connection.memoryOfPeer);
                events += isToldOfAttack(isRefused ? LIMIT : Duration.ZERO) ? 1 : 0;
            }
        }
        nanos += System.nanoTime() - start;
        guesses += GUESSES;
        board.say(LINE, how, GUESSES, refused, read, events);
    }
    // end

    /** How many guesses it takes, as the keys of this device are: numbers of as many bits as differ from key to key. */
    private void sayOdds() {
        int ones = 0;
        int zeros = 0;
        for (int i = 0; i < KEYS; i++) {
            try (MemoryRegion region = ends.domain.register(ends.arena.allocate(1), REMOTE_READ)) {
                ones |= region.rkey();
                zeros |= ~region.rkey();
            }
        }
        int bits = Integer.bitCount(ones & zeros);
        board.say("of %d new keys, %d of the 32 bits are 0 in some and 1 in others", KEYS, bits);
        double seconds = (double) nanos / guesses / Duration.ofSeconds(1).toNanos();
        board.say("a guess took %7.0f µs", seconds * 1_000_000);
        long keys = 1L << bits;
        board.say(
                "guesses at random until one hits the key of this region, on average: %d, which take %6.1f days",
                keys, keys * seconds / Duration.ofDays(1).toSeconds());
    }

    private static long bytesOf(MemoryRegion memory) {
        long count = 0;
        for (byte each : memory.memory().toArray(JAVA_BYTE)) {
            count += each == 0 ? 0 : 1;
        }
        return count;
    }

    private boolean isToldOfAttack(Duration limit) throws InterruptedException {
        return ends.context
                .awaitAsyncEvent(limit)
                .filter(event -> event.type() == AsyncEventType.QP_ACCESS_ERR)
                .isPresent();
    }
}
