package org.rdmapanama.samples.collective;

import java.util.List;
import java.util.concurrent.Callable;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Runs collective operations among processes. */
@Command(
        name = "collective",
        description = {
            "Run collective operations among processes, check the results, and measure how long they take.",
        },
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma collective all-reduce -n 4                       four processes on this host",
            "  rdma collective all-reduce --rank 0 host0 host1       on host0, and on host1",
            "  rdma collective all-reduce --rank 1 host0 host1",
        })
public final class CollectiveCommand implements Callable<Integer> {
    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private static final List<Class<?>> COMMANDS =
            List.of(MeasureBarrier.class, MeasureBroadcast.class, MeasureAllGather.class, MeasureAllReduce.class);

    /** For picocli. */
    public CollectiveCommand() {}

    /**
     * Adds the subcommands.
     *
     * @param collective this command
     * @param name that of a subcommand, which is then the only one; with any other text, all are added
     */
    public static void addCommands(CommandLine collective, String name) {
        List<Class<?>> named = COMMANDS.stream()
                .filter(each -> each.getAnnotation(Command.class).name().equals(name))
                .toList();
        (named.isEmpty() ? COMMANDS : named).forEach(collective::addSubcommand);
    }

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "which command? " + WrongUsage.choices(spec.commandLine()));
    }
}
