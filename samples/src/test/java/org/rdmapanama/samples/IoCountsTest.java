package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.FileInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The counts of calls that read and write. */
class IoCountsTest {
    private static final IoCounts NOTHING = new IoCounts(0, 0, 0, 0, 0);

    @TempDir
    private Path folder;

    private static void assumeCounted() {
        assumeTrue(Files.isReadable(IoCounts.OF_THREAD), "this kernel does not count");
    }

    private Path file(int bytes) throws IOException {
        return Files.write(folder.resolve("data"), new byte[bytes]);
    }

    @Test
    void shouldNotCountItself() throws Exception {
        assumeCounted();
        assertEquals(NOTHING, IoCounts.start(IoCounts.OF_THREAD).since());
        IoCounts.Start start = IoCounts.start(IoCounts.OF_THREAD);
        assertEquals(NOTHING, start.since());
    }

    @Test
    void shouldCountCallsAndBytes() throws Exception {
        assumeCounted();
        byte[] piece = new byte[1000];
        try (FileInputStream in = new FileInputStream(file(3000).toFile())) {
            IoCounts.Start start = IoCounts.start(IoCounts.OF_THREAD);
            for (int i = 0; i < 3; i++) {
                assertEquals(piece.length, in.read(piece));
            }
            IoCounts counts = start.since();
            assertEquals(3, counts.reads());
            assertEquals(3000, counts.bytesRead());
            assertEquals(0, counts.writes());
            assertEquals(0, counts.bytesWritten());
        }
    }

    @Test
    void shouldCountSendfileAsOneOfEach() throws Exception {
        assumeCounted();
        try (ServerSocketChannel server =
                        ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                SocketChannel sender = SocketChannel.open(server.getLocalAddress());
                SocketChannel receiver = server.accept();
                FileChannel file = FileChannel.open(file(5000))) {
            assertTrue(receiver.isConnected());
            IoCounts.Start start = IoCounts.start(IoCounts.OF_THREAD);
            assertEquals(5000, file.transferTo(0, 5000, sender));
            assertEquals(new IoCounts(1, 5000, 1, 5000, 0), start.since());
        }
    }

    @Test
    void shouldParseTheKernelsText() throws Exception {
        String text = "rchar: 5\nwchar: 6\nsyscr: 7\nsyscw: 8\nread_bytes: 9\nwrite_bytes: 10\n"
                + "cancelled_write_bytes: 11\n";
        assertEquals(new IoCounts(7, 5, 8, 6, 9), IoCounts.parse(text));
        assertEquals(
                "there is no line 'syscr'",
                assertThrows(IOException.class, () -> IoCounts.parse("")).getMessage());
    }

    @Test
    void shouldSayWhichFileIsMissing() {
        IOException failure = assertThrows(IOException.class, () -> IoCounts.start(folder.resolve("io")));
        assertTrue(failure.getMessage().contains(folder.resolve("io").toString()), failure::getMessage);
    }
}
