package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.ffm.internal.Libc;
import org.rdmapanama.soft.memory.Memory;

/** Nothing but what a process of this user has made for this purpose is opened. */
@EnabledOnOs(OS.LINUX)
class RingFileTest {
    @TempDir
    private Path folder;

    private final RingFile.Key key = RingFile.Key.random();
    private Path path;
    private RingFile made;

    @BeforeEach
    void create() throws IOException {
        made = RingFile.create(folder, key);
        path = folder.resolve(key.name());
    }

    @AfterEach
    void close() {
        made.close();
    }

    private void assertRefused() {
        assertThrows(IOException.class, () -> RingFile.open(folder, key).close());
    }

    @Test
    void shouldShareMemory() throws IOException {
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
        try (RingFile opened = RingFile.open(folder, key)) {
            made.unlink();
            opened.unlink();
            assertFalse(Files.exists(path));
            for (int side = 0; side < 2; side++) {
                Memory.putLong(made.side(side) + RingFile.POSITION, 17 + side);
                assertEquals(17 + side, Memory.getLong(opened.side(side) + RingFile.POSITION));
                long last = RingFile.RING_BYTES - Long.BYTES;
                Memory.putLong(opened.ring(side) + last, 19 + side);
                assertEquals(19 + side, Memory.getLong(made.ring(side) + last));
            }
            assertFalse(opened.isTruncated());
        }
        assertThrows(NoSuchFileException.class, () -> RingFile.open(folder, key));
    }

    /** Threads that wait run the device, and a link may end while they are interrupted. */
    @Test
    void shouldEndWhileTheThreadIsInterrupted() throws IOException {
        try (RingFile opened = RingFile.open(folder, key)) {
            for (RingFile each : List.of(made, opened)) {
                Thread.currentThread().interrupt();
                each.end(0);
                assertFalse(each.isTruncated());
                assertTrue(Thread.interrupted());
            }
            assertEquals(RingFile.ENDED, Memory.getInt(opened.side(0) + RingFile.STATE));
            assertFalse(made.isTruncated());
            assertFalse(opened.isTruncated());
        }
    }

    @Test
    void shouldNotCreateWhatIsThere() {
        assertThrows(IOException.class, () -> RingFile.create(folder, key));
        assertTrue(Files.exists(path));
    }

    @Test
    void shouldRefuseAnotherSecret() {
        RingFile.Key wrong = new RingFile.Key(key.nameHigh(), key.nameLow(), key.secretHigh(), key.secretLow() + 1);
        assertThrows(IOException.class, () -> RingFile.open(folder, wrong));
    }

    @ParameterizedTest
    @ValueSource(strings = {"rw-r-----", "rw----r--", "rw-rw-rw-", "rwx------", "r--------"})
    void shouldRefuseOtherRights(String rights) throws IOException {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(rights));
        assertRefused();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 4096, RingFile.BYTES - 1, RingFile.BYTES + 1})
    void shouldRefuseAnotherSize(long bytes) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.setLength(bytes);
        }
        assertEquals(bytes < RingFile.BYTES, made.isTruncated());
        assertRefused();
    }

    @Test
    void shouldRefuseTheFileOfAnotherUser() throws IOException {
        assumeTrue(Libc.effectiveUser() == 0, "giving a file to another user needs root");
        Files.setAttribute(path, "unix:uid", 12345);
        assertRefused();
    }

    @Test
    void shouldRefuseALink() throws IOException {
        Path elsewhere = folder.resolve("elsewhere");
        Files.move(path, elsewhere);
        Files.createSymbolicLink(path, elsewhere);
        assertRefused();
        Files.delete(path);
        Files.createLink(path, elsewhere);
        assertRefused();
        Files.delete(elsewhere);
        RingFile.open(folder, key).close();
    }

    @Test
    void shouldRefuseADirectory() throws IOException {
        Files.delete(path);
        Files.createDirectory(path);
        assertRefused();
    }

    @Test
    void shouldRefuseOtherContents() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.seek(8);
            file.write(RingFile.VERSION + 1);
        }
        assertRefused();
    }

    @Test
    void shouldSayThatTheDirectoryIsMissing() {
        assertThrows(IOException.class, () -> RingFile.create(folder.resolve("missing"), key));
    }

    @Test
    void shouldRemoveWhatOthersHaveLeft() throws IOException {
        Path other = Files.createFile(folder.resolve("other"));
        Path old = Files.createFile(folder.resolve(RingFile.Key.random().name()));
        for (Path each : new Path[] {old, other}) {
            Files.setLastModifiedTime(each, FileTime.from(Instant.now().minus(Duration.ofMinutes(2))));
        }
        RingFile.removeOld(folder);
        assertTrue(Files.exists(path));
        assertTrue(Files.exists(other));
        assertFalse(Files.exists(old));
    }

    /** A process that ends in an orderly way leaves nothing, even if nobody has opened its file. */
    @Test
    void shouldLeaveNothingWhenTheProcessEnds() throws Exception {
        try (Program program = Program.javaWith(List.of(), Creator.class, folder.toString())) {
            program.assertSucceeds();
            assertTrue(program.output().contains("files: 2"), program::output);
        }
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(List.of(path), files.toList());
        }
    }

    /** Creates a file, and exits. */
    static final class Creator {
        private Creator() {}

        public static void main(String... arguments) throws IOException {
            Path folder = Path.of(arguments[0]);
            RingFile file = RingFile.create(folder, RingFile.Key.random());
            try (Stream<Path> files = Files.list(folder)) {
                System.out.println("files: " + files.count());
            }
            System.exit(file.isTruncated() ? 1 : 0);
        }
    }
}
