package org.rdmapanama.samples.learn;

import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Answers to the exercises of lesson 16, why lossless, in docs/EXERCISES.md. */
class Lesson16ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldSendAgainWhatIsUnderWay() throws Exception {
        double[] loss = {0.001, 0.01, 0.05, 0.001};
        int[] underWay = {95, 32, 32, 1000};
        String[] again = {"10", "32", "168", "103"};
        int packets = 1_000_000;
        for (int i = 0; i < loss.length; i++) {
            Random random = new Random(1);
            long sent = 0;
            int next = 0;
            int lost = -1;
            int untilKnown = 0;
            while (next < packets || lost >= 0) {
                if (lost >= 0 && untilKnown == 0) {
                    next = lost;
                    lost = -1;
                }
                if (random.nextDouble() < loss[i] && lost < 0) {
                    lost = next;
                    untilKnown = underWay[i];
                }
                next++;
                sent++;
                untilKnown--;
            }
            predict(again[i], String.format(Locale.ROOT, "%.0f", 100.0 * (sent - packets) / packets));
        }
    }

    @Test
    void shouldCutLessIfNotificationsAreRare() throws Exception {
        double g = 1 / 256.0;
        double alpha = 1;
        double rate = 100;
        double target = rate;
        for (int i = 0; i < 3; i++) {
            target = rate;
            rate *= 1 - alpha / 2;
            alpha = (1 - g) * alpha + g;
        }
        predict(12.5, rate);
        predict(25.0, target);

        for (int i = 0; i < 5; i++) {
            rate = (rate + target) / 2;
        }
        predict("24.6", String.format(Locale.ROOT, "%.1f", rate));

        for (int period = 0; period < 256; period++) {
            alpha *= 1 - g;
        }
        predict("0.37", String.format(Locale.ROOT, "%.2f", alpha));
        predict("82", String.format(Locale.ROOT, "%.0f", 100 * (1 - alpha / 2)));
    }

    @Test
    void shouldMarkBeforeTheQueueIsFull() throws Exception {
        int room = 128;
        int delay = 72;
        int[] dropped = new int[room + 1];
        for (int threshold = 0; threshold <= room; threshold++) {
            int queue = 0;
            int untilCut = delay;
            while (untilCut > 0) {
                untilCut -= queue >= threshold ? 1 : 0;
                queue += 2 - 1;
                dropped[threshold] += Math.max(queue - room, 0);
                queue = Math.min(queue, room);
            }
        }
        predict(0, dropped[16]);
        predict(8, dropped[64]);
        predict(72, dropped[room]);
        int last = room;
        while (dropped[last] > 0) {
            last--;
        }
        predict(56, last);
    }
}
