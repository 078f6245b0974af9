package org.rdmapanama.samples.perf;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.rdmapanama.samples.figures.LatencyRecord;

/** Prints results. */
abstract class Report {
    final PrintWriter out;
    TestSettings settings;

    private Report(PrintWriter out) {
        this.out = out;
    }

    static Report of(Format format, PrintWriter out) {
        return switch (format) {
            case text -> new Text(out);
            case json -> new Json(out);
            case csv -> new Csv(out);
        };
    }

    void begin(TestSettings chosen, String device) {
        settings = chosen;
    }

    abstract void add(Result result);

    void end() throws IOException {}

    private void line(String format, Object... values) {
        out.println(String.format(Locale.ROOT, format, values));
        out.flush();
    }

    /** Prints the columns of perftest. */
    private static final class Text extends Report {
        private static final String RULE = "-".repeat(87);

        Text(PrintWriter out) {
            super(out);
        }

        @Override
        void begin(TestSettings chosen, String device) {
            super.begin(chosen, device);
            out.println(RULE);
            out.println(" " + PerfText.title(chosen) + ", on " + device);
            out.println(RULE);
            out.println(
                    chosen.kind().latency
                            ? " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
                                    + "    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
                            : " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]");
            out.flush();
        }

        @Override
        void add(Result result) {
            LatencyRecord times = result.latencies();
            if (settings.kind().latency) {
                super.line(
                        " %-7d %-11d    %-11.2f    %-11.2f  %-15.2f    %-11.2f    %-13.2f   %-20.2f   %-20.2f",
                        result.bytes(),
                        result.iterations(),
                        times.min(),
                        times.max(),
                        times.at(50),
                        times.average(),
                        times.deviation(),
                        times.at(99),
                        times.at(99.9));
                return;
            }
            super.line(
                    " %-10d %-14d %-18.2f %-20.2f %-7.6f",
                    result.bytes(), result.iterations(), result.peak(), result.average(), result.messageRate());
            if (times != null) {
                super.line(
                        "   latency from the time each message was due, in usec:  min %.1f  p50 %.1f  p99 %.1f  p99.9"
                                + " %.1f  max %.1f",
                        times.min(), times.at(50), times.at(99), times.at(99.9), times.max());
            }
            if (result.lost() > 0) {
                super.line("   %d messages were lost, which %s does not recover", result.lost(), settings.connection());
            }
        }

        @Override
        void end() {
            out.println(RULE);
            out.flush();
        }
    }

    private static final class Csv extends Report {
        private static final String TIMES =
                "t_min_usec,t_max_usec,t_typical_usec,t_avg_usec,t_stdev_usec,p99_usec,p999_usec";

        Csv(PrintWriter out) {
            super(out);
        }

        @Override
        void begin(TestSettings chosen, String device) {
            super.begin(chosen, device);
            String columns = chosen.kind().latency
                    ? TIMES
                    : "bw_peak_mib_per_sec,bw_average_mib_per_sec,msg_rate_mpps,lost"
                            + (chosen.rate() > 0 ? "," + TIMES : "");
            out.println("test,connection,bytes,iterations," + columns);
            out.flush();
        }

        @Override
        void add(Result result) {
            StringBuilder row = new StringBuilder(String.format(
                    Locale.ROOT,
                    "%s,%s,%d,%d",
                    settings.kind().label(),
                    settings.connection(),
                    result.bytes(),
                    result.iterations()));
            if (!settings.kind().latency) {
                row.append(String.format(
                        Locale.ROOT,
                        ",%.3f,%.3f,%.6f,%d",
                        result.peak(),
                        result.average(),
                        result.messageRate(),
                        result.lost()));
            }
            LatencyRecord times = result.latencies();
            if (times != null) {
                row.append(String.format(
                        Locale.ROOT,
                        ",%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f",
                        times.min(),
                        times.max(),
                        times.at(50),
                        times.average(),
                        times.deviation(),
                        times.at(99),
                        times.at(99.9)));
            }
            super.line("%s", row);
        }
    }

    /** Prints one JSON object at the end. */
    private static final class Json extends Report {
        private static final double[] PERCENTILES = {50, 75, 90, 95, 99, 99.9, 99.99};

        private final List<Result> results = new ArrayList<>();
        private String device;

        Json(PrintWriter out) {
            super(out);
        }

        @Override
        void begin(TestSettings chosen, String name) {
            super.begin(chosen, name);
            device = name;
        }

        @Override
        void add(Result result) {
            results.add(result);
        }

        @Override
        void end() throws IOException {
            StringWriter text = new StringWriter();
            try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
                json.useDefaultPrettyPrinter();
                json.writeStartObject();
                writeSettings(json);
                json.writeArrayFieldStart("results");
                for (Result result : results) {
                    write(json, result);
                }
                json.writeEndArray();
                json.writeEndObject();
            }
            out.println(text);
            out.flush();
        }

        private void writeSettings(JsonGenerator json) throws IOException {
            json.writeStringField("test", settings.kind().label());
            json.writeStringField("connection", settings.connection().name());
            json.writeStringField("device", device);
            if (settings.kind().operation == Operation.ATOMIC) {
                json.writeStringField("atomic", settings.atomic().name());
            }
            json.writeNumberField("duration_sec", settings.seconds());
            json.writeNumberField("warmup_seconds", settings.warmUp());
            json.writeNumberField("tx_depth", settings.txDepth());
            json.writeNumberField("rx_depth", settings.rxDepth());
            json.writeNumberField("queue_pairs", settings.queuePairs());
            json.writeNumberField("post_list", settings.postList());
            json.writeNumberField("signaled_every", settings.moderation());
            json.writeNumberField("inline_bytes", settings.inline());
            json.writeBooleanField("events", settings.events());
            json.writeBooleanField("bidirectional", settings.bidirectional());
            json.writeNumberField("rate_per_sec", settings.rate());
        }

        private void write(JsonGenerator json, Result result) throws IOException {
            json.writeStartObject();
            json.writeNumberField("bytes", result.bytes());
            json.writeNumberField("iterations", result.iterations());
            if (!settings.kind().latency) {
                json.writeNumberField("bw_peak_mib_per_sec", result.peak());
                json.writeNumberField("bw_average_mib_per_sec", result.average());
                json.writeNumberField("msg_rate_mpps", result.messageRate());
                json.writeNumberField("lost", result.lost());
            }
            LatencyRecord times = result.latencies();
            if (times != null) {
                json.writeNumberField("t_min_usec", times.min());
                json.writeNumberField("t_max_usec", times.max());
                json.writeNumberField("t_typical_usec", times.at(50));
                json.writeNumberField("t_avg_usec", times.average());
                json.writeNumberField("t_stdev_usec", times.deviation());
                json.writeObjectFieldStart("percentiles_usec");
                for (double percentile : PERCENTILES) {
                    json.writeNumberField(Double.toString(percentile), times.at(percentile));
                }
                json.writeEndObject();
            }
            json.writeEndObject();
        }
    }
}
