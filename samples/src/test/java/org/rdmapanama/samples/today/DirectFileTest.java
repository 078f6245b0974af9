package org.rdmapanama.samples.today;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reading past the page cache. */
class DirectFileTest {
    private static final int PIECE = 256 << 10;

    @TempDir
    private Path folder;

    @Test
    void shouldReadAFileThatEndsWithinABlock() throws Exception {
        byte[] data = new byte[2 * PIECE + 12345];
        new Random(1).nextBytes(data);
        Path file = Files.write(folder.resolve("data"), data);
        String obstacle = DirectFile.obstacle(file, PIECE);
        assumeTrue(obstacle.isEmpty(), obstacle);
        byte[] found = new byte[data.length];
        try (DirectFile direct = new DirectFile(file);
                Arena arena = Arena.ofConfined()) {
            assertEquals(data.length, direct.size());
            ByteBuffer piece = direct.allocate(arena, PIECE).asByteBuffer();
            for (int at = 0; at < data.length; at += piece.limit()) {
                direct.read(piece.clear(), at);
                piece.flip().get(0, found, at, piece.limit());
            }
        }
        assertArrayEquals(data, found);
    }

    @Test
    void shouldSayWhyAFileCannotBeRead() throws Exception {
        Path missing = folder.resolve("missing");
        assertTrue(DirectFile.obstacle(missing, PIECE).contains(missing.toString()));
        Path file = Files.write(folder.resolve("data"), new byte[PIECE]);
        String obstacle = DirectFile.obstacle(file, PIECE);
        assumeTrue(obstacle.isEmpty(), obstacle);
        // Not a multiple of the block size.
        assertTrue(DirectFile.obstacle(file, (int) ValueLayout.JAVA_LONG.byteSize())
                        .length()
                > 0);
    }
}
