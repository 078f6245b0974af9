package org.rdmapanama.spark.jobs;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** Whether tests start executors, which take minutes of the processors together. */
final class Clusters {
    private static final String WANTED = "RDMA_TEST_CLUSTERS";

    private Clusters() {}

    static void assumeWanted() {
        assumeTrue(
                System.getenv(WANTED) != null,
                "clusters of Spark take a minute and a half; they are started if " + WANTED + "=yes");
    }
}
