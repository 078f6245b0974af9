package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Bound;

/** A peer in a process of its own: the C program rping, to be stopped and killed. */
final class Rping {

    private Rping() {}

    /** One that listens at the second address already. */
    static Program server(LabWire network, int port) throws IOException, InterruptedException {
        Program server = Program.start("rping", "-s", "-a", network.secondHost(), "-p", Integer.toString(port));
        String own = " pid " + server.pid() + " ";
        Bound bound = Bound.ofSeconds(20);
        while (Program.run("rdma", "resource", "show", "cm_id")
                .lines()
                .noneMatch(line -> line.contains(own) && line.contains("LISTEN"))) {
            if (bound.isOver() || !server.isAlive()) {
                server.close();
                fail("rping does not listen");
            }
            Thread.sleep(50);
        }
        return server;
    }

    /** One that connects from the first address to the second one. */
    static Program client(LabWire network, int port) throws IOException {
        return Program.start(
                "rping",
                "-c",
                "-a",
                network.secondHost(),
                "-I",
                network.firstHost(),
                "-p",
                Integer.toString(port),
                "-C",
                "1000000");
    }
}
