package org.rdmapanama.interleaving;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.function.Supplier;
import org.rdmapanama.interleaving.Schedule.Deviation;

/**
 * Runs a few threads in all orders with at most so many deviations from the usual one, in which each goes on until it
 * cannot: of faults that depend on the order nearly all need one or two.
 */
public final class Explorer {
    /** What is explored: made anew for each run. */
    public interface Scenario {
        /** The threads, each of which must end in each order, without an exception. */
        List<Runnable> threads();

        /** What must be true when all have ended; leaves nothing behind. */
        void check();
    }

    private final Supplier<Scenario> scenarios;
    private final SharedFields fields = new SharedFields();
    private int runs;

    private Explorer(Supplier<Scenario> scenarios) {
        this.scenarios = scenarios;
    }

    /**
     * Explores.
     *
     * @param scenarios what to run
     * @param deviations how many at most
     * @return how many runs there were
     */
    public static int explore(Supplier<Scenario> scenarios, int deviations) {
        Explorer explorer = new Explorer(scenarios);
        try (ExecutorService thread = OneProcessor.thread()) {
            thread.submit(() -> explorer.runAll(deviations)).get();
        } catch (ExecutionException e) {
            throw new AssertionError(e.getCause().getMessage(), e.getCause());
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts an exploration", e);
        }
        return explorer.runs;
    }

    /** Begins anew when it turns out that threads share more than was known, because then there are more places. */
    private void runAll(int most) {
        for (int deviations = 0; deviations <= most; deviations++) {
            runs = 0;
            while (!run(List.of(), deviations)) {
                fields.remember();
                runs = 0;
            }
        }
    }

    /** False if threads have shared a field that was not known to be shared. */
    private boolean run(List<Deviation> deviations, int left) {
        runs++;
        Scenario scenario = scenarios.get();
        List<Deviation> alternatives = new Schedule(scenario.threads(), deviations, fields).run();
        scenario.check();
        if (fields.foundMore()) {
            return false;
        }
        if (left > 0) {
            for (Deviation next : alternatives) {
                List<Deviation> more = new ArrayList<>(deviations);
                more.add(next);
                if (!run(more, left - 1)) {
                    return false;
                }
            }
        }
        return true;
    }
}
