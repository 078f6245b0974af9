package org.rdmapanama.samples.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.Rdma;
import org.rdmapanama.samples.Run;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Lab;

/** Every test of {@code rdma perf} over every transport, from the second device to a server on the first. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PerfLabTest {
    private static final String HOST = "127.0.0.1";
    private static final String IWARP = "siw0";
    private static final int INLINE = 4096;

    private static Run server;
    private static String port;

    @TempDir
    Path folder;

    /** One server for all tests, as in real use. */
    @BeforeAll
    static void startServer() throws InterruptedException {
        port = Lab.portText();
        server = Run.start("perf", "server", "-d", Lab.FIRST_DEVICE, "-p", port, "--timeout", "10");
        server.await("waiting for a client");
    }

    @AfterAll
    static void stopServer() throws InterruptedException {
        server.interrupt();
        assertEquals(130, server.join(), server::toString);
        assertTrue(server.err().contains("rdma perf server: interrupted; everything is closed"), server::toString);
    }

    private static Run start(String test, String at, String... options) {
        List<String> arguments =
                new ArrayList<>(List.of("perf", test, "-d", Lab.SECOND_DEVICE, "-p", at, "--timeout", "60"));
        List<String> more = Arrays.asList(options);
        arguments.addAll(more);
        if (!more.contains("--warmup")) {
            arguments.addAll(List.of("--warmup", "0"));
        }
        arguments.add(HOST);
        return Run.start(arguments.toArray(String[]::new));
    }

    private static String[] words(String text) {
        return text.isEmpty() ? new String[0] : text.split(" +", -1);
    }

    /** Runs a test, which must succeed without a warning, and returns its output. */
    private static String succeed(String test, String... options) throws InterruptedException {
        Run run = start(test, port, options);
        assertEquals(0, run.join(), () -> run + server.err());
        assertEquals("", run.err());
        return run.out();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            send-lat   | ""
            send-lat   | -c UC -s 100
            send-lat   | -c UD -s 600
            send-lat   | -e -s 5000
            send-lat   | -c UD -e
            send-lat   | -r 1
            send-lat   | --warmup 1
            write-lat  | ""
            write-lat  | --warmup 1 -s 3000
            write-lat  | -s 10000
            write-lat  | -c UC
            read-lat   | -s 5000
            read-lat   | -e -o 1
            atomic-lat | --warmup 1
            atomic-lat | -A CMP_AND_SWAP
            send-bw    | -s 5000
            send-bw    | -c UC -s 64 -t 8
            send-bw    | -c UD -t 8
            send-bw    | -e -q 4 -s 64
            send-bw    | -b -q 2 -s 100
            send-bw    | -r 2 -s 64
            send-bw    | --warmup 1 -b -q 2
            write-bw   | -s 5000
            write-bw   | -c UC -s 64
            write-bw   | --post-list 4 -s 64
            write-bw   | --post-list 6 -Q 2 -q 2 -s 64
            write-bw   | -Q 7 -s 64 -t 16 -I 64 -m 512
            write-bw   | -b -q 4 -s 2000 -e
            read-bw    | -s 5000 -o 2
            read-bw    | -b -s 64 -Q 3
            atomic-bw  | -q 2
            atomic-bw  | --warmup 1 --post-list 4
            atomic-bw  | -A CMP_AND_SWAP --post-list 4
            """)
    void shouldMeasure(String test, String options) throws Exception {
        List<String> all = new ArrayList<>(List.of("-n", "60", "-F", "json"));
        all.addAll(Arrays.asList(words(options)));
        Map<String, String> values = ReportTest.parse(succeed(test, all.toArray(String[]::new)));
        assertEquals(test, values.get("test"));
        boolean latency = test.endsWith("lat");
        long queuePairs = Long.parseLong(values.get("queue_pairs"));
        assertEquals(60 * queuePairs, Long.parseLong(values.get("iterations")), values::toString);
        if (latency) {
            assertTrue(Double.parseDouble(values.get("t_min_usec")) > 0, values::toString);
            assertTrue(
                    Double.parseDouble(values.get("t_min_usec")) <= Double.parseDouble(values.get("t_max_usec")),
                    values::toString);
        } else {
            double average = Double.parseDouble(values.get("bw_average_mib_per_sec"));
            assertTrue(average > 0, values::toString);
            assertTrue(Double.parseDouble(values.get("bw_peak_mib_per_sec")) >= average * 0.99, values::toString);
        }
    }

    @Test
    void shouldSayThatTheDeviceHasNoSrd() throws Exception {
        Run run = start("send-bw", port, "-c", "SRD");
        assertEquals(1, run.join(), run::toString);
        assertTrue(run.err().contains(Lab.SECOND_DEVICE + " has no SRD, which is the transport of EFA"), run::toString);
        // The server, too, if the client has such a device.
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, Lab.FIRST_DEVICE);
            TestSettings settings = TestSettingsTest.settings(TestKind.SEND_LAT, Connection.SRD, 64, false, 0);
            Failure failure =
                    assertThrows(Failure.class, () -> new TestSide(arena, context, settings, new ConnectOptions()));
            assertTrue(failure.getMessage().contains("has no SRD"), failure::getMessage);
        }
    }

    private static void makesNoSense(TestSide side, String why, byte[] place) {
        Failure failure = assertThrows(Failure.class, () -> side.meet(ByteBuffer.wrap(place)));
        assertTrue(failure.getMessage().contains(why), failure::getMessage);
    }

    @Test
    void shouldRefuseAPeerThatMakesNoSense() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, Lab.FIRST_DEVICE);
            TestSettings settings = TestSettingsTest.settings(TestKind.WRITE_BW, 64, false, 0);
            TestSide side = new TestSide(arena, context, settings, new ConnectOptions());
            byte[] place = side.place();
            side.meet(ByteBuffer.wrap(place));
            makesNoSense(side, "different number of queue pairs", Arrays.copyOf(place, 5));
            makesNoSense(side, "different number of queue pairs", Arrays.copyOf(place, RemoteMemory.BYTES + 1));
            makesNoSense(side, "different number of queue pairs", Arrays.copyOf(place, place.length + 1));
            makesNoSense(side, "addresses are malformed", Arrays.copyOf(place, RemoteMemory.BYTES + 8));
            byte[] longer = Arrays.copyOf(place, 10_000);
            longer[RemoteMemory.BYTES] = -1;
            longer[RemoteMemory.BYTES + 1] = -1;
            makesNoSense(side, "addresses are malformed", longer);
            RemoteMemory memory = RemoteMemory.readFrom(ByteBuffer.wrap(place));
            memory.slice(1).writeTo(ByteBuffer.wrap(place));
            makesNoSense(side, "offers " + (memory.length() - 1) + " bytes, fewer than", place);
            // The length begins at 8.
            place[8] = -1;
            makesNoSense(side, "must not be negative", place);
        }
    }

    /** More inline data than any device supports. */
    @Test
    void shouldDoWithLessInline() {
        TestSettings settings = TestSettingsTest.settings(TestKind.WRITE_BW, 64, false, 0);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, Lab.FIRST_DEVICE);
            TestSide side = new TestSide(arena, context, inline(settings, true), new ConnectOptions());
            int granted = side.queuePairs[0].capabilities().maxInlineData();
            assertTrue(granted >= 64 && granted < INLINE, () -> granted + " bytes");
            VerbsException refused = assertThrows(
                    VerbsException.class,
                    () -> new TestSide(arena, context, inline(settings, false), new ConnectOptions()));
            assertEquals(22, refused.errno());
        }
    }

    private static TestSettings inline(TestSettings settings, boolean less) {
        return new TestSettings(
                settings.kind(),
                settings.connection(),
                settings.size(),
                settings.all(),
                settings.iterations(),
                settings.seconds(),
                settings.warmUp(),
                settings.txDepth(),
                settings.rxDepth(),
                settings.queuePairs(),
                settings.postList(),
                settings.moderation(),
                INLINE,
                less,
                settings.events(),
                settings.bidirectional(),
                settings.outstanding(),
                settings.mtu(),
                settings.atomic(),
                settings.rate());
    }

    @Test
    void shouldTryAllSizes() throws Exception {
        Path plot = folder.resolve("sizes.svg");
        List<String> lines = succeed("write-bw", "-a", "-s", "8192", "-n", "20", "-F", "csv", "--plot", plot.toString())
                .lines()
                .toList();
        assertEquals(1 + 13, lines.size(), lines::toString);
        assertTrue(lines.get(1).startsWith("write-bw,RC,2,20,"), lines::toString);
        assertTrue(lines.getLast().startsWith("write-bw,RC,8192,20,"), lines::toString);
        assertTrue(PlotTest.texts(plot).stream().anyMatch(text -> text.contains("bandwidth in MiB/s")));
        // Up to the largest size, 8 MiB.
        lines = succeed("write-lat", "-a", "-n", "5", "-F", "csv").lines().toList();
        assertEquals(1 + 23, lines.size(), lines::toString);
        assertTrue(lines.getLast().startsWith("write-lat,RC,8388608,5,"), lines::toString);
        // Up to the MTU, which is 1024 in the lab.
        lines = succeed("send-lat", "-c", "UD", "-a", "-n", "5", "-F", "csv")
                .lines()
                .toList();
        assertTrue(lines.size() > 8, lines::toString);
    }

    /** All at the same time, because each of them takes the processors for a second. */
    @Test
    void shouldMeasureForATime() throws Exception {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (String test : List.of("send-lat", "write-lat", "send-bw", "write-bw")) {
            all.add(Async.start(() -> {
                measureForASecond(test);
                return null;
            }));
        }
        for (CompletableFuture<Void> each : all) {
            Async.get(each);
        }
    }

    private static void measureForASecond(String test) throws Exception {
        String at = Lab.portText();
        Run once = Run.start("perf", "server", "--once", "-d", Lab.FIRST_DEVICE, "-p", at, "--timeout", "60");
        once.await("waiting for a client");
        long start = System.nanoTime();
        Run client = start(test, at, "-D", "1", "-s", "64", "-F", "json");
        assertEquals(0, client.join(), () -> client + once.err());
        assertTrue(System.nanoTime() - start >= 1_000_000_000L);
        assertEquals("", client.err());
        assertEquals(0, once.join(), once::toString);
        Map<String, String> values = ReportTest.parse(client.out());
        assertTrue(Long.parseLong(values.get("iterations")) > 1, values::toString);
    }

    @Test
    void shouldKeepARate() throws Exception {
        Path plot = folder.resolve("rate.svg");
        String[] options = {"-n", "100", "--rate", "200", "-s", "64", "-F", "json", "--plot", plot.toString()};
        for (String test : List.of("write-bw", "send-lat")) {
            long start = System.nanoTime();
            Map<String, String> values = ReportTest.parse(succeed(test, options));
            // The first is due at once, the last 0.495 seconds later.
            assertTrue(System.nanoTime() - start >= 495_000_000L, values::toString);
            assertEquals("200", values.get("rate_per_sec"));
            assertTrue(Double.parseDouble(values.get("t_min_usec")) > 0, values::toString);
            assertTrue(PlotTest.texts(plot).stream().anyMatch(text -> text.contains("200 per second")));
        }
    }

    /** A stopped peer delays all messages that become due meanwhile, not only the one in flight. */
    @Test
    void shouldCountWhatAStoppedPeerHoldsUp() throws Exception {
        String at = Lab.portText();
        try (Program stopped = Program.java(
                List.of(), Rdma.class, "perf", "server", "-d", Lab.FIRST_DEVICE, "-p", at, "--timeout", "60")) {
            stopped.await("waiting for a client");
            // Loads all classes of the server, so that the next test starts at once.
            assertEquals(0, start("send-lat", at, "-n", "5").join());
            Run client = start("send-lat", at, "-e", "-n", "300", "--rate", "100", "-s", "64", "-F", "json");
            stopped.await("  send-lat RC, 64 B");
            Thread.sleep(1000);
            stopped.signal("STOP");
            Thread.sleep(1500);
            stopped.signal("CONT");
            assertEquals(0, client.join(), client::toString);
            Map<String, String> values = ReportTest.parse(client.out());
            // About 150 of the 300 messages were due in that time. A test that postponed them would show only one
            // delay.
            double p99 = Double.parseDouble(values.get("99.0"));
            double p90 = Double.parseDouble(values.get("90.0"));
            assertTrue(p99 > 1_000_000, values::toString);
            assertTrue(p90 > 300_000, values::toString);
            assertTrue(Double.parseDouble(values.get("t_typical_usec")) < p90, values::toString);
        }
    }

    @Test
    void shouldPrintForPeople() throws Exception {
        String text = succeed("read-lat", "-n", "30", "-s", "16");
        assertTrue(text.contains("read-lat RC, 16 B, 30 iterations, on " + Lab.SECOND_DEVICE), text);
        assertTrue(text.contains("t_typical[usec]"), text);
        assertTrue(server.out().contains("  read-lat RC, 16 B, 30 iterations"), server::toString);
    }

    @Test
    void shouldTellWhatTheDeviceCannot() throws Exception {
        Run run = start("send-lat", port, "-c", "UD", "-s", "64KiB");
        assertEquals(2, run.join(), run::toString);
        assertTrue(
                run.err().contains("--size must be between 1 byte and")
                        && run.err().contains("the MTU"),
                run::toString);

        Run nobody =
                Run.start("perf", "write-lat", "-d", Lab.SECOND_DEVICE, "-p", Lab.portText(), "--timeout", "1", HOST);
        Run lonely =
                Run.start("perf", "server", "--once", "-d", Lab.FIRST_DEVICE, "-p", Lab.portText(), "--timeout", "1");
        assertEquals(1, nobody.join(), nobody::toString);
        assertTrue(nobody.err().contains("start the server there first"), nobody::toString);

        // Only in the lab.
        if (DeviceList.query().stream().anyMatch(device -> device.name().equals(IWARP))) {
            Run other = Run.start("perf", "server", "-d", IWARP, "-p", Lab.portText());
            assertEquals(1, other.join(), other::toString);
            assertTrue(other.err().contains(IWARP + " is iWARP"), other::toString);
        }

        assertEquals(1, lonely.join(), lonely::toString);
        assertTrue(lonely.err().contains("no client came"), lonely::toString);
    }

    @Test
    void shouldNotMindStrangers() throws Exception {
        try (Socket stranger = new Socket(InetAddress.getByName(HOST), Integer.parseInt(port))) {
            stranger.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            InputStream answer = stranger.getInputStream();
            stranger.setSoTimeout(20_000);
            // The stranger is told why, and disconnected.
            assertTrue(new String(answer.readAllBytes(), StandardCharsets.UTF_8).contains("another protocol"));
        }
        succeed("write-lat", "-n", "5");
        assertTrue(server.err().contains("the peer is not 'rdma perf'"), server::toString);
    }

    /** One that says nothing has no turn, and takes none from others. */
    @Test
    void shouldServeBesideASilentClient() throws Exception {
        try (Socket silent = new Socket(InetAddress.getByName(HOST), Integer.parseInt(port))) {
            succeed("write-lat", "-n", "5");
            assertTrue(silent.isConnected());
        }
    }

    /** It says nothing in the middle of its test, and does not hold its turn until --timeout is over. */
    @Test
    void shouldEndTheTurnOfAClientThatIsStopped() throws Exception {
        String at = Lab.portText();
        Run patient = Run.start("perf", "server", "-d", Lab.FIRST_DEVICE, "-p", at, "--timeout", "1000");
        patient.await("waiting for a client");
        try (Program stopped = Program.java(
                List.of(), Rdma.class, "perf", "write-bw", "-d", Lab.SECOND_DEVICE, "-p", at, "-D", "1000", HOST)) {
            patient.await("write-bw");
            stopped.signal("STOP");
            Run next = start("write-lat", at, "-n", "5");
            assertEquals(0, next.join(), () -> next + patient.err());
            assertTrue(patient.err().contains("the peer was silent for 10 s"), patient::toString);
        }
        patient.interrupt();
        assertEquals(130, patient.join(), patient::toString);
    }

    @Test
    void shouldSayWhenTheClientIsInterrupted() throws Exception {
        for (String test : List.of("send-lat", "write-bw")) {
            String at = Lab.portText();
            Run once = Run.start("perf", "server", "--once", "-d", Lab.FIRST_DEVICE, "-p", at, "--timeout", "60");
            once.await("waiting for a client");
            Run client = start(test, at, "-D", "100", "-s", "64");
            once.await(test);
            Thread.sleep(500);
            client.interrupt();
            assertEquals(130, client.join(), client::toString);
            assertEquals(1, once.join(), once::toString);
            assertTrue(once.err().contains("the peer ended early"), once::toString);
            assertEquals(1, once.err().lines().count(), once::toString);
        }
    }

    @Test
    void shouldSayWhenTheServerIsKilled() throws Exception {
        String at = Lab.portText();
        try (Program killed =
                Program.java(List.of(), Rdma.class, "perf", "server", "--once", "-d", Lab.FIRST_DEVICE, "-p", at)) {
            killed.await("waiting for a client");
            Run client = start("write-bw", at, "-D", "100", "-s", "64");
            killed.await("write-bw");
            Thread.sleep(500);
            killed.kill();
            assertEquals(1, client.join(), client::toString);
            assertTrue(client.err().contains("the peer ended early"), client::toString);
        }
    }

    @Test
    @Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    @NeedsKernelDevice("perftest")
    void shouldCompareWithPerftest() throws Exception {
        Run run = Run.start(
                "perf",
                "--compare-perftest",
                "--ops",
                "write-lat,read-bw",
                "--sizes",
                "8",
                "--rounds",
                "1",
                "--iters",
                "20",
                "--first-port",
                "23000",
                "--devices",
                Lab.FIRST_DEVICE + "," + Lab.SECOND_DEVICE);
        assertEquals(0, run.join(Duration.ofSeconds(280)), run::toString);
        assertTrue(
                run.out().matches("(?s).*write-lat +8 B +[\\d.]+ usec +[\\d.]+ usec +[\\d.]+ +[\\d.]+ +(met|missed).*"),
                run::toString);
        assertTrue(run.out().matches("(?s).*read-bw +8 B +[\\d.]+ MB/sec +[\\d.]+ MB/sec.*"), run::toString);
        assertTrue(run.out().contains("goal for latency"), run::toString);
        assertTrue(run.err().contains("read-bw 8 B, round 1 of 1: C "), run::toString);
        assertFalse(run.err().contains("rdma perf:"), run::toString);
    }
}
