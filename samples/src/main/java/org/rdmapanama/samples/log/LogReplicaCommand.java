package org.rdmapanama.samples.log;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.Sockets;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Runs a replica. */
@Command(
        name = "replica",
        description = {
            "Follow a primary, which writes into FILE, until Ctrl-C. Prints records when they are committed.",
            "Anybody who reaches the address can become its primary: there is no authentication.",
        },
        sortOptions = false)
final class LogReplicaCommand implements Callable<Integer> {
    static final String PORT = "7474";
    static final String SIZE = "64MiB";

    @Parameters(
            index = "0",
            paramLabel = "FILE",
            description = "File of this node, which is made if it does not exist.")
    private Path path;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "ADDRESS",
            defaultValue = "0.0.0.0",
            description = "Address to listen at (all addresses).")
    private String address;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            defaultValue = PORT,
            description = "Port to listen at (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            defaultValue = SIZE,
            description = "Size of the file, if it is made: the same on all nodes (${DEFAULT-VALUE}).")
    private ByteSize size;

    @Option(names = "--tcp", description = "Follow over TCP instead of RDMA, for comparison: all nodes or none.")
    private boolean tcp;

    @Option(
            names = {"-q", "--quiet"},
            description = "Do not print records.")
    private boolean quiet;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    /** Checks a size, before a file of it is made. */
    static void check(ByteSize size, CommandSpec spec) {
        if (size.bytes() < LogFile.MIN_CAPACITY || size.bytes() % Long.BYTES != 0) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--size must be a multiple of 8 of at least " + LogFile.MIN_CAPACITY + " bytes, not "
                            + size.bytes());
        }
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        WrongUsage.range(spec.commandLine(), "--port", port, 1, 65535);
        check(size, spec);
        PrintWriter out = spec.commandLine().getOut();
        try (Replica replica = Replica.start(
                LogTransport.of(tcp),
                path,
                size.bytes(),
                Sockets.resolve(address, port),
                record -> print(out, record))) {
            LogFile file = replica.file();
            out.println("replica " + Long.toHexString(file.node()) + " at port " + port + ", with " + file.lastIndex()
                    + " records, until Ctrl-C");
            out.flush();
            replica.awaitEnd(Duration.ofDays(36_500));
            throw new Failure("the replica has stopped: see above");
        } catch (LogException e) {
            throw new Failure(e.getMessage(), e);
        }
    }

    private void print(PrintWriter out, LogRecord record) {
        if (!quiet) {
            out.println(record.index() + " " + record.text());
            out.flush();
        }
    }
}
