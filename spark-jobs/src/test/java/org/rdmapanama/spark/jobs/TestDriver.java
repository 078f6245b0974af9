package org.rdmapanama.spark.jobs;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SecurityManager;
import org.apache.spark.SecurityManager$;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.deploy.ExternalShuffleService;
import org.apache.spark.sql.SparkSession;
import scala.Option;

/** A driver that runs scenarios, one after the other, and prints what comes of each: names and values. */
final class TestDriver {
    /** These first, because JUnit runs their tests first, and each test waits for a limited time. */
    private static final List<Scenario> FIRST = List.of(
            Scenario.SPARK,
            Scenario.WITHOUT_EXECUTORS,
            Scenario.NO_DEVICE,
            Scenario.SLOW_LINK,
            Scenario.ENCRYPTED_FILES,
            Scenario.ENCRYPTED_NETWORK,
            Scenario.PLAIN);

    private final Path folder;

    /** Where executors listen. */
    private final String address;

    /** Whether the network is this driver's own, so that the address can be taken away. */
    private final boolean ownNetwork;

    private TestDriver(Path folder, String address, boolean ownNetwork) {
        this.folder = folder;
        this.address = address;
        this.ownNetwork = ownNetwork;
    }

    /**
     * Runs scenarios.
     *
     * @param arguments the names of scenarios, if not all are to run; and at the end an address for RDMA, in a network of its own,
     *     if there is such a network
     */
    public static void main(String... arguments) {
        List<String> given = new ArrayList<>(List.of(arguments));
        boolean own = !given.isEmpty() && given.getLast().contains(".");
        TestDriver driver = new TestDriver(
                Path.of(System.getProperty("spark.jobs.folder")), own ? given.removeLast() : "127.0.0.1", own);
        Set<Scenario> scenarios = new LinkedHashSet<>(FIRST);
        scenarios.addAll(List.of(Scenario.values()));
        if (!given.isEmpty()) {
            scenarios.retainAll(given.stream().map(Scenario::valueOf).toList());
        }
        for (Scenario each : scenarios) {
            long start = System.nanoTime();
            say("begin", each);
            try {
                driver.run(each);
            } catch (Exception e) {
                fail(e);
            }
            say("seconds", TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start));
            say("end", each);
        }
    }

    private static void say(String name, Object value) {
        System.out.println(name + "=" + value);
    }

    private static void fail(Throwable failure) {
        for (Throwable each = failure; each != null; each = each.getCause()) {
            say("failure", each.toString().lines().findFirst().orElse(""));
        }
    }

    private void run(Scenario scenario) throws Exception {
        SparkConf conf = scenario.conf(folder, address);
        ExternalShuffleService service = null;
        if (scenario == Scenario.SHUFFLE_SERVICE || scenario == Scenario.MERGED) {
            conf.set("spark.shuffle.service.port", Integer.toString(freePort()));
            SecurityManager security =
                    new SecurityManager(conf, Option.empty(), SecurityManager$.MODULE$.$lessinit$greater$default$3());
            service = scenario == Scenario.MERGED
                    ? new MergingService(conf, security)
                    : new ExternalShuffleService(conf, security);
            service.start();
        }
        try (JavaSparkContext context = new JavaSparkContext(conf)) {
            Events events = new Events();
            context.sc().addSparkListener(events);
            run(scenario, context, events);
            fail(scenario, new Accidents(context, events, folder), context, events);
            if (scenario == Scenario.MERGED) {
                JavaPairRDD<Long, Iterable<byte[]>> groups = TestJob.unevenGroups(context);
                groups.count();
                service.stop();
                long before = events.notMerged.sum();
                sayWithBytes("without the service", context, scenario, () -> ShuffleJob.ofGroups(groups));
                context.sc().listenerBus().waitUntilEmpty();
                say("not merged", events.notMerged.sum() - before);
            }
        } finally {
            if (service != null) {
                service.stop();
            }
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return free.getLocalPort();
        }
    }

    private static void run(Scenario scenario, JavaSparkContext context, Events events) throws Exception {
        RemoteBytes remote = new RemoteBytes(context.sc());
        SparkSession session = SparkSession.builder().config(context.getConf()).getOrCreate();
        for (TestJob each : scenario.jobs()) {
            say(each.toString(), each.run(context, session));
        }
        if (scenario.executors() > 0) {
            ExecutorFigures figures = ExecutorFigures.sum(context, scenario.executors());
            say("remote", remote.soFar());
            say("rdma", figures.rdmaBytes());
            say("fallback", figures.fallbackBytes());
            say("registrations", figures.registrations());
            say("evictions", figures.evictions());
        }
        say("spilled", events.spilled.sum());
        say("merged", events.merged.sum());
    }

    private void fail(Scenario scenario, Accidents accidents, JavaSparkContext context, Events events)
            throws Exception {
        switch (scenario) {
            case SPARK -> say("large", accidents.withLargeBlocks());
            case PLAIN -> {
                say("corrupted", accidents.corrupted());
                sayWithStages("unregistered", events, accidents::unregistered);
                sayWithStages("killed", events, accidents::killed);
            }
            case SLOW_LINK -> {
                say("late", accidents.late(new ExecutorLogs(folder)));
                if (ownNetwork) {
                    say("gone", accidents.withoutDevice(address));
                    say(
                            "fallback when gone",
                            ExecutorFigures.sum(context, scenario.executors()).fallbackBytes());
                    sayWithBytes("after", context, scenario, accidents::none);
                    OwnNetwork.change("add", address);
                }
            }
            case SHUFFLE_SERVICE -> {
                sayWithBytes("large", context, scenario, accidents::withLargeBlocks);
                sayWithStages("killed", events, accidents::killed);
            }
            default -> {}
        }
    }

    /** Says what a job gives, and how many stages Spark runs again for it. */
    private static void sayWithStages(String name, Events events, Callable<Digest> job) throws Exception {
        int before = events.again.get();
        say(name, job.call());
        say("stages again, " + name, events.again.get() - before);
    }

    /** Says what a job gives, and which way its bytes come. */
    private static void sayWithBytes(String name, JavaSparkContext context, Scenario scenario, Callable<Digest> job)
            throws Exception {
        ExecutorFigures before = ExecutorFigures.sum(context, scenario.executors());
        say(name, job.call());
        ExecutorFigures since =
                ExecutorFigures.sum(context, scenario.executors()).since(before);
        say("rdma " + name, since.rdmaBytes());
        say("fallback " + name, since.fallbackBytes());
    }
}
