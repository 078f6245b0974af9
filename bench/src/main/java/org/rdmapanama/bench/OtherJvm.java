package org.rdmapanama.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Other processes that run a class of this program, with the options of this virtual machine and its class path. */
public final class OtherJvm {
    private OtherJvm() {}

    /**
     * Starts a process, whose errors go where those of this one go.
     *
     * @param options more options of the virtual machine
     * @param main the class
     * @param arguments its arguments
     * @return the process
     * @throws IOException if it cannot be started
     */
    public static Process start(List<String> options, Class<?> main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    /**
     * Waits until a process ends, and kills it if it does not, or if this thread is interrupted.
     *
     * @param process the process
     * @param seconds how long to wait
     */
    public static void end(Process process, long seconds) {
        try {
            if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
