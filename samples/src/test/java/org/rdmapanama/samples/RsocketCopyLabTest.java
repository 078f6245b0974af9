package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.rsocket.RSocketChannel;
import org.rdmapanama.testing.Lab;

/** Copies files from Java to Java and, in both directions, between Java and rcopy of rdma-core. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RsocketCopyLabTest {
    private static final String SERVER = Lab.SECOND_HOST;
    private static final String CLIENT = Lab.FIRST_HOST;

    @TempDir
    private Path folder;

    private Path file(int size) throws Exception {
        byte[] content = new byte[size];
        new Random(size).nextBytes(content);
        return Files.write(folder.resolve("sent file"), content);
    }

    private Path received() throws Exception {
        return Files.createDirectories(folder.resolve("received"));
    }

    private Run serve(String port) throws Exception {
        Run server = Run.start("rsocket-copy", "--serve", port, received().toString(), "--timeout", "10");
        server.await("waiting for clients");
        return server;
    }

    private static Run copy(Path file, String port, String... more) {
        return copyBetween(CLIENT, SERVER, file, port, more);
    }

    private static Run copyBetween(String from, String to, Path file, String port, String... more) {
        String[] arguments = Stream.concat(
                        Stream.of("rsocket-copy", file.toString(), to + ":" + port, "--bind", from), Stream.of(more))
                .toArray(String[]::new);
        return Run.start(arguments);
    }

    private static void end(Run server) throws Exception {
        server.interrupt();
        assertEquals(130, server.join(), server::toString);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4 << 20})
    void shouldCopy(int size) throws Exception {
        String port = Lab.portText();
        Run server = serve(port);
        Path file = file(size);
        Run client = copy(file, port, "--name", "elsewhere/received file");
        assertEquals(0, client.join(), client::toString);
        assertTrue(client.err().contains("100%"), client::toString);
        assertEquals(-1, Files.mismatch(file, received().resolve("received file")));

        // Again, over the existing file; the server ignores that it does not have the directory.
        Run again = copy(file, port, "--name", "/../received file");
        assertEquals(0, again.join(), again::toString);
        end(server);
        try (Stream<Path> all = Files.list(received())) {
            assertEquals(1, all.count());
        }
    }

    /** The lab's networks, without the last number of their addresses. */
    @ParameterizedTest
    @NeedsKernelDevice("librdmacm")
    @ValueSource(strings = {"10.77.0.", "10.78.0."})
    void shouldReceiveFromRcopy(String network) throws Exception {
        String port = Lab.portText();
        Run server = serve(port);
        Path file = file(1_234_567);
        try (Program rcopy = Program.start("rcopy", file.toString(), network + "2:/anywhere/by rcopy", "-p", port)) {
            assertEquals(0, rcopy.join(), rcopy::toString);
            assertTrue(rcopy.output().contains("1234567 bytes in"), rcopy::toString);
        }
        assertEquals(-1, Files.mismatch(file, received().resolve("by rcopy")));
        end(server);
    }

    @ParameterizedTest
    @NeedsKernelDevice("librdmacm")
    @ValueSource(strings = {"10.77.0.", "10.78.0."})
    void shouldCopyToRcopy(String network) throws Exception {
        String from = network + 1;
        String to = network + 2;
        String port = Lab.portText();
        Path file = file(1_234_567);
        Path target = received().resolve("to rcopy");
        try (Program rcopy = Program.start("rcopy", "-p", port)) {
            // It says nothing before there is a client.
            Run client = copyBetween(from, to, file, port, "--name", target.toString());
            for (int tries = 0; client.join() == 1 && tries < 50; tries++) {
                assertTrue(client.err().contains("start the server there first"), client::toString);
                Thread.sleep(100);
                client = copyBetween(from, to, file, port, "--name", target.toString());
            }
            assertEquals(0, client.join(), () -> rcopy.toString());
            assertEquals(-1, Files.mismatch(file, target));

            Run refused = copyBetween(
                    from,
                    to,
                    file,
                    port,
                    "--name",
                    folder.resolve("no/such/folder").toString());
            assertEquals(1, refused.join(), refused::toString);
            assertTrue(refused.err().contains("no such directory"), refused::toString);
        }
    }

    @Test
    void shouldSayWhyItFails() throws Exception {
        Run nobody = copy(file(1), Lab.portText());
        assertEquals(1, nobody.join(), nobody::toString);
        assertTrue(nobody.err().contains("start the server there first"), nobody::toString);
        Run nothing = copy(folder.resolve("nothing"), Lab.portText());
        assertEquals(1, nothing.join(), nothing::toString);
        assertTrue(nothing.err().contains("no such file"), nothing::toString);

        String port = Lab.portText();
        Run server = serve(port);
        Run second = Run.start("rsocket-copy", "--serve", port, received().toString());
        assertEquals(1, second.join(), second::toString);
        assertTrue(second.err().contains("cannot listen"), second::toString);

        // Incomplete files are not kept.
        Run client = copy(file(32 << 20), port);
        awaitFile();
        client.interrupt();
        assertEquals(130, client.join(), client::toString);
        server.await("a client failed");
        try (Stream<Path> all = Files.list(received())) {
            assertEquals(0, all.count());
        }
        end(server);
    }

    private void awaitFile() throws Exception {
        for (int tries = 0; tries < 3000; tries++) {
            try (Stream<Path> all = Files.list(received())) {
                if (all.findAny().isPresent()) {
                    return;
                }
            }
            Thread.sleep(10);
        }
        fail("the server has opened no file");
    }

    @Test
    void shouldNoticeAClientThatLeavesBetweenTwoMessages() throws Exception {
        String port = Lab.portText();
        Run server = serve(port);
        try (RSocketChannel channel = RSocketChannel.open(new InetSocketAddress(SERVER, Integer.parseInt(port)));
                CopyStream stream = new CopyStream(channel, Duration.ofSeconds(30))) {
            stream.send(CopyMessage.open("some file", 0644));
            assertEquals(0, CopyMessage.receive(stream).data());
            awaitFile();
        }
        server.await("a client failed: the peer left before it sent the file");
        try (Stream<Path> all = Files.list(received())) {
            assertEquals(0, all.count());
        }
        end(server);
    }
}
