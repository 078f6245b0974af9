package org.rdmapanama.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IndexedFilesTest {
    private static final int ENTRIES_OF_2_MIB = 2 << 17;

    @TempDir
    private Path folder;

    private IndexedFiles files;

    @BeforeEach
    void create() {
        files = new IndexedFiles(new IndexedFiles.Outputs() {
            @Override
            public Path index(int shuffle, long map) {
                return folder.resolve(shuffle + "_" + map + ".index");
            }

            @Override
            public Path data(int shuffle, long map) {
                return folder.resolve(shuffle + "_" + map + ".data");
            }
        });
    }

    private Path write(int shuffle, long map, long... offsets) throws IOException {
        Path index = folder.resolve(shuffle + "_" + map + ".index");
        try (DataOutputStream out = new DataOutputStream(Files.newOutputStream(index))) {
            for (long each : offsets) {
                out.writeLong(each);
            }
        }
        return index;
    }

    private BlockFiles.Location locate(int shuffle, long map, int first, int end) throws IOException {
        return files.locate(new BlockRange(shuffle, map, first, end));
    }

    @Test
    void shouldFindPartitions() throws Exception {
        write(1, 7, 0, 100, 100, 5_000_000_000L);
        Path data = folder.resolve("1_7.data");
        assertEquals(new BlockFiles.Location(data, 0, 100), locate(1, 7, 0, 1));
        assertEquals(new BlockFiles.Location(data, 100, 0), locate(1, 7, 1, 2));
        assertEquals(new BlockFiles.Location(data, 100, 4_999_999_900L), locate(1, 7, 1, 3));
        IOException beyond = assertThrows(IOException.class, () -> locate(1, 7, 2, 4));
        assertTrue(beyond.getMessage().endsWith("is beyond the 3 partitions of its index"), beyond.getMessage());
    }

    @Test
    void shouldReadAnIndexOnceUntilItsShuffleIsForgotten() throws Exception {
        Path first = write(1, 7, 0, 100);
        Path second = write(2, 8, 0, 200);
        locate(1, 7, 0, 1);
        locate(2, 8, 0, 1);
        Files.delete(first);
        Files.delete(second);
        assertEquals(100, locate(1, 7, 0, 1).length());
        files.forget(1);
        assertThrows(NoSuchFileException.class, () -> locate(1, 7, 0, 1));
        assertEquals(200, locate(2, 8, 0, 1).length());
    }

    @Test
    void shouldKeepNoMoreThanThereIsRoomFor() throws Exception {
        int outputs = 10;
        for (int map = 0; map < outputs; map++) {
            Path index = write(1, map, new long[ENTRIES_OF_2_MIB]);
            locate(1, map, 0, 1);
            Files.delete(index);
        }
        assertThrows(NoSuchFileException.class, () -> locate(1, 0, 0, 1));
        assertThrows(NoSuchFileException.class, () -> locate(1, 1, 0, 1));
        for (int map = 2; map < outputs; map++) {
            assertEquals(0, locate(1, map, 0, 1).length());
        }
    }

    @Test
    void shouldRefuseABrokenIndex() throws Exception {
        write(1, 7, 100, 0);
        assertThrows(IOException.class, () -> locate(1, 7, 0, 1));
        write(1, 8, -1, 0);
        assertThrows(IOException.class, () -> locate(1, 8, 0, 1));
        Files.write(folder.resolve("1_9.index"), new byte[12]);
        assertThrows(IOException.class, () -> locate(1, 9, 0, 1));
    }
}
