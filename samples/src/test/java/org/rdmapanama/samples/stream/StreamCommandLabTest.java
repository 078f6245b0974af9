package org.rdmapanama.samples.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.samples.Rdma;
import org.rdmapanama.samples.Run;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.RunsAlone;

/** Runs {@code bin/rdma stream} with itself and, in both directions, with rstream of rdma-core. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StreamCommandLabTest {
    private static final String SERVER = Lab.SECOND_HOST;
    private static final String CLIENT = Lab.FIRST_HOST;

    /** The lab's networks, without the last number of their addresses. */
    private static final String ROCE = "10.77.0.";

    private static final String IWARP = "10.78.0.";
    private static final Pattern RESULT =
            Pattern.compile("(?m)^custom +1.5k +3 +20 +180k +\\d+\\.\\d\\ds +\\d+\\.\\d\\d +\\d+\\.\\d\\d$");

    /** The tests of rstream without -S, by name. */
    private static final List<String> NAMES =
            List.of("64_lat", "4k_lat", "64k_lat", "1m_lat", "64_bw", "4k_bw", "64k_bw", "1m_bw");

    /** Of how many transfers of the usual tests there is one, where both sides are ours. */
    private static final String DIVISOR_PROPERTY = "stream.divisor";

    private static final int DIVISOR = Integer.getInteger(DIVISOR_PROPERTY, 1);

    /** The mode in which rstream repeats calls that return at once. */
    private static final String POLLING = "-T n";

    /** How long one of the tests of rstream may take: one goes there and back 100,000 times. */
    private static final Duration LONGEST = Duration.ofSeconds(100);

    private static final String YIELDING_CALLS = """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <sched.h>
            #include <stdio.h>
            #include <sys/types.h>

            /* What stdbuf would do if it were not replaced. */
            __attribute__((constructor)) static void write_lines(void)
            {
                setvbuf(stdout, NULL, _IOLBF, 0);
            }

            static ssize_t yield(ssize_t result)
            {
                int error = errno;

                if (result < 0 && error == EWOULDBLOCK)
                    sched_yield();
                errno = error;
                return result;
            }

            ssize_t rrecv(int socket, void *buffer, size_t length, int flags)
            {
                ssize_t (*next)(int, void *, size_t, int) = dlsym(RTLD_NEXT, "rrecv");

                return yield(next(socket, buffer, length, flags));
            }

            ssize_t rsend(int socket, const void *buffer, size_t length, int flags)
            {
                ssize_t (*next)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "rsend");

                return yield(next(socket, buffer, length, flags));
            }
            """;

    @TempDir
    private Path folder;

    private final String port = Lab.portText();

    private static String[] with(String options, String... more) {
        List<String> all = new ArrayList<>(List.of(more));
        all.addAll(List.of(options.split(" ")));
        return all.toArray(String[]::new);
    }

    private Run serve(String options) throws Exception {
        Run server = Run.start(with(options, "stream", "-p", port));
        server.await("waiting for a client");
        return server;
    }

    private Run client(String options) {
        return client(options, CLIENT, SERVER);
    }

    private Run client(String options, String from, String to) {
        return Run.start(with(options, "stream", "-s", to, "-b", from, "-p", port));
    }

    private static void assertDone(Run run) throws Exception {
        assertEquals(0, run.join(), run::toString);
        assertTrue(RESULT.matcher(run.out()).find(), run::toString);
    }

    private Program startRstream(String options, String... more) throws Exception {
        List<String> words = new ArrayList<>();
        if (options.equals(POLLING) && Runtime.getRuntime().availableProcessors() == 1) {
            words.addAll(List.of("env", "LD_PRELOAD=" + yieldingCalls()));
        }
        words.add("rstream");
        words.addAll(List.of(more));
        return Program.start(with(options, words.toArray(String[]::new)));
    }

    /**
     * Compiles what lets other processes run whenever a call of rstream has nothing to return. On a single processor each of
     * many messages would otherwise wait for a time slice.
     */
    private Path yieldingCalls() throws IOException {
        Path source = folder.resolve("yield.c");
        Path library = folder.resolve("yield.so");
        Files.writeString(source, YIELDING_CALLS);
        Program.run("cc", "-shared", "-fPIC", "-o", library.toString(), source.toString());
        return library;
    }

    /** Starts rstream as a server. It writes its header when it listens. */
    private Program rstream(String options, String host) throws Exception {
        Program server = startRstream(options, "-b", host, "-p", port);
        server.await("usec/xfer");
        return server;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-T n",
                "-T b",
                "-T a",
                "-T a -T b",
                "-T s",
                "-T s -T b",
                "-T s -T a -T b",
                "-T b -k 1 -B 64KiB -i 0"
            })
    void shouldMeasure(String mode) throws Exception {
        String options = "-S 1536 -C 3 -I 20 -T verify " + mode;
        Run server = serve(options);
        Run client = client(options);
        assertDone(client);
        assertDone(server);
    }

    private static List<Arguments> modesOfBothSides() {
        List<Arguments> all = new ArrayList<>();
        for (String network : List.of(ROCE, IWARP)) {
            all.add(Arguments.of(network, "-T n", "-T n"));
            all.add(Arguments.of(network, "-T b", "-T b"));
            all.add(Arguments.of(network, "-T a", "-T a"));
            all.add(Arguments.of(network, "-T a -T b", "-T b -T a"));
            all.add(Arguments.of(network, "-T b", "-T a"));
            all.add(Arguments.of(network, "-T a", "-T b"));
            all.add(Arguments.of(network, "-T s", "-T s"));
            all.add(Arguments.of(network, "-T s", "-T f -T s"));
        }
        return all;
    }

    @ParameterizedTest
    @NeedsKernelDevice("librdmacm")
    @MethodSource("modesOfBothSides")
    void shouldServeAndTalkToRstream(String network, String ours, String theirs) throws Exception {
        String options = "-S 1536 -C 3 -I 20 -T verify ";
        String host = network + 2;
        Run server = serve(options + ours);
        try (Program rstream = startRstream(options + theirs, "-s", host, "-p", port)) {
            assertEquals(0, rstream.join(), rstream::toString);
            assertTrue(rstream.output().contains("custom"), rstream::toString);
        }
        assertDone(server);

        try (Program rstream = rstream(options + theirs, host)) {
            assertDone(client(options + ours, network + 1, host));
            assertEquals(0, rstream.join(), rstream::toString);
        }
    }

    /** The tests that rstream runs without -S, over two connections. Both sides poll. */
    @ParameterizedTest
    @NeedsKernelDevice("librdmacm")
    @ValueSource(booleans = {false, true})
    @Timeout(value = 400, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void shouldRunTheTestsOfRstream(boolean server) throws Exception {
        assertRunsAll(POLLING, server);
    }

    /**
     * The same where both sides sleep. Not over iWARP, where rstream cannot connect for its tests of bandwidth: it sets
     * RDMA_INLINE to 0, and librdmacm refuses that with ENOTSUP before rdma-core 51.0.
     */
    @ParameterizedTest
    @NeedsKernelDevice("librdmacm")
    @ValueSource(booleans = {false, true})
    @Timeout(value = 400, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void shouldRunTheTestsOfRstreamBlocking(boolean server) throws Exception {
        assertRunsAll("-T b", server);
    }

    private void assertRunsAll(String mode, boolean server) throws Exception {
        if (server) {
            Run ours = serve(mode);
            try (Program rstream = startRstream(mode, "-s", SERVER, "-p", port)) {
                awaitAll(ours);
                assertEquals(0, rstream.join(), rstream::toString);
                assertAll(rstream.output());
            }
            assertEquals(0, ours.join(), ours::toString);
        } else {
            try (Program rstream = rstream(mode, SERVER)) {
                Run ours = client(mode);
                awaitAll(ours);
                assertEquals(0, ours.join(), ours::toString);
                assertEquals(0, rstream.join(), rstream::toString);
            }
        }
    }

    private static void awaitAll(Run run) throws InterruptedException {
        for (String name : NAMES) {
            run.await("\n" + name + " ", LONGEST);
        }
    }

    private static void assertAll(String output) {
        for (String name : NAMES) {
            assertTrue(output.contains("\n" + name + " "), () -> name + " is missing: " + output);
        }
    }

    /** Between two processes, as it is used; in one, both sides of soft0 compete for its lock a few hundred thousand times. */
    @Test
    @RunsAlone
    void shouldRunAllTestsAndPlotThem() throws Exception {
        assumeFalse(Lab.isInLab(), "rstream is a peer there");
        Path file = folder.resolve("a.svg");
        StreamTest.divisor = DIVISOR;
        try {
            Run server = serve("-T b");
            String[] options = with("-T b --plot " + file, "stream", "-s", SERVER, "-b", CLIENT, "-p", port);
            try (Program client =
                    Program.javaWith(Program.sameProperties(DIVISOR_PROPERTY), ClientOfFewer.class, options)) {
                assertEquals(0, client.join(150), client::toString);
                assertAll(client.output());
            }
            assertEquals(0, server.join(), server::toString);
            assertAll(server.out());
        } finally {
            StreamTest.divisor = 1;
        }
        assertTrue(Files.readString(file).contains("latency in µs"));
        assertTrue(Files.readString(folder.resolve("a-bw.svg")).contains("bandwidth in MiB/s"));
    }

    /** The program, with as few transfers as its server. */
    static final class ClientOfFewer {
        private ClientOfFewer() {}

        public static void main(String[] arguments) {
            StreamTest.divisor = DIVISOR;
            Rdma.main(arguments);
        }
    }

    @Test
    void shouldPlotADistribution() throws Exception {
        Path file = folder.resolve("a.svg");
        Run server = serve("-S 64 -C 1 -I 1000");
        Run client = client("-S 64 -C 1 -I 1000 --plot " + file);
        assertEquals(0, client.join(), client::toString);
        assertEquals(0, server.join(), server::toString);
        assertTrue(Files.readString(file).contains("percentile"));
        // The percentiles follow the columns of rstream.
        assertTrue(
                client.out().matches("(?s).*\ncustom .*s +\\d+\\.\\d\\d +(\\d+\\.\\d\\d +){2}\\d+\\.\\d\\d\n"),
                client::toString);
    }

    @Test
    void shouldSayWhatIsWrong() throws Exception {
        assertWrong("--size must be between 1 B and 1 GiB, or all, not 0", "-S", "0");
        assertWrong("--size: 'many' is not a size", "-S", "many");
        assertWrong("--transfers must be between 1 and 1000000000, not 0", "-C", "0");
        assertWrong("--iterations must be between 1 and 1000000000, not -1", "-I", "-1");
        assertWrong("--inline-size must be between 0 and 65534, not -1", "-i", "-1");
        assertWrong("--keepalive must be between 1 and 32767, not 0", "-k", "0");
        assertWrong("--buffer-size must be between 1 B and 1 GiB, not 2 GiB", "-B", "2GiB");
        assertWrong("the port must be between 1 and 65535, not 0", "-p", "0");
        assertWrong("a JVM cannot fork", "-T", "f");
        assertWrong("resolved by the connection manager", "-T", "resolve");
        assertWrong("not 'x'", "-T", "x");
        assertWrong("leave out --transfers and --iterations", "-S", "all", "-C", "3");
        assertWrong("which needs --transfers 1", "-S", "64", "--plot", "a.svg");

        Run nobody = client("-T b");
        assertEquals(1, nobody.join(), nobody::toString);
        assertTrue(nobody.err().contains("no server answers at " + SERVER + ":" + port), nobody::toString);
    }

    private static void assertWrong(String message, String... options) throws Exception {
        List<String> all = new ArrayList<>(List.of("stream"));
        all.addAll(List.of(options));
        Run run = Run.start(all.toArray(String[]::new));
        assertEquals(2, run.join(), run::toString);
        assertTrue(run.err().contains(message), run::toString);
    }

    @Test
    void shouldNoticeDifferentOptions() throws Exception {
        Run server = serve("-S 64 -C 10 -I 1 -T b");
        Run client = client("-S 64 -C 20 -I 1 -T b");
        assertEquals(1, client.join(), client::toString);
        assertEquals(1, server.join(), server::toString);
        String failure = client.err() + server.err();
        assertTrue(failure.contains("do both sides have the same options -I, -C, -S and -T?"), failure);

        Run verifies = serve("-S 64 -C 10 -I 1 -T b -T v");
        Run doesNot = client("-S 64 -C 10 -I 1 -T b");
        assertEquals(1, verifies.join(), verifies::toString);
        assertTrue(
                verifies.err().contains("data verification failed: byte 1 is 0 and should be 1"), verifies::toString);
        doesNot.join();
    }

    @ParameterizedTest
    @ValueSource(strings = {"b", "n", "a"})
    void shouldEndWhenInterrupted(String calls) throws Exception {
        String options = "-S 64 -C 1 -I 100000000 -T " + calls;
        Run server = serve(options);
        Run client = client(options);
        server.await("usec/xfer");
        Thread.sleep(300);
        client.interrupt();
        assertEquals(130, client.join(), client::toString);
        assertEquals(1, server.join(), server::toString);

        Run waiting = serve(options);
        waiting.interrupt();
        assertEquals(130, waiting.join(), waiting::toString);
    }
}
