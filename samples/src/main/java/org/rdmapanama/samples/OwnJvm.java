package org.rdmapanama.samples;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A further JVM, like this one, for another program of this module. */
public final class OwnJvm {
    private OwnJvm() {}

    /**
     * The command of a JVM like this one, such as which compilers and which collector it uses: from modules, or a class
     * path, as this one was started.
     *
     * @param program what it runs
     * @param more further options of the JVM
     * @return the command, to which arguments of the program may be added
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
                    "--enable-native-access=org.rdmapanama.ffm,org.rdmapanama,org.rdmapanama.cm",
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
}
