package org.rdmapanama.samples.parameters;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.FailedCompletionException;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.samples.Run;
import org.rdmapanama.samples.calls.CallClient;
import org.rdmapanama.samples.calls.CallException;
import org.rdmapanama.samples.calls.CallMessage;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Lab;

/** Servers of parameters, and workers in the same JVM. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ParametersLabTest {
    private static final Duration LIMIT = Lab.SECONDS;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final List<AutoCloseable> closed = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable each : closed.reversed()) {
            each.close();
        }
        arena.close();
    }

    private ParameterServer server(int count, Adding adding) {
        ParameterServer server = ParameterServer.start(Lab.freeAddress(Lab.SECOND_HOST), count, adding, 8);
        closed.add(server);
        return server;
    }

    private ParameterClient client(ParameterServer server) throws InterruptedException {
        ParameterClient client = ParameterClient.connect(arena, server.address(), LIMIT);
        closed.add(client);
        return client;
    }

    /** Four workers add known numbers at once: nothing is lost, and nothing is counted twice. */
    @ParameterizedTest
    @EnumSource(Adding.class)
    void shouldAddExactly(Adding adding) throws Exception {
        int count = 21;
        ParameterServer server = server(count, adding);
        double[] expected = new double[count];
        List<CompletableFuture<Void>> workers = new ArrayList<>();
        for (int worker = 0; worker < 4; worker++) {
            Random random = new Random(worker);
            double[][] deltas = new double[100][count];
            for (double[] each : deltas) {
                for (int i = 0; i < count; i++) {
                    each[i] = random.nextInt(2001) - 1000;
                    expected[i] += each[i];
                }
            }
            ParameterClient client = client(server);
            workers.add(Async.start(() -> {
                for (double[] each : deltas) {
                    client.add(each);
                }
                return null;
            }));
        }
        for (CompletableFuture<Void> each : workers) {
            Async.get(each);
        }
        assertArrayEquals(expected, server.weights());
        double[] read = new double[count];
        client(server).read(read);
        assertArrayEquals(expected, read);
    }

    @ParameterizedTest
    @EnumSource(Adding.class)
    void shouldFindTheWeights(Adding adding) throws Exception {
        ParameterServer server = server(8, adding);
        Training.Result result = new Training(server.address(), LIMIT, 11).run(3, 250);
        assertEquals(adding, result.adding());
        assertArrayEquals(server.weights(), result.weights());
        assertTrue(result.errorBefore() > 0.5, result::toString);
        assertTrue(result.errorAfter() < 0.02, result::toString);
    }

    @ParameterizedTest
    @EnumSource(Adding.class)
    void shouldAddToManyWeights(Adding adding) throws Exception {
        int count = adding == Adding.SENT ? 200_001 : 1_001;
        ParameterServer server = server(count, adding);
        ParameterClient client = client(server);
        double[] deltas = new Random(3).doubles(count, -5, 5).toArray();
        client.add(deltas);
        double[] read = new double[count];
        client.read(read);
        assertArrayEquals(deltas, read, 0x1p-32);
        assertThrows(IllegalArgumentException.class, () -> client.add(new double[count - 1]));
        assertThrows(IllegalArgumentException.class, () -> client.read(new double[count + 1]));
    }

    /** The time of a read is over after its first step, which itself is in time. */
    @Test
    void shouldLimitTheWholeRead() throws Exception {
        int count = 200_000;
        ParameterClient client = client(server(count, Adding.ATOMICS));
        double[] read = new double[count];
        client.read(read);
        ParameterException late = assertThrows(
                ParameterException.class, () -> client.read(read, System.nanoTime() - LIMIT.toNanos() - 1));
        assertTrue(late.getMessage().contains(LIMIT.toMillis() + " ms"), late.getMessage());
    }

    @ParameterizedTest
    @EnumSource(Adding.class)
    void shouldReportNumbersOutOfRange(Adding adding) throws Exception {
        ParameterServer server = server(1, adding);
        ParameterClient client = client(server);
        assertThrows(ParameterException.class, () -> client.add(new double[] {Double.NaN}));
        assertThrows(ParameterException.class, () -> client.add(new double[] {FixedPoint.MOST * 1.1}));
        for (int i = 0; i < 2047; i++) {
            client.add(new double[] {FixedPoint.MOST});
        }
        assertEquals(2047 * FixedPoint.MOST, server.weights()[0]);
        ParameterException out =
                assertThrows(ParameterException.class, () -> client.add(new double[] {FixedPoint.MOST}));
        assertTrue(out.getMessage().contains("has left the range"), out.getMessage());
    }

    private CallClient raw(ParameterServer server) throws InterruptedException {
        CallClient raw = CallClient.connect(new RdmaClient(arena), server.address(), Place.hello(), LIMIT);
        closed.add(raw);
        raw.allocateMessages(Place.MESSAGE_BYTES);
        return raw;
    }

    @Test
    void shouldBearHostileClients() throws Exception {
        ParameterServer server = server(10, Adding.SENT);
        // Kind, first weight, number of weights, length of the message.
        int[][] requests = {
            {ParameterServer.ADD, 0, 0, 16},
            {ParameterServer.ADD, 0, 2, 24},
            {ParameterServer.ADD, 10, 1, 24},
            {ParameterServer.ADD, -1, 1, 24},
            {ParameterServer.ADD, Integer.MAX_VALUE, 1, 24},
            {ParameterServer.ADD, Integer.MIN_VALUE, 1, 24},
            {ParameterServer.ADD, 0, 11, 104},
            {ParameterServer.ADD, 0, -1, 16},
            {ParameterServer.ADD, 0, 1 << 29, 16},
            {7, 0, 1, 24}
        };
        for (int[] each : requests) {
            try (CallClient raw = raw(server)) {
                CallMessage.write(raw.request(), each[0], each[1], each[2]);
                assertThrows(RuntimeException.class, () -> raw.call(each[3]), () -> Arrays.toString(each));
            }
            closed.removeLast();
        }
        CallClient raw = raw(server);
        CallMessage.write(raw.request(), ParameterServer.ADD, 0, 2);
        raw.request().set(ParameterServer.LONG, 16, 1L);
        raw.request().set(ParameterServer.LONG, 24, Long.MIN_VALUE);
        raw.call(32);
        assertEquals(ParameterServer.OUT_OF_RANGE, CallMessage.kind(raw.answer()));
        assertArrayEquals(new double[10], server.weights());
        // Its weights are for reading only.
        Place place = Place.of(raw.greeting()).orElseThrow();
        MemoryRegion region = raw.register(8);
        raw.postAdd(place.address(), place.key(), 1, region, 0);
        assertThrows(FailedCompletionException.class, raw::awaitPosted);
        assertThrows(
                CallException.class,
                () -> CallClient.connect(new RdmaClient(arena), server.address(), new byte[4], LIMIT));
        client(server).add(new double[10]);
        assertArrayEquals(new double[10], server.weights());
    }

    @ParameterizedTest
    @EnumSource(Adding.class)
    void shouldReportAServerThatIsGone(Adding adding) throws Exception {
        ParameterServer server = server(4, adding);
        ParameterClient client = ParameterClient.connect(arena, server.address(), Duration.ofSeconds(2));
        closed.add(client);
        client.add(new double[4]);
        server.close();
        assertThrows(ParameterException.class, () -> client.read(new double[4]));
    }

    @ParameterizedTest
    @EnumSource(Adding.class)
    void shouldTrainByCommands(Adding adding) throws Exception {
        String port = Lab.portText();
        Run serve = Run.start(
                "parameters",
                "serve",
                "-b",
                Lab.SECOND_HOST,
                "-p",
                port,
                "--weights",
                "6",
                "--gradients",
                adding.toString());
        serve.await("6 weights at port " + port + ", gradients: " + adding + ", until Ctrl-C");
        Run train = Run.start("parameters", "train", Lab.SECOND_HOST + ":" + port, "--workers", "2", "--steps", "300");
        assertEquals(0, train.join(), train::toString);
        assertTrue(
                train.out()
                        .matches("2 workers, 6 weights, gradients: " + adding + ", \\d+ steps a second\n"
                                + "largest error of a weight: 0\\.\\d{4} before, 0\\.0[01]\\d\\d after\n"),
                train::toString);
        serve.interrupt();
        assertEquals(130, serve.join(), serve::toString);
    }

    @Test
    void shouldSayWhatIsWrong() throws Exception {
        String[][] wrong = {
            {"parameters", "which command? serve or train"},
            {"parameters serve --weights 0", "--weights must be between 1 and 16777216, not 0"},
            {"parameters serve --gradients both", "--gradients must be atomics or sent, not 'both'"},
            {"parameters train 127.0.0.1:0", "the port of '127.0.0.1:0' must be between 1 and 65535"},
            {"parameters train 127.0.0.1 --workers 33", "--workers must be between 1 and 32, not 33"},
            {"parameters train 127.0.0.1 --steps 0", "--steps must be between 1 and 1000000, not 0"},
        };
        for (String[] each : wrong) {
            Run run = Run.start(each[0].split(" "));
            assertEquals(2, run.join(), run::toString);
            assertTrue(run.err().contains(each[1]), run::toString);
        }
    }
}
