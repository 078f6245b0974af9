package org.rdmapanama.samples.top;

import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Function;

/** Prints what has moved between two samples. */
final class TopTable {
    private static final String ROW = "%-12s %4s %8s %12s %12s %12s %12s %10s%n";
    private static final String NOT_COUNTED = "-";
    private static final double NANOS_PER_SECOND = 1e9;
    private static final double BYTES_PER_MEGABYTE = 1e6;

    private final Sample before;
    private final Sample after;

    TopTable(Sample before, Sample after) {
        this.before = before;
        this.after = after;
    }

    /** Returns the table and the notes; a port that was not there before has no rates. */
    String text() {
        StringBuilder text = new StringBuilder();
        text.append(ROW.formatted(
                "device", "port", "process", "sent MB/s", "recv MB/s", "sent pkt/s", "recv pkt/s", "errors"));
        for (Map.Entry<Sample.PortName, Traffic> each : after.ports().entrySet()) {
            Sample.PortName name = each.getKey();
            Traffic now = each.getValue();
            Traffic then = before.ports().get(name);
            text.append(ROW.formatted(
                    name.device(),
                    name.port(),
                    name.pid() == 0 ? NOT_COUNTED : Long.toString(name.pid()),
                    rate(then, now, Traffic::sentBytes, "%.2f", BYTES_PER_MEGABYTE),
                    rate(then, now, Traffic::receivedBytes, "%.2f", BYTES_PER_MEGABYTE),
                    rate(then, now, Traffic::sentPackets, "%.0f", 1),
                    rate(then, now, Traffic::receivedPackets, "%.0f", 1),
                    Long.toUnsignedString(now.errors())));
        }
        after.notes().forEach(note -> text.append(note).append('\n'));
        return text.toString();
    }

    private String rate(Traffic then, Traffic now, Function<Traffic, OptionalLong> part, String format, double unit) {
        if (then == null || part.apply(then).isEmpty() || part.apply(now).isEmpty()) {
            return NOT_COUNTED;
        }
        // A process that has opened its device anew counts from zero.
        long moved = Math.max(0, part.apply(now).getAsLong() - part.apply(then).getAsLong());
        double seconds = (after.nanos() - before.nanos()) / NANOS_PER_SECOND;
        return String.format(Locale.ROOT, format, moved / seconds / unit);
    }
}
