package org.rdmapanama.samples.log;

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

/** Keeps a log on several machines. */
@Command(
        name = "log",
        description = {
            "Keep a log on several machines: a primary writes records into the files of its replicas by RDMA.",
            "A record is committed once a majority of all nodes has it, and is then not lost while a majority remains.",
        },
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma log replica /var/tmp/node1               on one host, and on another",
            "  rdma log primary /var/tmp/node0 host1 host2   on a third: appends each line of its input",
            "  rdma log verify node0 node1 node2             with the files at one place",
            "  rdma log bench                                RDMA and TCP beside each other, on this machine",
        })
public final class LogCommand implements Callable<Integer> {
    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private static final List<Class<?>> COMMANDS =
            List.of(LogReplicaCommand.class, LogPrimaryCommand.class, LogVerifyCommand.class, LogBenchCommand.class);

    /** For picocli. */
    public LogCommand() {}

    /**
     * Adds the subcommands.
     *
     * @param log this command
     * @param name that of a subcommand, which is then the only one; with any other text, all are added
     */
    public static void addCommands(CommandLine log, String name) {
        List<Class<?>> named = COMMANDS.stream()
                .filter(each -> each.getAnnotation(Command.class).name().equals(name))
                .toList();
        (named.isEmpty() ? COMMANDS : named).forEach(log::addSubcommand);
    }

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "which command? " + WrongUsage.choices(spec.commandLine()));
    }
}
