package org.rdmapanama.samples.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The file of a node, without peers. */
class LogFileTest {
    private static final int CAPACITY = 16384;

    @TempDir
    private Path folder;

    private Path path;

    @BeforeEach
    void name() {
        path = folder.resolve("log");
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Makes a log of three records, and returns where each ends. */
    private long[] makeThree() throws IOException {
        try (Arena arena = Arena.ofConfined();
                LogFile file = LogFile.open(path, CAPACITY, arena)) {
            file.append(1, bytes("first"));
            file.append(1, new byte[0]);
            file.append(3, bytes("the third of them"));
            return new long[] {file.endOf(0), file.endOf(1), file.endOf(2), file.endOf(3)};
        }
    }

    private void patch(long offset, byte... bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(bytes), offset);
        }
    }

    private long lastIndex() throws IOException {
        try (Arena arena = Arena.ofConfined();
                LogFile file = LogFile.read(path, arena)) {
            return file.lastIndex();
        }
    }

    @Test
    void shouldKeepRecordsAndPromises() throws IOException {
        makeThree();
        long node;
        try (Arena arena = Arena.ofConfined();
                LogFile file = LogFile.open(path, 0, arena)) {
            node = file.node();
            assertEquals(3, file.lastIndex());
            assertEquals(3, file.lastTerm());
            assertArrayEquals(bytes("first"), file.record(1).payload());
            assertEquals(0, file.record(2).payload().length);
            assertEquals("the third of them", file.record(3).text());
            assertEquals(0, file.promisedTerm());
            file.promise(4, 77);
            file.promise(5, 78);
            file.commitIndex(2);
            assertEquals(4, file.append(5, bytes("4")));
        }
        try (Arena arena = Arena.ofConfined();
                LogFile file = LogFile.open(path, 0, arena)) {
            assertEquals(node, file.node());
            assertEquals(5, file.promisedTerm());
            assertEquals(78, file.promisedPrimary());
            assertEquals(2, file.commitIndex());
            assertEquals(4, file.lastIndex());
            assertEquals(2, file.indexAt(file.endOf(3) - 1));
            assertEquals(3, file.indexAt(file.endOf(3)));
        }
    }

    @Test
    void shouldKeepThePromiseBeforeATornOne() throws IOException {
        try (Arena arena = Arena.ofConfined();
                LogFile file = LogFile.open(path, CAPACITY, arena)) {
            file.promise(4, 77);
            file.promise(5, 78);
        }
        patch(128 + 8, (byte) 1, (byte) 2);
        try (Arena arena = Arena.ofConfined();
                LogFile file = LogFile.open(path, 0, arena)) {
            assertEquals(4, file.promisedTerm());
            assertEquals(77, file.promisedPrimary());
            file.promise(6, 79);
            assertEquals(6, file.promisedTerm());
        }
    }

    @Test
    void shouldEndBeforeATornRecord() throws IOException {
        long[] ends = makeThree();
        byte[] whole = Files.readAllBytes(path);
        for (long cut = ends[2]; cut < ends[3]; cut++) {
            byte[] torn = whole.clone();
            Arrays.fill(torn, (int) cut, torn.length, (byte) 0);
            Files.write(path, torn);
            // What was cut may have been zero: a small term has zeros in it, and so does the padding.
            assertEquals(Arrays.equals(torn, whole) ? 3 : 2, lastIndex(), "cut at " + cut);
            for (int bit = 0; bit < 8; bit++) {
                byte[] flipped = whole.clone();
                flipped[(int) cut] ^= (byte) (1 << bit);
                Files.write(path, flipped);
                assertEquals(2, lastIndex(), "bit " + bit + " at " + cut);
            }
        }
    }

    @Test
    void shouldNotChainOldRecordsBehindANewOne() throws IOException {
        makeThree();
        try (Arena arena = Arena.ofConfined();
                LogFile file = LogFile.open(path, 0, arena)) {
            long end = file.endOf(3);
            byte[] third = Arrays.copyOfRange(Files.readAllBytes(path), (int) file.endOf(2), (int) end);
            file.truncate(1);
            file.append(3, new byte[0]);
            java.lang.foreign.MemorySegment.copy(
                    third, 0, file.memory(), java.lang.foreign.ValueLayout.JAVA_BYTE, file.tail(), third.length);
            assertEquals(0, file.extend(CAPACITY));
            assertEquals(2, file.lastIndex());
        }
    }

    @Test
    void shouldRefuseWhatDoesNotFit() throws IOException {
        try (Arena arena = Arena.ofConfined();
                LogFile file = LogFile.open(path, LogFile.MIN_CAPACITY, arena)) {
            int room = (int) (file.capacity() - file.tail() - LogFile.RECORD_HEADER - LogFile.END_MARK);
            assertTrue(file.hasRoom(room));
            LogException full = assertThrows(LogException.class, () -> file.append(1, new byte[room + 1]));
            assertTrue(full.getMessage().contains("is full"), full.getMessage());
            assertEquals(1, file.append(1, new byte[room]));
            LogException taken = assertThrows(LogException.class, () -> LogFile.open(path, 0, arena));
            assertTrue(taken.getMessage().contains("another node uses"), taken.getMessage());
        }
        assertEquals(1, lastIndex());
        patch(0, (byte) 0);
        LogException other = assertThrows(LogException.class, this::lastIndex);
        assertTrue(other.getMessage().contains("is not the file of a log"), other.getMessage());
    }

    @Test
    void shouldMakeAFileAgainThatWasNotFinished() throws IOException {
        Path unfinished = path.resolveSibling(path.getFileName() + LogFile.UNFINISHED);
        byte[] rest = new byte[2 * CAPACITY];
        Arrays.fill(rest, (byte) 1);
        Files.write(unfinished, rest);
        makeThree();
        assertEquals(CAPACITY, Files.size(path));
        assertFalse(Files.exists(unfinished));
    }

    @Test
    void shouldMakeTheFileThatALinkNames() throws IOException {
        Path disk = Files.createDirectory(folder.resolve("disk"));
        Files.createSymbolicLink(path, disk.resolve("log"));
        makeThree();
        assertTrue(Files.isSymbolicLink(path));
        assertEquals(CAPACITY, Files.size(disk.resolve("log")));
        assertEquals(3, lastIndex());
    }

    @Test
    void shouldSayWhatCannotBeMade() {
        path = folder.resolve("missing").resolve("log");
        LogException exception = assertThrows(LogException.class, this::makeThree);
        assertTrue(exception.getMessage().startsWith("cannot make " + path), exception.getMessage());
    }
}
