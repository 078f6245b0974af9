package org.rdmapanama.spark.jobs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A network of its own for a process and its children, with an address that can be taken away. */
final class OwnNetwork {
    static final String ADDRESS = "10.99.0.1";

    /** What begins it and, in it, a program. */
    static final List<String> COMMAND = List.of(
            "unshare",
            "--net",
            "sh",
            "-c",
            "ip link set lo up && ip address add " + ADDRESS + "/32 dev lo && exec \"$@\"",
            "sh");

    private OwnNetwork() {}

    /** Returns whether this user may make networks, and there are the commands for it. */
    static boolean isPossible() throws InterruptedException {
        try {
            List<String> command = new ArrayList<>(COMMAND);
            command.add("true");
            return new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException missing) {
            return false;
        }
    }

    /** Adds an address to the network of this process, or deletes one from it. */
    static void change(String command, String address) throws IOException, InterruptedException {
        Process process = new ProcessBuilder("ip", "address", command, address + "/32", "dev", "lo")
                .inheritIO()
                .start();
        if (process.waitFor() != 0) {
            throw new IOException("ip cannot " + command + " " + address);
        }
    }
}
