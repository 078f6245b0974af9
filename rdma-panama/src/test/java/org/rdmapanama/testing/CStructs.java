package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.ffm.CCompiler;

/** What a C program builds for a verb, to be compared with what this library builds for it. */
public final class CStructs {
    private CStructs() {}

    /**
     * The bytes of a variable after some statements.
     *
     * @param statements C that declares and fills a zeroed variable {@code x}; the headers of rdma-core are included,
     *     and string.h
     */
    public static String hexOf(String statements) throws IOException {
        return run("""
                #include <string.h>
                #include <arpa/inet.h>
                int main(void) {
                    %s
                    for (size_t i = 0; i < sizeof(x); i++) printf("%%02x", ((unsigned char *) &x)[i]);
                    return 0;
                }
                """.formatted(statements));
    }

    /** What a C program prints; the headers of rdma-core are included already. */
    public static String run(String source, String... libraries) throws IOException {
        Path folder = Files.createTempDirectory("cstruct");
        try {
            return new CCompiler(folder).run(source, libraries);
        } finally {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }

    /** Compares the bytes of a structure that crossed the provider line with what C makes of some statements. */
    public static void assertSame(String statements, byte[] crossed) throws IOException {
        assertEquals(hexOf(statements), HexFormat.of().formatHex(crossed));
    }

    /**
     * As {@link #assertSame}, for many structures at once: the compiler takes its time, above all where the lab emulates
     * a processor.
     *
     * @param crossed bytes by the statements that make them; the order counts
     */
    public static void assertAllSame(Map<String, byte[]> crossed) throws IOException {
        int size = crossed.values().stream().mapToInt(bytes -> bytes.length).sum();
        StringBuilder program =
                new StringBuilder().append("unsigned char x[%d], *all = x; memset(x, 0, sizeof x);".formatted(size));
        int offset = 0;
        for (Map.Entry<String, byte[]> each : crossed.entrySet()) {
            program.append("{ %s if (sizeof x != %d) return 1; memcpy(all + %d, &x, sizeof x); }\n"
                    .formatted(each.getKey(), each.getValue().length, offset));
            offset += each.getValue().length;
        }
        String hex = hexOf(program.toString());
        List<Executable> comparisons = new ArrayList<>();
        int position = 0;
        for (Map.Entry<String, byte[]> each : crossed.entrySet()) {
            String expected = hex.substring(position, position + 2 * each.getValue().length);
            position += expected.length();
            comparisons.add(() -> assertEquals(expected, HexFormat.of().formatHex(each.getValue()), each.getKey()));
        }
        assertAll(comparisons);
    }
}
