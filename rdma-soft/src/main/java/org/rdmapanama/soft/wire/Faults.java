package org.rdmapanama.soft.wire;

import java.util.HashSet;
import java.util.Set;

/**
 * How bad the way between two devices is made, for tests: the probability of each fault, of which a packet suffers one
 * at most, and the seed of what happens by chance.
 *
 * @param loss of packets that are not sent
 * @param duplicate of packets that are sent twice
 * @param reorder of packets that are held back until a few others have overtaken them
 * @param corrupt of packets that are sent with one bit changed
 */
public record Faults(double loss, double duplicate, double reorder, double corrupt, long seed) {
    /** @throws IllegalArgumentException when a probability, or the sum of all, is not between 0 and 1 */
    public Faults {
        checkProbability("loss", loss);
        checkProbability("duplicate", duplicate);
        checkProbability("reorder", reorder);
        checkProbability("corrupt", corrupt);
        checkProbability("the sum of all", loss + duplicate + reorder + corrupt);
    }

    /**
     * Faults as a text, such as {@code loss=0.01,duplicate=0.01,reorder=0.01,corrupt=0.01,seed=7}; what is left out is 0.
     *
     * @throws IllegalArgumentException when it is not such a text
     */
    public static Faults parse(String text) {
        double loss = 0;
        double duplicate = 0;
        double reorder = 0;
        double corrupt = 0;
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
                    case "seed" -> seed = Long.parseLong(value);
                    default ->
                        throw new IllegalArgumentException("'" + setting.trim() + "' in '" + text
                                + "' is none of loss=, duplicate=, reorder=, corrupt= and seed=");
                }
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException("not a number: '" + setting.trim() + "' in '" + text + "'", e);
            }
            if (!names.add(name)) {
                throw new IllegalArgumentException(name + " is twice in '" + text + "'");
            }
        }
        return new Faults(loss, duplicate, reorder, corrupt, seed);
    }

    private static void checkProbability(String name, double probability) {
        if (!(probability >= 0 && probability <= 1)) {
            throw new IllegalArgumentException(name + " is a probability, from 0 to 1, and not " + probability);
        }
    }
}
