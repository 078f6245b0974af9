package org.rdmapanama.samples.parameters;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Trains the weights of a server. */
@Command(
        name = "train",
        description = {
            "Find the weights of generated data, from where those of the server are.",
            "Several may run at once, with the same --seed: they then find the same weights.",
        },
        sortOptions = false)
final class ParametersTrainCommand implements Callable<Integer> {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final int MAX_WORKERS = 32;
    private static final int MAX_STEPS = 1_000_000;

    @Parameters(
            index = "0",
            paramLabel = "HOST[:PORT]",
            description = "The server (port " + ParametersCommand.PORT + ").")
    private String host;

    @Option(
            names = "--workers",
            paramLabel = "N",
            defaultValue = "4",
            description = "Workers, each with a connection and data of its own (${DEFAULT-VALUE}).")
    private int workers;

    @Option(
            names = "--steps",
            paramLabel = "N",
            defaultValue = "500",
            description = "Steps of each worker (${DEFAULT-VALUE}).")
    private int steps;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "From which the data is generated (${DEFAULT-VALUE}).")
    private long seed;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        WrongUsage.range(spec.commandLine(), "--workers", workers, 1, MAX_WORKERS);
        WrongUsage.range(spec.commandLine(), "--steps", steps, 1, MAX_STEPS);
        PrintWriter out = spec.commandLine().getOut();
        try {
            Training training =
                    new Training(WrongUsage.address(spec.commandLine(), host, ParametersCommand.PORT), TIMEOUT, seed);
            long start = System.nanoTime();
            Training.Result result = training.run(workers, steps);
            double seconds = (System.nanoTime() - start) / 1e9;
            out.printf(
                    Locale.ROOT,
                    "%d workers, %d weights, gradients: %s, %.0f steps a second%n",
                    workers,
                    result.weights().length,
                    result.adding(),
                    (double) workers * steps / seconds);
            out.printf(
                    Locale.ROOT,
                    "largest error of a weight: %.4f before, %.4f after%n",
                    result.errorBefore(),
                    result.errorAfter());
            out.flush();
            return 0;
        } catch (ParameterException e) {
            throw new Failure(e.getMessage(), e);
        }
    }
}
