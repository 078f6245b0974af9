package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.ConnectionException;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/**
 * The Java samples of README.md and of docs/ compile and run as they stand. Those of docs/LEARN.md are the sources of the
 * lessons, which {@code LearnDocumentTest} runs, and those of docs/EXERCISES.md are of tests that run.
 */
@Tag("lab")
@Timeout(value = 240, unit = TimeUnit.SECONDS)
class ReadmeLabTest {
    private static final Set<String> OF_OTHER_TESTS = Set.of("LEARN.md", "EXERCISES.md");
    private static final Pattern JAVA_BLOCK =
            Pattern.compile("^```java\n(.*?)^```", Pattern.DOTALL | Pattern.MULTILINE);

    /** How many samples each document has: a new one needs a test that runs it. */
    private static final Map<String, Integer> SAMPLES =
            Map.of("README.md", 4, "ADVANCED.md", 1, "MEMORY.md", 1, "CONNECTIONS.md", 2, "NVME.md", 1);

    @TempDir
    private static Path folder;

    /** All at once: starting the compiler costs more than compiling. */
    @BeforeAll
    static void shouldCompileEverySample() throws Exception {
        List<String> arguments = new ArrayList<>(List.of("-cp", System.getProperty("java.class.path")));
        for (Path document : documents()) {
            List<String> blocks = javaBlocks(document);
            for (int i = 0; i < blocks.size(); i++) {
                String name = className(document.getFileName().toString(), i);
                Path source = folder.resolve(name + ".java");
                Files.writeString(source, program(name, blocks.get(i)));
                arguments.add(source.toString());
            }
        }
        int errors = ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(String[]::new));
        assertEquals(0, errors, "the samples compile");
    }

    @Test
    void shouldKnowEverySample() throws Exception {
        Map<String, Integer> found = new TreeMap<>();
        for (Path document : documents()) {
            int count = javaBlocks(document).size();
            if (count > 0) {
                found.put(document.getFileName().toString(), count);
            }
        }
        assertEquals(new TreeMap<>(SAMPLES), found, "samples in the documents");
    }

    @Test
    void shouldRunTheFirstSample() throws Exception {
        assertEquals(List.of("SUCCESS: hello, verbs"), linesOf("README.md", 0));
    }

    @Test
    void shouldRunTheSampleOfVerbs() throws Exception {
        assertEquals(List.of("1 completion, 5 bytes"), linesOf("README.md", 1));
    }

    @Test
    void shouldRunTheSampleThatConnectsByAddress() throws Exception {
        assertEquals(List.of("RC: hello"), linesOf("README.md", 2));
    }

    @Test
    void shouldRunTheSampleOfSockets() throws Exception {
        assertEquals(List.of("hello, sockets"), linesOf("README.md", 3));
    }

    /** One receive completes; the two work requests of the batch are not signaled. */
    @Test
    void shouldRunTheSampleBeyondTheBasics() throws Exception {
        List<String> lines = linesOf("ADVANCED.md", 0);
        assertEquals("RECV 13: one doorbell, two work requests", lines.get(0));
        assertTrue(lines.size() == 1 || lines.get(1).equals("ibv_open_xrcd"), lines::toString);
    }

    @Test
    void shouldRunTheSampleOfMemory() throws Exception {
        assertEquals(List.of("4096, 8192, 1024", "refused"), linesOf("MEMORY.md", 0));
    }

    @Test
    void shouldRunTheSampleOfStorage() throws Exception {
        assertEquals(List.of("hello, disk"), linesOf("NVME.md", 0));
    }

    /** A server in one thread, and three clients. */
    @Test
    void shouldRunTheSampleThatEchoes() throws Exception {
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        FutureTask<Void> serving = new FutureTask<>(() -> run("CONNECTIONS.md", 0, output), null);
        Thread thread = Thread.ofPlatform().start(serving);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            List<String> expected = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                expected.addAll(greetings(echo(arena, "message " + i)));
            }
            Bound.ofSeconds(20)
                    .await(
                            () -> output.toString(StandardCharsets.UTF_8),
                            () -> output.toString(StandardCharsets.UTF_8)
                                    .lines()
                                    .toList()
                                    .equals(expected));
        } finally {
            thread.interrupt();
        }
        try {
            serving.get(20, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            // Where the interrupt finds the sample decides whether it ends so, or with its loop.
            assertInstanceOf(InterruptedException.class, e.getCause().getCause().getCause());
        }
    }

    /** A server that starts late, and throws its client out after each two messages. */
    @Test
    void shouldRunTheSampleThatConnectsAgain() throws Exception {
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        FutureTask<Void> sending = new FutureTask<>(() -> run("CONNECTIONS.md", 1, output), null);
        Thread.ofPlatform().start(sending);
        Bound.ofSeconds(60)
                .await(
                        "the client does not try again while nobody listens",
                        () -> output.toString(StandardCharsets.UTF_8).contains("lost: "));
        List<Integer> received = new ArrayList<>();
        try (VerbsArena arena = VerbsArena.ofConfined();
                RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress(Lab.SECOND_HOST, 7473))) {
            server.connections(new RdmaConnectionOptions().prepare(ReadmeLabTest::receiveTwo));
            Bound bound = Bound.ofSeconds(60);
            while (!sending.isDone()) {
                bound.check(() -> "received " + received);
                Optional<RdmaConnection> client = server.accept(Duration.ofMillis(100));
                if (client.isPresent()) {
                    try (RdmaConnection connection = client.get()) {
                        addMessages(connection, received);
                    }
                }
            }
            sending.get();
        }
        // What has arrived before the end may come twice, and nothing is left out.
        assertEquals(received.stream().sorted().toList(), received);
        assertEquals(List.of(1, 2, 3, 4, 5, 6), received.stream().distinct().toList());
    }

    private static void receiveTwo(RdmaConnection connection) {
        MemoryRegion memory = connection.register(8, AccessFlag.LOCAL_WRITE);
        connection.attach(memory);
        for (int i = 0; i < 2; i++) {
            connection
                    .queuePair()
                    .postReceive(ReceiveWorkRequest.allocate(connection.queuePair(), 1)
                            .id(i)
                            .add(memory, i * 4L, 4));
        }
    }

    /** Adds two numbers that come from a client, or fewer if it leaves. */
    private static void addMessages(RdmaConnection connection, List<Integer> received) throws Exception {
        MemoryRegion memory = (MemoryRegion) connection.attachment();
        WorkCompletions completions = new WorkCompletions(connection.receiveQueue(), 1);
        Bound bound = Bound.ofSeconds(20);
        int taken = 0;
        boolean mayComeMore = true;
        while (taken < 2 && mayComeMore) {
            bound.check("the client neither sends nor leaves");
            mayComeMore = connection.isConnected();
            while (connection.receiveQueue().poll(completions) > 0) {
                completions.check(0);
                received.add(memory.memory().getAtIndex(ValueLayout.JAVA_INT, completions.id(0)));
                taken++;
            }
        }
    }

    private static List<String> greetings(InetSocketAddress client) {
        return List.of("welcome, " + client, "goodbye, " + client);
    }

    /** Connects, sends a text, and returns the client's address once the same text has come back. */
    private static InetSocketAddress echo(VerbsArena arena, String text) throws Exception {
        InetSocketAddress server = new InetSocketAddress(Lab.SECOND_HOST, 7472);
        try (RdmaConnection connection = connect(arena, server)) {
            MemoryRegion memory = connection.register(1024, AccessFlag.LOCAL_WRITE);
            connection
                    .queuePair()
                    .postReceive(ReceiveWorkRequest.allocate(arena, 1).add(memory, 512, 512));
            memory.memory().setString(0, text);
            connection
                    .queuePair()
                    .postSend(SendWorkRequest.allocate(arena, 1).send().add(memory, 0, text.length() + 1L));
            WorkCompletions completions = new WorkCompletions(arena, 1);
            Bound.ofSeconds(20)
                    .await("no answer", () -> connection.receiveQueue().poll(completions) > 0);
            assertEquals(text, memory.memory().getString(512));
            return connection.localAddress();
        }
    }

    /** As soon as the server listens. */
    private static RdmaConnection connect(VerbsArena arena, InetSocketAddress server) throws Exception {
        Bound bound = Bound.ofSeconds(60);
        while (true) {
            try {
                return new RdmaClient(arena).connect(server, Duration.ofSeconds(20));
            } catch (ConnectionException notYet) {
                bound.check(notYet::getMessage);
                Thread.sleep(50);
            }
        }
    }

    private static void run(String document, int index, ByteArrayOutputStream output) {
        PrintStream console = System.out;
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            System.setOut(new PrintStream(output, true, StandardCharsets.UTF_8));
            loader.loadClass(className(document, index))
                    .getMethod("main", String[].class)
                    .invoke(null, (Object) new String[0]);
        } catch (ReflectiveOperationException | IOException e) {
            throw new AssertionError(e);
        } finally {
            System.setOut(console);
        }
    }

    private static List<String> linesOf(String document, int index) {
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        run(document, index, output);
        return output.toString(StandardCharsets.UTF_8).lines().toList();
    }

    private static String className(String document, int index) {
        return document.replace(".md", "_") + index;
    }

    /** With the imports that docs/USING.md tells a reader to take. */
    private static String program(String name, String code) throws IOException {
        String imports = Files.readString(Path.of("docs/USING.md"))
                .lines()
                .filter(line -> line.startsWith("    import "))
                .map(String::strip)
                .collect(Collectors.joining("\n"));
        return """
                %s
                public class %s {
                    public static void main(String[] args) throws Exception {
                %s
                    }
                }
                """.formatted(imports, name, code.replace("127.0.0.1", Lab.SECOND_HOST));
    }

    /** The integration tests run in the project's folder. */
    private static List<Path> documents() throws IOException {
        try (Stream<Path> docs = Files.list(Path.of("docs"))) {
            return Stream.concat(Stream.of(Path.of("README.md")), docs)
                    .filter(path -> path.toString().endsWith(".md")
                            && !OF_OTHER_TESTS.contains(path.getFileName().toString()))
                    .sorted()
                    .toList();
        }
    }

    private static List<String> javaBlocks(Path document) throws IOException {
        return JAVA_BLOCK
                .matcher(Files.readString(document))
                .results()
                .map((MatchResult block) -> block.group(1))
                .toList();
    }
}
