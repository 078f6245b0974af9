package org.rdmapanama.samples.today;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.rdmapanama.samples.figures.Drawing.elements;
import static org.rdmapanama.samples.figures.Drawing.texts;

import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.samples.figures.Charts;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** The chart draws what is known, and stays in its frame. */
class TodayChartTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long MEBIBYTE = 1 << 20;
    private static final Counts COUNTS = new Counts(1, 1, 1, 1, 0, 30, 10, "");

    @TempDir
    private Path folder;

    private Document draw(Map<TransferMethod, List<Sample>> samples) throws Exception {
        Path file = folder.resolve("today.svg");
        Charts.write(TodayChart.of("1 GiB & <more>", samples), file);
        Document document =
                DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(file.toFile());
        double width = number(document.getDocumentElement(), "width");
        double height = number(document.getDocumentElement(), "height");
        for (Element bar : bars(document)) {
            assertTrue(number(bar, "x") + number(bar, "width") <= width, "a bar is too long");
            assertTrue(number(bar, "y") + number(bar, "height") <= height, "a bar is too low");
        }
        return document;
    }

    private static double number(Element element, String attribute) {
        return Double.parseDouble(element.getAttribute(attribute));
    }

    /** Without the background, which comes first. */
    private static List<Element> bars(Document document) {
        List<Element> all = elements(document, "rect");
        return all.subList(1, all.size());
    }

    @Test
    void shouldDrawBarsInProportion() throws Exception {
        Sample slow = new Sample(1024 * MEBIBYTE, 2 * SECOND, SECOND, SECOND, 0, 0, COUNTS, COUNTS);
        Sample fast = new Sample(1024 * MEBIBYTE, SECOND, SECOND, 0, 0, 0, COUNTS, COUNTS);
        Document document =
                draw(Map.of(TransferMethod.MEMORY, List.of(slow), TransferMethod.RDMA_READY, List.of(fast)));
        List<Element> bars = bars(document);
        // Two of one part, and twice two of two parts.
        assertEquals(10, bars.size());
        assertEquals(2 * number(bars.getFirst(), "width"), number(bars.get(1), "width"), 0.2);
        List<String> texts = texts(document);
        assertTrue(texts.containsAll(List.of("1 GiB & <more>", "512", "1024", "2", "1", "40")), texts::toString);
        for (TransferMethod way : TransferMethod.values()) {
            assertEquals(3, Collections.frequency(texts, way.title()), way.title());
        }
        assertEquals(3 * (TransferMethod.values().length - 2), Collections.frequency(texts, "-"));
    }

    @Test
    void shouldDrawDashesWhereNothingIsKnown() throws Exception {
        Document document = draw(Map.of());
        assertEquals(List.of(), bars(document));
        assertEquals(3 * TransferMethod.values().length, Collections.frequency(texts(document), "-"));
    }
}
