package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.rdmapanama.samples.figures.Drawing.elements;
import static org.rdmapanama.samples.figures.Drawing.texts;

import java.io.ByteArrayInputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.rdmapanama.samples.figures.Figure;
import org.rdmapanama.samples.figures.Svg;
import org.rdmapanama.samples.learn.PacketArrow.Kind;
import org.rdmapanama.samples.today.TransferMethod;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** Pictures have every packet, step and copy once, in order, and say in words what they show. */
class PicturesTest {
    private static final int MOST = 60;

    private static Document document(Figure figure) throws Exception {
        byte[] text = figure.draw().document().getBytes(StandardCharsets.UTF_8);
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new ByteArrayInputStream(text));
    }

    private static PacketArrow arrow(String from, String to, String operation) {
        return new PacketArrow(from, to, true, Kind.REQUEST, operation, "psn 0", false);
    }

    /** The ends and operations from the top down. */
    private static List<String> order(PacketArrow... arrows) throws Exception {
        return texts(document(new PacketPicture(List.of(arrows)))).stream()
                .filter(each -> each.length() == 1 || each.startsWith("OP"))
                .toList();
    }

    @Test
    void shouldDrawEndsThatExchangePacketsBesideEachOther() throws Exception {
        assertEquals(
                List.of("A", "B", "C", "OP1", "OP3", "OP4", "X", "Y", "OP2"),
                order(arrow("A", "B", "OP1"), arrow("X", "Y", "OP2"), arrow("C", "A", "OP3"), arrow("B", "C", "OP4")));
    }

    @Test
    void shouldDrawFurtherEndsBelow() throws Exception {
        assertEquals(
                List.of("A", "B", "C", "OP1", "OP2", "D", "B", "A", "OP3", "OP4"),
                order(arrow("A", "B", "OP1"), arrow("C", "B", "OP2"), arrow("D", "B", "OP3"), arrow("A", "B", "OP4")));
    }

    @Test
    void shouldDrawAnArrowFromTheSenderToTheReceiver() throws Exception {
        Document document = document(new PacketPicture(
                List.of(new PacketArrow("A", "B", false, Kind.REFUSAL, "ACKNOWLEDGE", "psn 0, NAK", false))));
        Element arrow = elements(document, "line").stream()
                .filter(each -> each.hasAttribute("stroke-dasharray"))
                .findFirst()
                .orElseThrow();
        assertTrue(
                Double.parseDouble(arrow.getAttribute("x1")) > Double.parseDouble(arrow.getAttribute("x2")),
                "from the right to the left");
        assertEquals(
                "B to A: ACKNOWLEDGE, psn 0, NAK.",
                elements(document, "desc").getFirst().getTextContent());
        assertTrue(texts(document).contains("refusal"), "the legend");
    }

    @Test
    void shouldTellConnectionsOfTheSameEndsApart() throws Exception {
        PacketArrow first = arrow("A", "B", "OP1");
        PacketArrow second = new PacketArrow("A", "B", true, Kind.REQUEST, "OP2", "psn 0", true);
        List<String> texts = texts(document(new PacketPicture(List.of(first, second))));
        assertTrue(
                texts.indexOf("OP1") < texts.indexOf("new connection")
                        && texts.indexOf("new connection") < texts.indexOf("OP2"),
                texts::toString);
        List<String> lines = PacketArrow.text(List.of(first, second)).lines().toList();
        assertEquals("   new connection", lines.get(1));
    }

    @Test
    void shouldPrintTheFirstAndTheLastOfManyPackets() {
        List<PacketArrow> arrows = new ArrayList<>();
        for (int i = 1; i <= 2000; i++) {
            arrows.add(arrow("A", "B", "OP" + i));
        }
        List<String> lines = PacketArrow.shortText(arrows).lines().toList();
        assertEquals(81, lines.size());
        assertTrue(lines.get(39).contains("OP40 "), lines::toString);
        assertEquals("… 1920 more", lines.get(40));
        assertTrue(lines.get(41).contains("OP1961 "), lines::toString);
        assertEquals(PacketArrow.text(arrows.subList(0, 81)), PacketArrow.shortText(arrows.subList(0, 81)));
    }

    @Test
    void shouldSayHowManyPacketsItLeavesOut() throws Exception {
        List<PacketArrow> arrows = new ArrayList<>();
        for (int i = 0; i <= MOST; i++) {
            arrows.add(arrow("A", "B", "OP" + i));
        }
        List<String> texts = texts(document(new PacketPicture(arrows)));
        assertEquals(MOST, texts.stream().filter(each -> each.startsWith("OP")).count());
        assertTrue(texts.contains("and 1 more packet"), texts::toString);
    }

    @Test
    void shouldDivideDetailsIntoLines() throws Exception {
        String details = "psn 4, 64 B of 1000, rkey 0x12345678, immediate 7, asks for ACK";
        List<String> texts = texts(document(
                new PacketPicture(List.of(new PacketArrow("A", "B", true, Kind.REQUEST, "OP", details, false)))));
        List<String> lines = texts.subList(texts.indexOf("OP") + 1, texts.indexOf("request"));
        assertEquals(details, String.join(" ", lines));
        assertTrue(lines.size() > 1, lines::toString);
        assertTrue(lines.stream().allMatch(each -> each.length() <= 36), lines::toString);
    }

    @Test
    void shouldDrawEveryCopy() throws Exception {
        for (TransferMethod way : TransferMethod.values()) {
            List<String> texts = texts(document(new CopiesPicture(List.of(way))));
            assertEquals(
                    way.path().byCpu(),
                    texts.stream().filter(each -> each.equals("CPU")).count(),
                    way::toString);
            assertEquals(
                    way.path().byDma(),
                    texts.stream().filter(each -> each.equals("DMA")).count(),
                    way::toString);
        }
    }

    @Test
    void shouldFillWhatIsNewInAQueue() throws Exception {
        QueueBoard.Row before = new QueueBoard.Row("A", List.of("WQE 1"), List.of(), List.of(), List.of());
        QueueBoard.Row after = new QueueBoard.Row("A", List.of("WQE 1", "WQE 2"), List.of(), List.of(), List.of());
        Document document = document(new QueuePicture(List.of(
                new QueueBoard.Step("posted", List.of(before)), new QueueBoard.Step("posted again", List.of(after)))));
        assertEquals(
                2,
                elements(document, "rect").stream()
                        .filter(each -> each.getAttribute("class").contains("fill-blue"))
                        .count());
        assertEquals(
                "posted. A: send queue WQE 1. posted again. A: send queue WQE 1, WQE 2.",
                elements(document, "desc").getFirst().getTextContent());
    }

    @Test
    void shouldRefuseTwoPicturesOfOneName() {
        Board board = new Board(new PrintWriter(new StringWriter()));
        Figure figure = () -> new Svg(1, 1, "", "");
        board.picture("plot", "one", figure);
        assertThrows(IllegalStateException.class, () -> board.chart("plot", "another one", figure));
        assertEquals(
                List.of("one"), board.pictures().stream().map(Picture::caption).toList());
    }
}
