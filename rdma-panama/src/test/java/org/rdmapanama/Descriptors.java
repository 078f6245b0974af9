package org.rdmapanama;

import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** File descriptors of this process, which should not be allowed many: {@code prlimit --nofile}. */
final class Descriptors implements AutoCloseable {
    private final List<FileInputStream> taken = new ArrayList<>();

    private Descriptors() {}

    /** Takes all but so many, until this is closed. */
    static Descriptors allBut(int left) throws IOException {
        Descriptors descriptors = new Descriptors();
        try {
            while (true) {
                descriptors.taken.add(new FileInputStream("/dev/null"));
            }
        } catch (FileNotFoundException tooMany) {
            for (int i = 0; i < left; i++) {
                descriptors.taken.removeLast().close();
            }
        }
        return descriptors;
    }

    /** How many are open. */
    static long count() throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.count();
        }
    }

    @Override
    public void close() throws IOException {
        for (FileInputStream each : taken) {
            each.close();
        }
        taken.clear();
    }
}
