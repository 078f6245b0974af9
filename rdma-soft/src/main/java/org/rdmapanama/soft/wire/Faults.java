package org.rdmapanama.soft.wire;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * The faults to inject into outgoing packets, for tests: the probability of each fault, of which a packet suffers at
 * most one, and the seed of the random numbers.
 *
 * @param loss probability that a packet is not sent
 * @param duplicate probability that a packet is sent twice
 * @param reorder probability that a packet is held back until a few others have overtaken it
 * @param corrupt probability that a packet is sent with one bit changed
 * @param full probability that there is no room for a packet for a while
 * @param mark probability that a packet is marked as having met congestion, if the device reacts to marks
 * @param bottleneck a slow link on the way, or null
 */
public record Faults(
        double loss,
        double duplicate,
        double reorder,
        double corrupt,
        double full,
        double mark,
        Bottleneck bottleneck,
        long seed) {
    private static final int KIBI = 10;
    private static final int MEBI = 20;

    /** What a queue holds if nothing else is said, in KiB. */
    private static final int QUEUE_KIBIBYTES = 128;

    /** How long a queue, or how fast a link, may be: in KiB, and in MiB/s. */
    private static final int MOST = 1 << 17;

    private static final String FORM =
            "faults must be a list of loss=, duplicate=, reorder=, corrupt=, full=, mark=, seed=,"
                    + " rate= and queue=, kmin=, kmax=, pmax=: '";

    private static final List<String> OF_BOTTLENECK = List.of("queue", "kmin", "kmax", "pmax");
    private static final Set<String> NAMES = Set.of(
            "loss", "duplicate", "reorder", "corrupt", "full", "mark", "seed", "rate", "queue", "kmin", "kmax", "pmax");

    /**
     * Checks the probabilities.
     *
     * @throws IllegalArgumentException when a probability, or the sum of all, is not between 0 and 1
     */
    public Faults {
        checkProbability("loss", loss);
        checkProbability("duplicate", duplicate);
        checkProbability("reorder", reorder);
        checkProbability("corrupt", corrupt);
        checkProbability("full", full);
        checkProbability("mark", mark);
        checkProbability("the sum of all", loss + duplicate + reorder + corrupt + full + mark);
    }

    /** Faults without marks and without a slow link. */
    Faults(double loss, double duplicate, double reorder, double corrupt, double full, long seed) {
        this(loss, duplicate, reorder, corrupt, full, 0, null, seed);
    }

    /**
     * Parses faults from a text such as {@code loss=0.01,duplicate=0.01,reorder=0.01,corrupt=0.01,seed=7}; omitted
     * values are 0. {@code rate=} in MiB/s stands for a {@link Bottleneck}, with {@code queue=}, {@code kmin=} and {@code kmax=}
     * in KiB and {@code pmax=}.
     *
     * @throws IllegalArgumentException when the text has another form
     */
    public static Faults parse(String text) {
        Map<String, String> given = new HashMap<>();
        for (String setting : text.split(",", -1)) {
            int equals = setting.indexOf('=');
            String name = setting.substring(0, Math.max(equals, 0)).trim();
            if (!NAMES.contains(name)) {
                throw new IllegalArgumentException(FORM + setting.trim() + "' in '" + text + "'");
            }
            if (given.put(name, setting.substring(equals + 1).trim()) != null) {
                throw new IllegalArgumentException(name + " must not be given twice: '" + text + "'");
            }
        }
        return new Faults(
                real(given, "loss", 0),
                real(given, "duplicate", 0),
                real(given, "reorder", 0),
                real(given, "corrupt", 0),
                real(given, "full", 0),
                real(given, "mark", 0),
                bottleneck(given),
                value(given, "seed", 0L, Long::parseLong));
    }

    private static Bottleneck bottleneck(Map<String, String> given) {
        if (!given.containsKey("rate")) {
            for (String name : OF_BOTTLENECK) {
                if (given.containsKey(name)) {
                    throw new IllegalArgumentException(
                            name + " needs the rate of a link as well, such as rate=50 (MiB/s)");
                }
            }
            return null;
        }
        int queue = whole(given, "queue", QUEUE_KIBIBYTES);
        int all = whole(given, "kmax", queue);
        return new Bottleneck(
                (long) whole(given, "rate", 0) << MEBI,
                queue << KIBI,
                whole(given, "kmin", all) << KIBI,
                all << KIBI,
                real(given, "pmax", 1));
    }

    private static double real(Map<String, String> given, String name, double usual) {
        return value(given, name, usual, Double::parseDouble);
    }

    private static int whole(Map<String, String> given, String name, int usual) {
        int value = value(given, name, usual, Integer::parseInt);
        if (value < 0 || value > MOST) {
            throw new IllegalArgumentException(name + " must be a number from 0 to " + MOST + ": " + value);
        }
        return value;
    }

    private static <T> T value(Map<String, String> given, String name, T usual, Function<String, T> parser) {
        String text = given.get(name);
        if (text == null) {
            return usual;
        }
        try {
            return parser.apply(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("the value of a fault must be a number: '" + name + '=' + text + "'", e);
        }
    }

    private static void checkProbability(String name, double probability) {
        if (!(probability >= 0 && probability <= 1)) {
            throw new IllegalArgumentException(name + " must be a probability between 0 and 1: " + probability);
        }
    }
}
