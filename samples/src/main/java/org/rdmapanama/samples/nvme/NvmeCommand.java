package org.rdmapanama.samples.nvme;

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

/** Reads and writes block storage of other machines, and serves it: NVMe over RDMA. */
@Command(
        name = "nvme",
        description = {
            "Read and write block storage of other machines by NVMe over RDMA, and serve it.",
            "The host's side needs no kernel module for NVMe, and the target's side none either.",
        },
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma nvme serve --file disk.img 10.77.0.1     on the host with the address 10.77.0.1",
            "  rdma nvme discover 10.77.0.1                  on another",
            "  rdma nvme write 10.77.0.1 some.img",
        })
public final class NvmeCommand implements Callable<Integer> {
    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private static final List<Class<?>> COMMANDS = List.of(
            NvmeDiscoverCommand.class,
            NvmeInfoCommand.class,
            NvmeReadCommand.class,
            NvmeWriteCommand.class,
            NvmeCopyCommand.class,
            NvmeBenchCommand.class,
            NvmeServeCommand.class);

    /** For picocli. */
    public NvmeCommand() {}

    /**
     * Adds the subcommands.
     *
     * @param nvme this command
     * @param name that of a subcommand, which is then the only one; with any other text, all are added
     */
    public static void addCommands(CommandLine nvme, String name) {
        List<Class<?>> named = COMMANDS.stream()
                .filter(each -> each.getAnnotation(Command.class).name().equals(name))
                .toList();
        (named.isEmpty() ? COMMANDS : named).forEach(nvme::addSubcommand);
    }

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "which command? " + WrongUsage.choices(spec.commandLine()));
    }
}
