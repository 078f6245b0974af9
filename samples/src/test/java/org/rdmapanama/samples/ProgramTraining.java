package org.rdmapanama.samples;

import org.rdmapanama.testing.Lab;

/**
 * Not a test, but what a JVM does whose classes are archived for the programs that tests start (bin/lib/archive.sh): what many
 * of these do, on soft0. A program loads all classes of its archive when it starts, so it would pay for what only few need.
 */
final class ProgramTraining {
    private ProgramTraining() {}

    /** Fails if a command does. */
    public static void main(String[] arguments) throws InterruptedException {
        String port = Lab.portText();
        Thread serving = Thread.ofPlatform().start(() -> run("serve", Lab.SECOND_HOST, "-p", port));
        run("transfer", Lab.SECOND_HOST, "-I", Lab.FIRST_HOST, "-s", "1MiB", "-p", port);
        serving.join();
    }

    private static void run(String... words) {
        int status = Rdma.commandLine(Rdma.COMMANDS, words).execute(words);
        if (status != 0) {
            System.exit(status);
        }
    }
}
