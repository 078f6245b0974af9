package org.rdmapanama.samples.learn;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongPredicate;

/** Statements that run in the place of a lesson. They may use what is here. */
abstract class Exercise {
    Board board;

    /** What is predicted of the packets, which are known at the end only. */
    private final List<Consumer<String>> ofPackets = new ArrayList<>();

    private int predictions;
    private int truths;

    /** Says whether a prediction is true. Numbers are compared by their value. */
    void predict(Object predicted, Object observed) {
        boolean isTrue = isSame(predicted, observed);
        board.say(isTrue ? "as predicted: %s" : "predicted: %s, but observed: %s", predicted, observed);
        count(isTrue);
    }

    static boolean isSame(Object predicted, Object observed) {
        return String.valueOf(predicted).equals(String.valueOf(observed));
    }

    private void count(boolean isTrue) {
        predictions++;
        truths += isTrue ? 1 : 0;
    }

    /** Predicts how many of the packets, which are drawn at the end, have a text in their line. */
    void predictPackets(int count, String text) {
        ofPackets.add(diagram -> judge(text, count, lines(diagram, text), found -> found == count));
    }

    /** Predicts that there are such packets, in a number that depends on the time. */
    void predictSomePackets(String text) {
        ofPackets.add(diagram -> judge(text, "at least 1", lines(diagram, text), found -> found > 0));
    }

    private void judge(String text, Object predicted, long observed, LongPredicate prediction) {
        boolean isTrue = prediction.test(observed);
        String packets = "packets above with '" + text + "'";
        if (isTrue) {
            board.say("as predicted, %s: %d", packets, observed);
        } else {
            board.say("predicted, %s: %s, but there are %d", packets, predicted, observed);
        }
        count(isTrue);
    }

    /** Returns how many lines of a diagram have a text. */
    static long lines(String diagram, String text) {
        return diagram.lines().filter(line -> line.contains(text)).count();
    }

    /** Says, when the packets are drawn, what was right. */
    void end(String diagram) {
        if (predictions + ofPackets.size() == 0) {
            return;
        }
        board.say("");
        ofPackets.forEach(each -> each.accept(diagram));
        board.say("%d of %d predictions are true", truths, predictions);
    }

    /** Returns the class of the exception that a step throws, whose message it prints, or "nothing". */
    String thrownBy(Step step) {
        try {
            step.run();
            return "nothing";
        } catch (Exception e) {
            String type = e.getClass().getSimpleName();
            board.say("%s: %s", type, e.getMessage());
            return type;
        }
    }
}
