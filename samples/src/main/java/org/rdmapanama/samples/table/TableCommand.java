package org.rdmapanama.samples.table;

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

/** A hash table that clients read one-sided. */
@Command(
        name = "table",
        description = {
            "Keep a hash table in memory that clients read by RDMA READ, without the server's processor.",
            "What changes it is sent to the server.",
        },
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma table serve                 on one host, and on others:",
            "  rdma table put host key value",
            "  rdma table get host key          prints the value",
            "  rdma table remove host key",
            "  rdma table bench host            what reading costs, and what asking costs",
        })
public final class TableCommand implements Callable<Integer> {
    static final String PORT = "7475";

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private static final List<Class<?>> COMMANDS = List.of(
            TableServeCommand.class,
            TableGetCommand.class,
            TablePutCommand.class,
            TableRemoveCommand.class,
            TableBenchCommand.class);

    /** For picocli. */
    public TableCommand() {}

    /**
     * Adds the subcommands.
     *
     * @param table this command
     * @param name that of a subcommand, which is then the only one; with any other text, all are added
     */
    public static void addCommands(CommandLine table, String name) {
        List<Class<?>> named = COMMANDS.stream()
                .filter(each -> each.getAnnotation(Command.class).name().equals(name))
                .toList();
        (named.isEmpty() ? COMMANDS : named).forEach(table::addSubcommand);
    }

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "which command? " + WrongUsage.choices(spec.commandLine()));
    }
}
