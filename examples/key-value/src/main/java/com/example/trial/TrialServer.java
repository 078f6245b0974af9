package com.example.trial;

import com.example.KeyValueServer;
import com.sun.management.UnixOperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.management.JMX;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import org.rdmapanama.cm.ServerCounts;
import org.rdmapanama.management.OpenContext;
import org.rdmapanama.management.RdmaMXBean;
import org.rdmapanama.management.RdmaManagement;

/**
 * The process of the server. Argument: the port. Obeys the words counts, measure and reopen on standard input; the end of that
 * ends this. "reopen" closes the server and its arena in another thread than that which serves, and starts another one.
 */
public final class TrialServer {
    private static final long LIMIT_SECONDS = 20;

    private final InetSocketAddress address;
    private KeyValueServer server;

    /** Completes when the thread that serves has ended, with what it threw. */
    private CompletableFuture<Void> served;

    private TrialServer(int port) {
        address = new InetSocketAddress("127.0.0.1", port);
    }

    public static void main(String[] args) throws Exception {
        TrialServer trial = new TrialServer(Integer.parseInt(args[0]));
        trial.start();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            switch (line) {
                case "counts" -> say("counts " + text(trial.server.counts()));
                case "measure" -> say("measured " + measure());
                case "reopen" -> {
                    trial.stop();
                    trial.start();
                }
                case "stop" -> {
                    trial.stop();
                    System.exit(0);
                }
                default -> throw new IOException(line);
            }
        }
    }

    private void start() {
        KeyValueServer started = new KeyValueServer(address);
        CompletableFuture<Void> end = new CompletableFuture<>();
        Thread.ofPlatform().name("server").daemon().start(() -> {
            try {
                started.run();
                end.complete(null);
            } catch (Throwable e) {
                e.printStackTrace();
                end.completeExceptionally(e);
            }
        });
        server = started;
        served = end;
        say("listening");
    }

    private void stop() throws Exception {
        server.close();
        served.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        say("closed " + text(server.counts()));
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static String text(ServerCounts counts) {
        return "accepted=%d refused=%d failed=%d open=%d ended=%d lost=%d"
                .formatted(
                        counts.accepted(),
                        counts.refused(),
                        counts.failed(),
                        counts.open(),
                        counts.ended(),
                        counts.lost());
    }

    private static Totals measure() throws InterruptedException {
        Totals totals = new Totals();
        totals.add("heap", liveBytes());
        totals.add(
                "segments",
                ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                        .filter(pool -> pool.getName().equals("direct"))
                        .mapToLong(BufferPoolMXBean::getMemoryUsed)
                        .sum());
        totals.add(
                "descriptors",
                ((UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                        .getOpenFileDescriptorCount());
        totals.add("threads", threads());
        for (OpenContext each : bean().getContexts()) {
            totals.add("registered", each.counts().registeredBytes());
            totals.add("objects", each.counts().objects());
        }
        return totals;
    }

    /** The least of several, because other threads allocate meanwhile. */
    private static long liveBytes() throws InterruptedException {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
            least = Math.min(
                    least,
                    ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
        }
        return least;
    }

    /** Without those that 'bin/rdma top' has started here by its questions. */
    private static int threads() {
        int count = 0;
        for (ThreadInfo each : ManagementFactory.getThreadMXBean().dumpAllThreads(false, false)) {
            String name = each.getThreadName();
            if (!name.startsWith("RMI ") && !name.startsWith("JMX ") && !name.equals("Attach Listener")) {
                count++;
            }
        }
        return count;
    }

    private static RdmaMXBean bean() {
        try {
            return JMX.newMXBeanProxy(
                    ManagementFactory.getPlatformMBeanServer(),
                    new ObjectName(RdmaManagement.NAME),
                    RdmaMXBean.class);
        } catch (MalformedObjectNameException e) {
            throw new IllegalStateException(e);
        }
    }
}
