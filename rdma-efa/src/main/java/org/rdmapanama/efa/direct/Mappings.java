package org.rdmapanama.efa.direct;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** The memory mappings of this process; see proc_pid_maps(5). */
final class Mappings {
    private static final Path FILE = Path.of("/proc/self/maps");

    private Mappings() {}

    /** Returns the length of the mapping that begins at an address, in bytes; 0 if none does. */
    static long lengthOf(long address) {
        try (Stream<String> lines = Files.lines(FILE)) {
            return lines.map(line -> line.substring(0, line.indexOf(' ')).split("-", 2))
                    .filter(range -> Long.parseUnsignedLong(range[0], 16) == address)
                    .mapToLong(range -> Long.parseUnsignedLong(range[1], 16) - address)
                    .findFirst()
                    .orElse(0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
