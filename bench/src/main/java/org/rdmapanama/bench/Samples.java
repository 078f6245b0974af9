package org.rdmapanama.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.RunResult;

/** The measurements of one row in one way. */
final class Samples {
    private static final String ALLOCATED = "gc.alloc.rate.norm";

    private final List<Double> nanos = new ArrayList<>();
    private final List<Double> bytes = new ArrayList<>();

    void add(RunResult run) {
        for (BenchmarkResult fork : run.getBenchmarkResults()) {
            for (IterationResult iteration : fork.getIterationResults()) {
                nanos.add(iteration.getPrimaryResult().getScore());
                iteration.getSecondaryResults().forEach((name, result) -> {
                    if (name.endsWith(ALLOCATED)) {
                        bytes.add(result.getScore());
                    }
                });
            }
        }
    }

    boolean isEmpty() {
        return nanos.isEmpty();
    }

    /** Returns the median time of an operation, in nanoseconds. */
    double nanos() {
        return Medians.of(nanos);
    }

    /** Returns the shortest time of an operation, in nanoseconds. */
    double leastNanos() {
        return Collections.min(nanos);
    }

    /** Returns the median number of bytes that an operation allocates on the heap. */
    double bytes() {
        if (bytes.isEmpty()) {
            throw new IllegalStateException("JMH's gc profiler did not report " + ALLOCATED);
        }
        return Medians.of(bytes);
    }
}
