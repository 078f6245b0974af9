package org.rdmapanama.samples.parameters;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.rdmapanama.VerbsException;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.Sockets;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Keeps weights. */
@Command(
        name = "serve",
        description = {
            "Keep weights, zeros at first, until Ctrl-C.",
            "Anybody who reaches the address can read and change them: there is no authentication.",
        },
        sortOptions = false)
final class ParametersServeCommand implements Callable<Integer> {
    private static final int MAX_CLIENTS = 10_000;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "ADDRESS",
            defaultValue = "0.0.0.0",
            description = "Address to listen at (all addresses).")
    private String address;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            defaultValue = ParametersCommand.PORT,
            description = "Port to listen at (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = "--weights",
            paramLabel = "N",
            defaultValue = "16",
            description = "How many weights (${DEFAULT-VALUE}).")
    private int weights;

    @Option(
            names = "--gradients",
            paramLabel = "atomics|sent",
            defaultValue = "atomics",
            description = "How workers add to the weights: by RDMA fetch-and-add, one for each weight, or by sending to"
                    + " the server what it shall add (${DEFAULT-VALUE}).")
    private Adding adding;

    @Option(
            names = "--clients",
            paramLabel = "N",
            defaultValue = "64",
            description = "Workers that may be connected (${DEFAULT-VALUE}).")
    private int clients;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        WrongUsage.range(spec.commandLine(), "--port", port, 1, 65535);
        WrongUsage.range(spec.commandLine(), "--weights", weights, 1, Place.MAX_COUNT);
        WrongUsage.range(spec.commandLine(), "--clients", clients, 1, MAX_CLIENTS);
        PrintWriter out = spec.commandLine().getOut();
        try (ParameterServer _ = ParameterServer.start(Sockets.resolve(address, port), weights, adding, clients)) {
            out.println(weights + " weights at port " + port + ", gradients: " + adding + ", until Ctrl-C");
            out.flush();
            Thread.sleep(Duration.ofDays(36_500));
            return 0;
        } catch (VerbsException e) {
            throw new Failure("cannot serve parameters at " + address + " port " + port + ": " + e.getMessage(), e);
        }
    }
}
