package org.rdmapanama.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A row of the table: one operation, done in several ways.
 *
 * @param title description of the operation
 * @param benchmark the benchmark class
 * @param parameters its JMH parameters
 * @param options additional options of the JVM that runs it
 * @param quick whether it belongs to the short run
 */
record Row(String title, Class<?> benchmark, Map<String, String> parameters, List<String> options, boolean quick) {
    private Row(String title, Class<?> benchmark, Map<String, String> parameters, boolean quick) {
        this(title, benchmark, parameters, List.of(), quick);
    }

    /** Returns all rows, in the order of the table. */
    static List<Row> all() {
        List<Row> rows = new ArrayList<>();
        for (int batch : new int[] {1, 4, 16, 64}) {
            rows.add(new Row(
                    "post_send, poll: chain of " + batch,
                    PostSendBenchmark.class,
                    Map.of("batch", "" + batch),
                    batch == 1 || batch == 16));
        }
        // As with a driver that may enter the kernel, or that is unknown: see NativeContext.
        rows.add(new Row(
                "post_send, poll: chain of 1, ordinary calls",
                PostSendBenchmark.class,
                Map.of("batch", "1"),
                List.of("-Dorg.rdmapanama.driversWithoutKernel="),
                false));
        for (int segments = 2; segments <= 4; segments++) {
            rows.add(new Row(
                    "post_send, poll: " + segments + " segments",
                    PostSendBenchmark.class,
                    Map.of("segments", "" + segments),
                    false));
        }
        rows.add(new Row("post_send, poll: inline", PostSendBenchmark.class, Map.of("inline", "true"), true));
        for (int batch : new int[] {1, 16}) {
            rows.add(new Row(
                    "post_recv, poll: chain of " + batch,
                    PostReceiveBenchmark.class,
                    Map.of("batch", "" + batch),
                    batch == 1));
        }
        rows.add(new Row("post_send, await", AwaitBenchmark.class, Map.of(), true));
        rows.add(new Row("poll of an empty queue", PollEmptyBenchmark.class, Map.of(), true));
        rows.add(new Row("reading 16 completions", DecodeBenchmark.class, Map.of(), true));
        for (int batch : new int[] {1, 16}) {
            rows.add(new Row(
                    "ibv_wr_*, poll: batch of " + batch,
                    BuilderBenchmark.class,
                    Map.of("batch", "" + batch),
                    batch == 1));
        }
        return rows;
    }
}
