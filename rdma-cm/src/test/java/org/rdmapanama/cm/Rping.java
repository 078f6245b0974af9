package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import org.rdmapanama.ffm.Program;

/** A peer in a process of its own: the C program rping, to be stopped and killed. */
final class Rping {
    private static final long LIMIT_NANOS = 20_000_000_000L;

    private Rping() {}

    /** One that listens on rxe1 already. */
    static Program server(int port) throws IOException, InterruptedException {
        Program server = Program.start("rping", "-s", "-a", "10.77.0.2", "-p", Integer.toString(port));
        String own = " pid " + server.pid() + " ";
        long start = System.nanoTime();
        while (Program.run("rdma", "resource", "show", "cm_id")
                .lines()
                .noneMatch(line -> line.contains(own) && line.contains("LISTEN"))) {
            if (System.nanoTime() - start > LIMIT_NANOS || !server.isAlive()) {
                server.close();
                fail("rping does not listen");
            }
            Thread.sleep(50);
        }
        return server;
    }

    /** One that connects from rxe0 to rxe1. */
    static Program client(int port) throws IOException {
        return Program.start(
                "rping", "-c", "-a", "10.77.0.2", "-I", "10.77.0.1", "-p", Integer.toString(port), "-C", "1000000");
    }
}
