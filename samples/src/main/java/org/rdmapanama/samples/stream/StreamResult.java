package org.rdmapanama.samples.stream;

import org.rdmapanama.samples.figures.LatencyRecord;

/**
 * What a test has measured.
 *
 * @param test the test
 * @param nanos the time of all of its iterations, 1 or more
 * @param latencies half of the time of each round trip; null unless the test is ping-pong
 */
record StreamResult(StreamTest test, long nanos, LatencyRecord latencies) {
    double seconds() {
        return nanos / 1e9;
    }

    double microsPerTransfer() {
        return nanos / 1e3 / test.iterations() / (2.0 * test.transfers());
    }

    double mebibytesPerSecond() {
        return test.bytes() / seconds() / (1 << 20);
    }
}
