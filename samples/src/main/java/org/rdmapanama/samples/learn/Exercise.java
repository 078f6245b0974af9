package org.rdmapanama.samples.learn;

/** Statements that run in the place of a lesson. They may use what is here. */
abstract class Exercise {
    Board board;

    /** Says whether a prediction is true. Numbers are compared by their value. */
    void predict(Object predicted, Object observed) {
        board.say(
                isSame(predicted, observed) ? "as predicted: %s" : "predicted: %s, but observed: %s",
                predicted,
                observed);
    }

    static boolean isSame(Object predicted, Object observed) {
        return String.valueOf(predicted).equals(String.valueOf(observed));
    }

    /** Says how many of the packets, which are drawn at the end, should have a text in their line. */
    void predictPackets(int count, String text) {
        board.say("predicted: packets below with '%s': %d", text, count);
    }

    /** The same for a number that depends on the time. */
    void predictSomePackets(String text) {
        board.say("predicted: packets below with '%s': at least 1", text);
    }

    /** Returns the class of the exception that a step throws, or "nothing". */
    static String thrownBy(Step step) {
        try {
            step.run();
            return "nothing";
        } catch (Exception e) {
            return e.getClass().getSimpleName();
        }
    }
}
