package org.rdmapanama.spark.jobs;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** Whether tests start executors, which take minutes of the processors together. */
final class Clusters {
    private Clusters() {}

    /** Skips a test in {@code bin/test --quick}. */
    static void assumeWanted() {
        assumeTrue(System.getenv("RDMA_TEST_QUICK") == null, "clusters of Spark take longer than quick tests may");
    }
}
