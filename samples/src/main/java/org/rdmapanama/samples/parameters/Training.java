package org.rdmapanama.samples.parameters;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.samples.ServerThreads;

/** Workers that find the weights of a {@link Regression}, without waiting for each other. */
final class Training {
    private static final int SAMPLES = 8;

    /** How far each worker goes: together they must not go too far. */
    private static final double RATE = 0.1;

    private final InetSocketAddress server;
    private final Duration timeout;
    private final long seed;

    Training(InetSocketAddress server, Duration timeout, long seed) {
        this.server = server;
        this.timeout = timeout;
        this.seed = seed;
    }

    /**
     * What has come out.
     *
     * @param weights the weights in the end
     * @param adding how they were added to
     * @param errorBefore the largest error of a weight at first
     * @param errorAfter the largest error of a weight in the end
     */
    record Result(double[] weights, Adding adding, double errorBefore, double errorAfter) {}

    Result run(int workers, int steps) throws InterruptedException {
        ExecutorService threads = Executors.newThreadPerTaskExecutor(
                Thread.ofPlatform().daemon().name("worker-", 0).factory());
        try (VerbsArena arena = VerbsArena.ofShared();
                ParameterClient client = ParameterClient.connect(arena, server, timeout)) {
            Regression regression = new Regression(client.count(), seed, 0);
            double[] weights = new double[client.count()];
            client.read(weights);
            double before = regression.error(weights);
            try {
                List<Future<?>> all = new ArrayList<>();
                for (int worker = 0; worker < workers; worker++) {
                    int number = worker;
                    all.add(threads.submit(() -> {
                        work(arena, number, workers, steps);
                        return null;
                    }));
                }
                for (Future<?> each : all) {
                    each.get();
                }
            } catch (ExecutionException e) {
                throw new ParameterException(
                        "a worker has failed: " + e.getCause().getMessage(), e.getCause());
            } finally {
                threads.shutdownNow();
                ServerThreads.awaitEnd(threads);
            }
            client.read(weights);
            return new Result(weights, client.adding(), before, regression.error(weights));
        } finally {
            threads.shutdownNow();
        }
    }

    private void work(VerbsArena arena, int worker, int workers, int steps) throws InterruptedException {
        try (ParameterClient client = ParameterClient.connect(arena, server, timeout)) {
            Regression regression = new Regression(client.count(), seed, worker);
            double[] weights = new double[client.count()];
            double[] step = new double[client.count()];
            // A sample has as much to say as it has numbers.
            double rate = RATE * SAMPLES / (SAMPLES + client.count() + 1.0) / Math.sqrt(workers);
            for (int i = 0; i < steps; i++) {
                client.read(weights);
                regression.step(weights, SAMPLES, rate, step);
                client.add(step);
            }
        }
    }
}
