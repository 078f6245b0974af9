package org.rdmapanama.spark.jobs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** What the executors of a folder have logged. */
record ExecutorLogs(Path folder) {
    /** Part of what a server says that ends a lease. */
    static final String KEPT = "has kept blocks for longer than";

    long linesWith(String text) {
        return toString().lines().filter(each -> each.contains(text)).count();
    }

    @Override
    public String toString() {
        StringBuilder all = new StringBuilder();
        try (Stream<Path> files = Files.walk(folder.resolve("work"))) {
            for (Path each : (Iterable<Path>) files.filter(file -> file.endsWith("stderr"))::iterator) {
                all.append(Files.readString(each));
            }
        } catch (IOException e) {
            all.append(e);
        }
        return all.toString();
    }
}
