package org.rdmapanama.samples.learn;

import java.util.Arrays;
import java.util.function.LongSupplier;

/** A table of choices, each of which is timed in turns with its opposite. Threads: one. */
final class Contest {
    /** A system property: how many milliseconds each turn takes; 20 if it is missing. */
    static final String TURN_MILLIS = "org.rdmapanama.samples.learn.turnMillis";

    /** Odd, so that one of them is the median. */
    static final int ROUNDS = 9;

    private static final int DEFAULT_MILLIS = 20;

    /** So many turns are not counted: the compiler needs them. */
    private static final int FIRST_TURNS = 10;

    private static final String HEAD = "%-34s %12s   %-22s %12s %8s  %20s";
    private static final String LINE = "%-34s %9.0f ns   %-22s %9.0f ns %7.2f×  %7.2f× to %7.2f×";

    private final Board board;
    private final LongSupplier clock;
    private final long turnNanos = Integer.getInteger(TURN_MILLIS, DEFAULT_MILLIS) * 1_000_000L;

    /** A way to do something. */
    record Way(String title, Step step) {}

    /** Begins with the head of the table. */
    Contest(Board board) {
        this(board, System::nanoTime);
    }

    /** The same with another clock, which tells nanoseconds. */
    Contest(Board board, LongSupplier clock) {
        this.board = board;
        this.clock = clock;
        board.say(HEAD, "choice", "each takes", "opposite", "each takes", "ratio", "in the rounds");
    }

    /**
     * Adds a line, with how long an operation takes in both ways, the medians of all rounds, their ratio, and the smallest and
     * the largest ratio of a round.
     *
     * @param operations how many operations a step has
     */
    void time(int operations, Way choice, Way opposite) throws Exception {
        for (int i = 0; i < FIRST_TURNS; i++) {
            nanos(choice, operations);
            nanos(opposite, operations);
        }
        double[] ofChoice = new double[ROUNDS];
        double[] ofOpposite = new double[ROUNDS];
        double[] ratios = new double[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            boolean choiceFirst = i % 2 == 0;
            ofChoice[i] = choiceFirst ? nanos(choice, operations) : 0;
            ofOpposite[i] = nanos(opposite, operations);
            ofChoice[i] = choiceFirst ? ofChoice[i] : nanos(choice, operations);
            ratios[i] = ofOpposite[i] / ofChoice[i];
        }
        Arrays.sort(ratios);
        board.say(
                LINE,
                choice.title,
                median(ofChoice),
                opposite.title,
                median(ofOpposite),
                median(ofOpposite) / median(ofChoice),
                ratios[0],
                ratios[ROUNDS - 1]);
    }

    /** Returns how long an operation takes in a turn, which has at least one step. */
    private double nanos(Way way, int operations) throws Exception {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long start = clock.getAsLong();
        long passed;
        long done = 0;
        do {
            way.step.run();
            done += operations;
            passed = clock.getAsLong() - start;
        } while (passed < turnNanos);
        return (double) passed / done;
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
