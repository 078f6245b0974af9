package org.rdmapanama.samples.learn;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.samples.figures.BarChart;
import org.rdmapanama.samples.figures.Charts;
import org.rdmapanama.samples.figures.Colour;
import org.rdmapanama.samples.figures.Figure;
import org.rdmapanama.samples.figures.LatencyRecord;
import org.rdmapanama.samples.figures.Svg;
import org.rdmapanama.samples.figures.Svg.Anchor;
import org.rdmapanama.samples.figures.Svg.Face;
import org.rdmapanama.samples.figures.Svg.Stroke;

/**
 * Chromium shows the page of the lessons as wide as a phone, a tablet and a desktop, on a light and on a dark screen: nothing
 * overlaps or is cut off, what has to be scrolled says so, all text is large enough and differs from its background, and nothing is
 * loaded. The same goes for
 * the charts of commands.
 */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LearnPageBrowserTest {
    private static final List<Integer> WIDTHS = List.of(360, 800, 1280);
    private static final List<String> BROWSERS = List.of("chromium", "chromium-browser", "google-chrome");
    private static final int SECONDS = 90;
    private static final int CHARTS = 4;
    private static final Pattern RESULT = Pattern.compile("<pre id=\"result\">(.*?)</pre>", Pattern.DOTALL);
    private static final Pattern LINE = Pattern.compile("(?m)^(good|charts|bad) (\\d+) (light|dark): ([\\w ]+): (.*)$");

    @TempDir
    private Path folder;

    @BeforeAll
    static void requireSoft0() {
        LessonRuns.requireSoft0();
    }

    @Test
    void shouldBeReadable() throws Exception {
        Path browser = browser();
        assumeTrue(browser != null, "needs Chromium (Debian: chromium, fonts-dejavu-core)");
        List<LessonOutput> outputs = LessonRuns.all();
        int drawings = outputs.stream().mapToInt(each -> each.pictures().size()).sum();
        String page = LearnPage.of(outputs, "of a test");
        String result = check(browser, Map.of("good", page, "charts", charts(), "bad", badPage()));
        assertTrue(result.endsWith("\nend"), () -> "the check did not end: " + result);

        List<String> problems = new ArrayList<>();
        Map<String, List<String>> bad = new TreeMap<>();
        List<String> seen = new ArrayList<>();
        for (Matcher line = LINE.matcher(result); line.find(); ) {
            String frame = line.group(2) + " " + line.group(3);
            boolean summary = line.group(4).equals("seen");
            if (line.group(1).equals("bad")) {
                bad.computeIfAbsent(line.group(4), kind -> new ArrayList<>()).add(frame + ": " + line.group(5));
            } else if (summary) {
                seen.add(frame);
                int expected = line.group(1).equals("good") ? drawings : CHARTS;
                assertTrue(line.group(5).startsWith(expected + " drawings, "), line::group);
            } else {
                problems.add(line.group());
            }
        }
        assertEquals(4 * WIDTHS.size(), seen.size(), () -> "frames: " + seen);
        assertEquals(List.of(), problems);

        // The check finds what is wrong with another page.
        assertFound(bad, "cut off", "'a label that is");
        assertFound(bad, "cut off", "'hidden");
        assertFound(bad, "overlap", "'one' and text 'another'");
        assertFound(bad, "overlap", "p 'above' and p 'below'");
        assertFound(bad, "across a border", "'longer than its box'");
        assertFound(bad, "crossed", "'under a line'");
        assertFound(bad, "crossed", "'on a curve'");
        assertFound(bad, "contrast", "'grey on white'");
        assertFound(bad, "contrast", "'faint'");
        assertFound(bad, "small", "text 'one'");
        assertFound(bad, "too wide", "pixels");
        assertFound(bad, "hint", "missing: wide");
        assertFound(bad, "hint", "needless: narrow");
        assertFound(bad, "loads", "picture.png");
        assertFound(bad, "loads", "url(");
    }

    private static void assertFound(Map<String, List<String>> problems, String kind, String what) {
        assertTrue(
                problems.getOrDefault(kind, List.of()).stream().anyMatch(each -> each.contains(what)),
                () -> "not found: " + kind + ": " + what + " in " + problems);
    }

    /** Returns a page with charts as commands draw them. */
    private static String charts() {
        LatencyRecord latencies = new LatencyRecord(1);
        for (int i = 1; i <= 10_000; i++) {
            latencies.record(i * 1000L);
        }
        latencies.complete();
        double[] sizes = DoubleStream.iterate(2, size -> size <= 1 << 23, size -> size * 2)
                .toArray();
        double[] rising = DoubleStream.of(sizes).map(size -> 3 + size / 5000).toArray();
        BarChart bars = new BarChart("bars").panel("time", "sender", "receiver");
        for (int i = 0; i < 5; i++) {
            bars.bar("RDMA WRITE, file: mapped and registered each time", 100.0 * i, 0.123);
        }
        Figure[] charts = {
            Charts.distribution("a distribution", latencies),
            Charts.latencyOverSize("latencies", sizes)
                    .add("median", sizes, rising)
                    .add("99 %", sizes, rising),
            Charts.bandwidthOverSize("rates", sizes).add("average", sizes, rising),
            bars
        };
        assertEquals(CHARTS, charts.length);
        return "<!DOCTYPE html><html><head><style>" + Svg.style() + "</style></head><body>"
                + Stream.of(charts)
                        .map(chart ->
                                "<div style='overflow-x: auto'>" + chart.draw().element() + "</div>")
                        .collect(Collectors.joining())
                + "</body></html>";
    }

    /** Returns a page on which everything is wrong that can be. */
    private static String badPage() {
        String svg = new Svg(300, 200, "bad", "bad")
                .text(10, 20, Anchor.START, Colour.INK, Face.PLAIN, "one")
                .text(15, 22, Anchor.START, Colour.INK, Face.PLAIN, "another")
                .text(200, 40, Anchor.START, Colour.INK, Face.PLAIN, "a label that is too long by far for the drawing")
                .box(10, 60, 60, 30, 0, Colour.BOX, Colour.MUTED)
                .text(40, 80, Anchor.MIDDLE, Colour.INK, Face.PLAIN, "longer than its box")
                .line(0, 116, 300, 116, Colour.INK, Stroke.SOLID)
                .text(10, 120, Anchor.START, Colour.INK, Face.PLAIN, "under a line")
                .curve(new double[] {0, 300}, new double[] {200, 160}, Colour.RED)
                .text(130, 185, Anchor.START, Colour.INK, Face.PLAIN, "on a curve")
                .text(10, 150, Anchor.START, Colour.GRID, Face.PLAIN, "faint")
                .element()
                // Half as large as it should be.
                .replace("min-width: 263px", "min-width: 0; width: 150px");
        return "<!DOCTYPE html><html><head><style>" + Svg.style() + "</style></head><body>" + svg
                + "<p style='overflow: hidden; width: 20px; white-space: nowrap'>hidden text</p>"
                + "<p style='color: #999; background: #fff'>grey on white</p>"
                + "<div><div class='scrolled drawn' style='overflow-x: auto'>"
                + "<div style='width: 3000px'>wide</div></div></div>"
                + "<div><div class='scrolled drawn'>narrow</div><p class='hint'>scroll</p></div>"
                + "<p>above</p><p style='margin-top: -30px; background: url(data:,)'>below</p>"
                + "<img src='file:///nowhere/picture.png' alt='' style='width: 1500px; height: 10px'></body></html>";
    }

    /** Has the browser check pages, by title, and returns what it found. */
    private String check(Path browser, Map<String, String> pages) throws Exception {
        String script;
        try (InputStream in = LearnPageBrowserTest.class.getResourceAsStream("check-page.js")) {
            script = new String(in.readAllBytes(), UTF_8);
        }
        String texts = pages.entrySet().stream()
                .map(page -> page.getKey() + ": " + literal(page.getValue()))
                .collect(Collectors.joining(",\n"));
        Path file = folder.resolve("check.html");
        Files.writeString(
                file,
                "<!DOCTYPE html><html><head><meta charset=\"utf-8\"></head><body><script>\nconst WIDTHS = " + WIDTHS
                        + ";\nconst PAGES = {" + texts + "};\n" + script + "</script></body></html>");
        String output = run(
                "env",
                "HOME=" + folder,
                browser.toString(),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--user-data-dir=" + folder.resolve("profile"),
                "--window-size=1400,1000",
                "--virtual-time-budget=60000",
                "--dump-dom",
                file.toUri().toString());
        Matcher result = RESULT.matcher(output);
        assertTrue(result.find(), () -> "no result: " + output.substring(Math.max(0, output.length() - 2000)));
        return result.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    }

    private static String run(String... command) throws Exception {
        try (Program program = Program.start(command)) {
            try {
                assertEquals(0, program.join(SECONDS), program::toString);
                return program.output();
            } finally {
                ProcessHandle.of(program.pid()).stream()
                        .flatMap(ProcessHandle::descendants)
                        .forEach(ProcessHandle::destroyForcibly);
            }
        }
    }

    /** Returns a text as JavaScript has it within a page. */
    private static String literal(String text) {
        return '"'
                + text.replace("\\", "\\\\")
                        .replace("\"", "\\\"")
                        .replace("\n", "\\n")
                        .replace("\r", "\\r")
                        .replace("<", "\\u003c")
                + '"';
    }

    private static Path browser() {
        return BROWSERS.stream()
                .flatMap(name -> Stream.of(System.getenv("PATH").split(":", -1)).map(each -> Path.of(each, name)))
                .filter(Files::isExecutable)
                .findFirst()
                .orElse(null);
    }
}
