package org.rdmapanama.samples;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.rdmapanama.samples.collective.CollectiveCommand;
import org.rdmapanama.samples.learn.LearnCommand;
import org.rdmapanama.samples.log.LogCommand;
import org.rdmapanama.samples.nvme.NvmeCommand;
import org.rdmapanama.samples.parameters.ParametersCommand;
import org.rdmapanama.samples.perf.PerfCommand;
import org.rdmapanama.samples.selftest.SelftestCommand;
import org.rdmapanama.samples.stream.StreamCommand;
import org.rdmapanama.samples.table.TableCommand;
import org.rdmapanama.samples.top.TopCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExecutionException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.RunLast;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The program {@code bin/rdma}: commands that show RDMA at work. */
@Command(
        name = "rdma",
        mixinStandardHelpOptions = true,
        version = "rdma-panama 0.1.0-SNAPSHOT",
        description = "RDMA verbs from Java: list devices, move data, and measure performance.",
        footerHeading = "%nVariables:%n",
        footer = {
            "  RDMA_DEVICE        the device to use if no option names one",
            "  RDMA_SOFT_ADDRESS  the addresses of soft0: addresses and interfaces, with",
            "                     commas, or 'all'; by default the loopback addresses only",
            "",
            "'rdma COMMAND --help' and 'rdma help COMMAND' say more about a command.",
            "",
            "Exit status:",
            "  0    success",
            "  1    failure; standard error says why, and what may help",
            "  2    wrong usage",
            "  130  interrupted with Ctrl-C",
        })
public final class Rdma implements Runnable {
    /** In the order of the help. */
    static final List<Class<?>> COMMANDS = List.of(
            DevicesCommand.class,
            DeviceInfoCommand.class,
            TopCommand.class,
            PingPongCommand.class,
            PerfCommand.class,
            PingCommand.class,
            ServeCommand.class,
            TransferCommand.class,
            RsocketCopyCommand.class,
            StreamCommand.class,
            NvmeCommand.class,
            LogCommand.class,
            CollectiveCommand.class,
            TableCommand.class,
            ParametersCommand.class,
            SelftestCommand.class,
            HelloCommand.class,
            LearnCommand.class);

    /** Filled in by picocli. */
    @Spec
    private CommandSpec spec;

    @Option(
            names = "--pcap",
            paramLabel = "FILE",
            scope = ScopeType.INHERIT,
            description =
                    "Write the packets of the device soft0 to FILE, for Wireshark and tcpdump. Wireshark knows UDP port"
                            + " 4791, which the first process of a machine uses; for other ports, choose Decode As"
                            + " InfiniBand.")
    private Path pcap;

    /** For picocli. */
    public Rdma() {}

    /**
     * Runs a command and exits the JVM with its status.
     *
     * @param arguments the command and its options; {@code --help} lists them
     */
    public static void main(String[] arguments) {
        String[] words = helpAsOption(arguments);
        Interruption.runAndExit(() -> commandLine(COMMANDS, words).execute(words));
    }

    /** Returns the arguments with {@code help COMMAND} as {@code COMMAND --help}. */
    static String[] helpAsOption(String... arguments) {
        if (arguments.length == 0 || !arguments[0].equals("help")) {
            return arguments;
        }
        String[] words = Arrays.copyOfRange(arguments, 1, arguments.length + 1);
        words[arguments.length - 1] = "--help";
        return words;
    }

    /**
     * Creates the command line parser, which also runs the parsed command.
     *
     * @param commands classes of commands
     * @param arguments what will be parsed. If the first is the name of a command, the parser has that command alone,
     *     because reading the options of all takes longer than most commands.
     */
    static CommandLine commandLine(List<Class<?>> commands, String... arguments) {
        Rdma rdma = new Rdma();
        CommandLine commandLine = new CommandLine(rdma);
        String first = arguments.length > 0 ? arguments[0] : "";
        String second = arguments.length > 1 ? arguments[1] : "";
        List<Class<?>> named =
                commands.stream().filter(each -> name(each).equals(first)).toList();
        for (Class<?> each : named.isEmpty() ? commands : named) {
            commandLine.addSubcommand(each);
            CommandLine added = commandLine.getSubcommands().get(name(each));
            if (each == PerfCommand.class) {
                PerfCommand.addTests(added, second);
            } else if (added.getCommand() instanceof CommandGroup group) {
                group.addCommands(added, second);
            }
        }
        // These settings apply to the commands that are there by now.
        Failures failures = new Failures();
        commandLine
                .setExecutionStrategy(rdma::execute)
                .setExecutionExceptionHandler(failures)
                .setParameterExceptionHandler(failures)
                .setUsageHelpAutoWidth(true)
                .setAbbreviatedOptionsAllowed(true)
                // The values of --ops, for example, are names of subcommands.
                .setAllowSubcommandsAsOptionParameters(true);
        commandLine.registerConverter(ByteSize.class, ByteSize::parse);
        return commandLine;
    }

    private static String name(Class<?> command) {
        return command.getAnnotation(Command.class).name();
    }

    private int execute(ParseResult parsed) {
        refuseUnknown(parsed);
        Integer help = CommandLine.executeHelpRequest(parsed);
        if (help != null) {
            return help;
        }
        RunLast command = new RunLast();
        if (pcap == null) {
            return command.execute(parsed);
        }
        try {
            return PacketCapture.run(pcap, spec.commandLine().getErr(), () -> command.execute(parsed));
        } catch (Failure e) {
            throw new ExecutionException(spec.commandLine(), e.getMessage(), e);
        }
    }

    /** With an option for help, picocli accepts any words. */
    private static void refuseUnknown(ParseResult parsed) {
        if (!parsed.unmatched().isEmpty()) {
            throw new UnmatchedArgumentException(parsed.commandSpec().commandLine(), parsed.unmatched());
        }
        parsed.subcommands().forEach(Rdma::refuseUnknown);
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "which command? " + WrongUsage.choices(spec.commandLine()));
    }
}
