package org.rdmapanama.samples.stream;

import java.util.Locale;

/** The columns of rstream, and its way to write sizes and counts. */
final class StreamText {
    static final String HEADER = String.format(
            Locale.ROOT,
            "%-10s%-8s%-8s%-8s%-8s%8s %10s%13s%10s%10s",
            "name",
            "bytes",
            "xfers",
            "iters",
            "total",
            "time",
            "Gb/sec",
            "usec/xfer",
            "50%",
            "99%");

    private static final int BITS = 8;
    private static final String PREFIXES = "kmg";
    private static final int UNIT = 1024;
    private static final int TEN = 10;

    private StreamText() {}

    /** Writes a number of bytes: 64, 1.5k, 4m. */
    static String size(long bytes) {
        long base = 1;
        int prefix = -1;
        while (prefix < PREFIXES.length() - 1 && bytes / base >= UNIT) {
            base *= UNIT;
            prefix++;
        }
        long whole = bytes / base;
        long tenths = whole < TEN ? bytes % base * TEN / base : 0;
        return whole + (tenths > 0 ? "." + tenths : "") + (prefix < 0 ? "" : PREFIXES.charAt(prefix));
    }

    /** Writes a count in units of a thousand: 999, 10k, 1m. */
    static String count(long count) {
        if (count < 1000) {
            return Long.toString(count);
        }
        return count < 1_000_000 ? count / 1000 + "k" : count / 1_000_000 + "m";
    }

    /** One line of results. Only ping-pong has the percentiles. */
    static String line(StreamResult result) {
        StreamTest test = result.test();
        String line = String.format(
                Locale.ROOT,
                "%-10s%-8s%-8s%-8s%-8s%8.2fs%10.2f%13.2f",
                test.name(),
                size(test.size()),
                count(test.transfers()),
                count(test.iterations()),
                size(test.bytes()),
                result.seconds(),
                test.bytes() * BITS / result.seconds() / 1e9,
                result.microsPerTransfer());
        return result.latencies() == null
                ? line
                : line
                        + String.format(
                                Locale.ROOT,
                                "%10.2f%10.2f",
                                result.latencies().at(50),
                                result.latencies().at(99));
    }
}
