package org.rdmapanama.samples.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.samples.figures.Drawing;
import org.w3c.dom.Document;

/** Plots contain the texts that say what they show. */
class PlotTest {
    @TempDir
    Path folder;

    /** Returns the texts of a drawing, which must be well-formed and contain a path. */
    static List<String> texts(Path file) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        // Do not load the document type from the web.
        factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
        Document document = factory.newDocumentBuilder().parse(file.toFile());
        assertEquals("svg", document.getDocumentElement().getTagName());
        assertTrue(document.getElementsByTagName("path").getLength() > 0, "nothing drawn");
        return Drawing.texts(document);
    }

    private static void assertTexts(List<String> found, String... expected) {
        for (String text : expected) {
            assertTrue(found.stream().anyMatch(each -> each.contains(text)), () -> "no '" + text + "' in " + found);
        }
    }

    @Test
    void shouldDrawTheDistribution() throws Exception {
        Path file = folder.resolve("latency.svg");
        Plot.draw(
                file,
                TestSettingsTest.settings(TestKind.SEND_LAT, 64, false, 0),
                List.of(Result.latency(64, ReportTest.times(2))));
        assertTexts(texts(file), "send-lat RC, 64 B", "percentile", "latency in µs", "90.0 %", "99.9 %");
    }

    @Test
    void shouldDrawCurvesOverTheSize() throws Exception {
        Path file = folder.resolve("latencies.svg");
        TestSettings settings = TestSettingsTest.settings(TestKind.WRITE_LAT, 1024, true, 0);
        List<Result> results = new ArrayList<>();
        for (long size : settings.sizes()) {
            results.add(Result.latency(size, ReportTest.times(2)));
        }
        Plot.draw(file, settings, results);
        assertTexts(texts(file), "write-lat RC", "message size", "median", "99 %");

        settings = TestSettingsTest.settings(TestKind.WRITE_BW, 1024, true, 0);
        results.clear();
        for (long size : settings.sizes()) {
            results.add(Result.bandwidth(size, new Outcome(1, 1, 1000, 0), null, null, 0));
        }
        Path other = folder.resolve("bandwidth.svg");
        Plot.draw(other, settings, results);
        assertTexts(texts(other), "write-bw RC", "bandwidth in MiB/s");
    }
}
