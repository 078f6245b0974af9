package com.example.trial;

import com.example.KeyValueClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.rdmapanama.FailedCompletionException;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;

/**
 * A process of clients. Arguments: "churn" or "hold", the port, a name, the number of threads, and for "churn" the connections
 * to make in a second. In "churn" each thread connects, makes some requests and closes, again and again; in "hold" each keeps
 * its connection and makes requests without a pause, and connects again when it was lost. Obeys the words pause, resume, totals,
 * reopen and stop on standard input; its end stops this, too. "reopen" closes the arena while other threads use it.
 */
public final class TrialClient {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final long RECONNECT_MILLIS = 50;
    private static final int MOST_CONNECTING = 1_000_000;

    private final InetSocketAddress server;
    private final int threads;
    private final String name;
    private volatile VerbsArena arena = VerbsArena.ofShared();
    private final Totals totals = new Totals();

    /** What went wrong and was to be expected: how often. */
    private final Map<String, AtomicInteger> failures = new ConcurrentHashMap<>();

    private final AtomicInteger connected = new AtomicInteger();

    /** Held by threads while they have a connection, and all of them during a pause. */
    private final Semaphore running = new Semaphore(MOST_CONNECTING, true);

    private TrialClient(int port, String name, int threads) {
        server = new InetSocketAddress("127.0.0.1", port);
        this.name = name;
        this.threads = threads;
    }

    public static void main(String[] args) throws IOException {
        TrialClient client = new TrialClient(Integer.parseInt(args[1]), args[2], Integer.parseInt(args[3]));
        for (int i = 0; i < client.threads; i++) {
            Worker worker = new Worker(client.name + "-" + i, client.totals);
            int number = i;
            Thread.ofPlatform()
                    .daemon()
                    .start(
                            args[0].equals("churn")
                                    ? () -> client.churn(worker, number, Double.parseDouble(args[4]))
                                    : () -> client.hold(worker));
        }
        client.obey();
    }

    private void obey() throws IOException {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        boolean paused = false;
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            switch (line) {
                case "pause" -> {
                    running.acquireUninterruptibly(MOST_CONNECTING);
                    paused = true;
                    say("paused");
                }
                case "resume" -> {
                    running.release(MOST_CONNECTING);
                    paused = false;
                }
                case "totals" -> {
                    failures.forEach((what, count) -> say("failure " + count + " " + what));
                    say("totals " + totals);
                }
                case "reopen" -> {
                    VerbsArena old = arena;
                    arena = VerbsArena.ofShared();
                    old.close();
                    say("reopened");
                }
                case "stop" -> {
                    if (!paused) {
                        running.acquireUninterruptibly(MOST_CONNECTING);
                    }
                    arena.close();
                    say("stopped");
                    return;
                }
                default -> throw new IOException(line);
            }
        }
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private void churn(Worker worker, int number, double perSecond) {
        long period = Math.round(threads * 1e9 / perSecond);
        long next = System.nanoTime() + period * number / threads;
        while (true) {
            long wait = next - System.nanoTime();
            LockSupport.parkNanos(wait);
            next += period;
            running.acquireUninterruptibly();
            try {
                connect(worker, false);
            } finally {
                running.release();
            }
        }
    }

    private void hold(Worker worker) {
        while (true) {
            running.acquireUninterruptibly();
            try {
                connect(worker, true);
            } finally {
                running.release();
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(RECONNECT_MILLIS));
        }
    }

    /** Connects, and uses the connection for a moment, or until it is lost or a pause is asked for. */
    private void connect(Worker worker, boolean keep) {
        long start = System.nanoTime();
        boolean counted = false;
        VerbsArena mine = arena;
        try (KeyValueClient client = new KeyValueClient(mine, server, TIMEOUT)) {
            totals.add("connections", 1);
            worker.use(client, 2);
            if (keep) {
                counted = true;
                if (connected.incrementAndGet() == threads) {
                    say("connected " + threads);
                }
                while (!running.hasQueuedThreads()) {
                    worker.use(client, 1);
                }
            } else {
                worker.use(client, 3);
            }
        } catch (IOException | VerbsException | FailedCompletionException e) {
            totals.add("failures", 1);
            note(e);
        } catch (IllegalStateException e) {
            // The arena was closed.
            totals.add(mine.scope().isAlive() && mine == arena ? "unexpected" : "failures", 1);
            note(e);
        } catch (InterruptedException | RuntimeException | Error e) {
            totals.add("unexpected", 1);
            e.printStackTrace();
        } finally {
            if (counted) {
                connected.decrementAndGet();
            }
        }
        if (!keep && System.nanoTime() - start > TimeUnit.SECONDS.toNanos(1)) {
            totals.add("slow", 1);
        }
    }

    /** Without numbers, which differ each time. */
    private void note(Exception e) {
        String text = String.valueOf(e.getMessage()).replaceAll("0x[0-9a-f]+", "0x…").replaceAll("\\d+", "…");
        failures.computeIfAbsent(e.getClass().getSimpleName() + ": " + text, key -> new AtomicInteger())
                .incrementAndGet();
    }
}
