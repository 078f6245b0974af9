package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmapanama.testing.Lab;

/**
 * Not a test, but what a JVM runs on soft0 whose classes are kept for those that run the tests (bin/lib/archive.sh): most
 * commands, so that most classes are loaded and linked.
 */
class Training {
    private static final String FIRST = Lab.FIRST_HOST;
    private static final String SECOND = Lab.SECOND_HOST;

    private static void run(String... words) throws InterruptedException {
        Run run = Run.start(words);
        assertEquals(0, run.join(), run::toString);
    }

    private static void meet(List<String> server, List<String> client) throws InterruptedException {
        String port = Lab.portText();
        Run serving = Run.start(with(server, port));
        serving.await("waiting for");
        run(with(client, port));
        assertEquals(0, serving.join(), serving::toString);
    }

    private static String[] with(List<String> words, String port) {
        String[] all = words.toArray(new String[words.size() + 2]);
        all[words.size()] = "-p";
        all[words.size() + 1] = port;
        return all;
    }

    @Test
    void runCommands() throws InterruptedException {
        run("hello");
        run("devices");
        run("device-info", "-v");
        meet(List.of("serve", SECOND), List.of("transfer", SECOND, "-I", FIRST, "-s", "1MiB"));
        meet(List.of("serve", "--tcp"), List.of("transfer", "127.0.0.1", "--tcp", "-s", "1MiB"));
        meet(List.of("ping", "-s"), List.of("ping", "-c", "-a", SECOND, "-C", "3"));
        meet(List.of("pingpong", "-c"), List.of("pingpong", "-c", "127.0.0.1"));
        meet(
                List.of("perf", "server", "--once"),
                List.of("perf", "write-bw", "127.0.0.1", "-n", "100", "--warmup", "0"));
        meet(List.of("every-size"), List.of("every-size", "127.0.0.1"));
    }
}
