package org.rdmapanama.soft.wire;

import java.util.HashSet;
import java.util.Set;

/**
 * How to react to congestion: as DCQCN does ("Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015).
 *
 * @param pauseNanos for how long a queue pair sends no second notification, in nanoseconds
 * @param periodNanos after how long without a notification the rate grows once, in nanoseconds
 * @param lineBytes the rate at which a queue pair sends if nothing slows it down, in bytes per second
 */
public record Congestion(long pauseNanos, long periodNanos, long lineBytes) {
    private static final long NANOS_PER_MICRO = 1000;
    private static final int MOST_MICROS = 1_000_000;
    private static final int MOST_MEBIBYTES = 100_000;

    /** The times of the paper, and ten gigabits per second. */
    private static final int PAUSE_MICROS = 50;

    private static final int PERIOD_MICROS = 55;
    private static final int LINE_MEBIBYTES = 1192;

    /**
     * Parses {@code none}, or {@code dcqcn}, which {@code pause=} and {@code period=} in microseconds and {@code line=} in
     * MiB/s may follow, separated by commas.
     *
     * @return null for {@code none}
     * @throws IllegalArgumentException when the text has another form; {@code name} says what it is the value of
     */
    public static Congestion parse(String name, String text) {
        String[] words = text.split(",", -1);
        if (text.equals("none")) {
            return null;
        }
        if (!words[0].trim().equals("dcqcn")) {
            throw wrong(name, text);
        }
        long pause = PAUSE_MICROS;
        long period = PERIOD_MICROS;
        long line = LINE_MEBIBYTES;
        Set<String> given = new HashSet<>();
        for (int i = 1; i < words.length; i++) {
            int equals = words[i].indexOf('=');
            String key = words[i].substring(0, Math.max(equals, 0)).trim();
            String value = words[i].substring(equals + 1).trim();
            if (!given.add(key)) {
                throw wrong(name, text);
            }
            switch (key) {
                case "pause" -> pause = number(name, text, value, MOST_MICROS);
                case "period" -> period = number(name, text, value, MOST_MICROS);
                case "line" -> line = number(name, text, value, MOST_MEBIBYTES);
                default -> throw wrong(name, text);
            }
        }
        return new Congestion(pause * NANOS_PER_MICRO, period * NANOS_PER_MICRO, line << 20);
    }

    private static long number(String name, String text, String value, int most) {
        try {
            int number = Integer.parseInt(value);
            if (number > 0 && number <= most) {
                return number;
            }
        } catch (NumberFormatException noNumber) {
            // Reported below.
        }
        throw wrong(name, text);
    }

    private static IllegalArgumentException wrong(String name, String text) {
        return new IllegalArgumentException(name
                + " must be none, or dcqcn, which pause= and period= (1 to " + MOST_MICROS
                + " microseconds) and line= (1 to "
                + MOST_MEBIBYTES + " MiB/s) may follow once each, separated by commas: '" + text + "'");
    }
}
