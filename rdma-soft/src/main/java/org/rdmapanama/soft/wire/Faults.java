package org.rdmapanama.soft.wire;

import java.util.HashSet;
import java.util.Set;

/**
 * The faults to inject into outgoing packets, for tests: the probability of each fault, of which a packet suffers at
 * most one, and the seed of the random numbers.
 *
 * @param loss probability that a packet is not sent
 * @param duplicate probability that a packet is sent twice
 * @param reorder probability that a packet is held back until a few others have overtaken it
 * @param corrupt probability that a packet is sent with one bit changed
 * @param full probability that there is no room for a packet for a while
 */
public record Faults(double loss, double duplicate, double reorder, double corrupt, double full, long seed) {
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
        checkProbability("the sum of all", loss + duplicate + reorder + corrupt + full);
    }

    /**
     * Parses faults from a text such as {@code loss=0.01,duplicate=0.01,reorder=0.01,corrupt=0.01,seed=7}; omitted
     * values are 0.
     *
     * @throws IllegalArgumentException when the text has another form
     */
    public static Faults parse(String text) {
        double loss = 0;
        double duplicate = 0;
        double reorder = 0;
        double corrupt = 0;
        double full = 0;
        long seed = 0;
        Set<String> names = new HashSet<>();
        for (String setting : text.split(",", -1)) {
            int equals = setting.indexOf('=');
            String name = setting.substring(0, Math.max(equals, 0)).trim();
            String value = setting.substring(equals + 1).trim();
            try {
                switch (name) {
                    case "loss" -> loss = Double.parseDouble(value);
                    case "duplicate" -> duplicate = Double.parseDouble(value);
                    case "reorder" -> reorder = Double.parseDouble(value);
                    case "corrupt" -> corrupt = Double.parseDouble(value);
                    case "full" -> full = Double.parseDouble(value);
                    case "seed" -> seed = Long.parseLong(value);
                    default ->
                        throw new IllegalArgumentException(
                                "faults must be a list of loss=, duplicate=, reorder=, corrupt=, full= and seed=: '"
                                        + setting.trim() + "' in '" + text + "'");
                }
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException(
                        "the value of a fault must be a number: '" + setting.trim() + "' in '" + text + "'", e);
            }
            if (!names.add(name)) {
                throw new IllegalArgumentException(name + " must not be given twice: '" + text + "'");
            }
        }
        return new Faults(loss, duplicate, reorder, corrupt, full, seed);
    }

    private static void checkProbability(String name, double probability) {
        if (!(probability >= 0 && probability <= 1)) {
            throw new IllegalArgumentException(name + " must be a probability between 0 and 1: " + probability);
        }
    }
}
