package org.rdmapanama.samples.parameters;

import java.util.List;
import java.util.concurrent.Callable;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Numbers that workers read and add to. */
@Command(
        name = "parameters",
        description = {
            "Train a linear regression on several machines: workers read the weights in the memory of a server by",
            "RDMA READ, and add to them by RDMA fetch-and-add, or send what is to be added.",
        },
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma parameters serve --weights 16    on one host, and on others:",
            "  rdma parameters train host            until the weights of the generated data are found",
        })
public final class ParametersCommand implements Callable<Integer> {
    static final String PORT = "7477";

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private static final List<Class<?>> COMMANDS = List.of(ParametersServeCommand.class, ParametersTrainCommand.class);

    /** For picocli. */
    public ParametersCommand() {}

    /**
     * Adds the subcommands.
     *
     * @param parameters this command
     * @param name that of a subcommand, which is then the only one; with any other text, all are added
     */
    public static void addCommands(CommandLine parameters, String name) {
        List<Class<?>> named = COMMANDS.stream()
                .filter(each -> each.getAnnotation(Command.class).name().equals(name))
                .toList();
        (named.isEmpty() ? COMMANDS : named).forEach(parameters::addSubcommand);
    }

    @Override
    public Integer call() {
        throw new CommandLine.ParameterException(
                spec.commandLine(), "which command? " + WrongUsage.choices(spec.commandLine()));
    }
}
