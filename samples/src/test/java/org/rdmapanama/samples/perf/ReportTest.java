package org.rdmapanama.samples.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.rdmapanama.samples.figures.LatencyRecord;

/** The output in each format. */
class ReportTest {
    static LatencyRecord times(int ways) {
        LatencyRecord times = new LatencyRecord(ways);
        for (int micros = 1; micros <= 1000; micros++) {
            times.record(micros * 1000L);
        }
        times.complete();
        return times;
    }

    private static String print(Format format, TestSettings settings, Result... results) throws IOException {
        StringWriter text = new StringWriter();
        Report report = Report.of(format, new PrintWriter(text));
        report.begin(settings, "rxe7");
        for (Result result : results) {
            report.add(result);
        }
        report.end();
        return text.toString();
    }

    /** Returns the values of a document by name; the last of several with the same name. */
    static Map<String, String> parse(String json) throws IOException {
        Map<String, String> values = new HashMap<>();
        try (JsonParser parser = new JsonFactory().createParser(json)) {
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                if (token.isScalarValue()) {
                    values.put(parser.currentName(), parser.getText());
                }
            }
        }
        return values;
    }

    @Test
    void shouldHaveTheColumnsOfPerftest() throws IOException {
        String latency = print(
                Format.text, TestSettingsTest.settings(TestKind.WRITE_LAT, 8, false, 0), Result.latency(8, times(2)));
        assertTrue(
                latency.contains(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
                        + "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "),
                latency);
        List<String> lines = latency.lines().toList();
        String[] words = lines.get(4).strip().split(" +", -1);
        assertEquals("8", words[0]);
        assertEquals("1000", words[1]);
        assertEquals("0.50", words[2]);
        assertEquals(250, Double.parseDouble(words[4]), 0.5);
        assertEquals(9, words.length);

        String bandwidth = print(
                Format.text,
                TestSettingsTest.settings(TestKind.READ_BW, 1 << 20, false, 0),
                Result.bandwidth(1 << 20, new Outcome(1000, 1000, 500_000_000L, 250_000), null, null, 2));
        assertTrue(
                bandwidth.contains(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]"),
                bandwidth);
        words = bandwidth.lines().toList().get(4).strip().split(" +", -1);
        assertEquals(List.of("1048576", "1000", "4000.00", "2000.00", "0.002000"), List.of(words));
        assertTrue(bandwidth.contains("2 messages were lost"), bandwidth);
        assertTrue(bandwidth.contains("on rxe7"), bandwidth);
    }

    @Test
    void shouldWriteRowsForSpreadsheets() throws IOException {
        String text = print(
                Format.csv,
                TestSettingsTest.settings(TestKind.SEND_BW, 16, false, 100),
                Result.bandwidth(16, new Outcome(1000, 1000, 500_000_000L, 0), null, times(1), 0));
        List<String> lines = text.lines().toList();
        assertEquals(2, lines.size());
        List<String> names = List.of(lines.get(0).split(",", -1));
        List<String> values = List.of(lines.get(1).split(",", -1));
        assertEquals(names.size(), values.size());
        assertEquals("send-bw", values.get(names.indexOf("test")));
        assertEquals("RC", values.get(names.indexOf("connection")));
        assertEquals("16", values.get(names.indexOf("bytes")));
        assertEquals("0.002000", values.get(names.indexOf("msg_rate_mpps")));
        assertEquals(500, Double.parseDouble(values.get(names.indexOf("t_typical_usec"))), 1);
    }

    @Test
    void shouldWriteOneDocument() throws IOException {
        String text = print(
                Format.json, TestSettingsTest.settings(TestKind.ATOMIC_LAT, 8, false, 0), Result.latency(8, times(1)));
        Map<String, String> values = parse(text);
        assertEquals("atomic-lat", values.get("test"));
        assertEquals("CMP_AND_SWAP", values.get("atomic"));
        assertEquals("rxe7", values.get("device"));
        assertEquals("1000", values.get("iterations"));
        assertEquals(500, Double.parseDouble(values.get("t_typical_usec")), 1);
        assertEquals(999, Double.parseDouble(values.get("99.9")), 2);

        values = parse(print(
                Format.json,
                TestSettingsTest.settings(TestKind.WRITE_BW, 8, true, 0),
                Result.bandwidth(4, new Outcome(9, 9, 1000, 0), null, null, 0),
                Result.bandwidth(8, new Outcome(1000, 1000, 1_000_000_000L, 0), null, null, 0)));
        assertEquals("8", values.get("bytes"));
        assertEquals("0.001", values.get("msg_rate_mpps"));
    }
}
