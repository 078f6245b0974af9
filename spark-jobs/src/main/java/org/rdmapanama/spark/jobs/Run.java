package org.rdmapanama.spark.jobs;

/**
 * A run of a job.
 *
 * @param seconds how long it took
 * @param digest what it gave
 * @param remoteBytes what its tasks read from other executors, as Spark counts it
 * @param figures what the executors did
 */
record Run(double seconds, Digest digest, long remoteBytes, ExecutorFigures figures) {}
