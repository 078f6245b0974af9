package org.rdmapanama.samples;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Starts another JVM, configured like this one, for another program of this module. */
public final class OwnJvm {
    private OwnJvm() {}

    /**
     * Returns the command line of a JVM with the settings of this one, such as its compilers and its garbage collector.
     * It uses the module path or the class path, whichever this JVM was started with.
     *
     * @param program the main class
     * @param more additional JVM options
     * @return the command, to which the caller may append arguments of the program
     */
    public static List<String> command(Class<?> program, List<String> more) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> option.startsWith("-XX:") || option.startsWith("-Xshare"))
                .filter(option -> !option.startsWith("-XX:ErrorFile"))
                .forEach(command::add);
        command.addAll(more);
        Module module = program.getModule();
        if (module.isNamed()) {
            command.addAll(List.of(
                    "--enable-native-access=org.rdmapanama.ffm",
                    "--module-path",
                    System.getProperty("jdk.module.path"),
                    "-m",
                    module.getName() + "/" + program.getName()));
        } else {
            command.addAll(List.of(
                    "--enable-native-access=ALL-UNNAMED",
                    "-cp",
                    System.getProperty("java.class.path"),
                    program.getName()));
        }
        return command;
    }

    /**
     * Waits for a while until a process has ended, also if this thread is interrupted.
     *
     * @param process the process
     * @param seconds how long at most
     */
    public static void awaitEnd(Process process, int seconds) {
        process.onExit()
                .orTimeout(seconds, TimeUnit.SECONDS)
                .exceptionally(late -> process)
                .join();
    }
}
