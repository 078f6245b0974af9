package org.rdmapanama.samples.top;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.rdmapanama.counts.KernelCounters;
import org.rdmapanama.management.OpenContext;
import org.rdmapanama.management.OpenServer;
import org.rdmapanama.management.PortCount;
import org.rdmapanama.management.RdmaMXBean;
import org.rdmapanama.samples.CommonOptions;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Shows what moves through the ports of this machine, again and again. */
@Command(
        name = "top",
        description = {
            "Show how much moves through each RDMA port of this machine, until Ctrl-C.",
            "Devices of the kernel are shown with the counters of the kernel, for all processes together. The device soft0"
                    + " exists within a process: processes of this user are shown that run Java with"
                    + " -Dorg.rdmapanama.jmx=true, or call RdmaManagement.register()."
        },
        sortOptions = false)
public final class TopCommand implements Callable<Integer> {
    private static final String SOFT = "soft";
    private static final double LEAST_SECONDS = 0.1;
    private static final double MOST_SECONDS = 3600;
    private static final double MEGABYTE = 1e6;

    @Mixin
    CommonOptions common;

    @Option(
            names = {"-i", "--interval"},
            paramLabel = "SECONDS",
            defaultValue = "1",
            description = "Measure for this long each time, 0.1 to 3600 (${DEFAULT-VALUE}).")
    private double interval;

    @Option(names = "--once", description = "Print one table and end.")
    private boolean once;

    @Spec
    private CommandSpec spec;

    private final KernelCounters kernel = KernelCounters.ofThisMachine();

    /** For picocli. */
    public TopCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        if (!(interval >= LEAST_SECONDS && interval <= MOST_SECONDS)) {
            throw new ParameterException(
                    spec.commandLine(), "--interval must be between 0.1 and 3600 seconds, not " + interval);
        }
        PrintWriter out = spec.commandLine().getOut();
        try (WatchedJvms jvms = new WatchedJvms()) {
            Sample before = sample(jvms);
            do {
                TimeUnit.MICROSECONDS.sleep(Math.round(interval * 1e6));
                Sample after = sample(jvms);
                out.print(new TopTable(before, after).text());
                if (after.ports().isEmpty()) {
                    out.println("no RDMA device of the kernel, and no process of this user with an open device that was"
                            + " started with -Dorg.rdmapanama.jmx=true");
                }
                if (!once) {
                    out.println();
                }
                out.flush();
                before = after;
                // Nobody may read any more: 'rdma top | head'.
            } while (!once && !out.checkError());
        }
        return 0;
    }

    private Sample sample(WatchedJvms jvms) {
        // Before the time is taken: it takes long for processes that were not there before.
        List<WatchedJvms.Watched> processes = jvms.find();
        long nanos = System.nanoTime();
        TreeMap<Sample.PortName, Traffic> ports = new TreeMap<>();
        List<String> notes = new ArrayList<>();
        for (String device : kernel.devices()) {
            for (int port : kernel.ports(device)) {
                ports.put(new Sample.PortName(device, port, 0), Traffic.ofKernel(kernel.read(device, port)));
            }
        }
        for (WatchedJvms.Watched each : processes) {
            try {
                add(each, ports, notes);
            } catch (RuntimeException gone) {
                // It has ended, has no bean any more, or that of another version. It must not end this command.
                jvms.forget(each);
            }
        }
        return new Sample(nanos, ports, notes);
    }

    private static void add(WatchedJvms.Watched jvm, Map<Sample.PortName, Traffic> ports, List<String> notes) {
        RdmaMXBean bean = jvm.bean();
        long bytes = 0;
        int pairs = 0;
        boolean isSoft = false;
        List<OpenContext> contexts = bean.getContexts();
        for (OpenContext each : contexts) {
            bytes += each.counts().registeredBytes();
            pairs += each.counts().queuePairs();
            isSoft |= each.driver().equals(SOFT);
        }
        for (PortCount each : bean.getPorts()) {
            // Those of the kernel are there already.
            if (isSoft && each.counters().containsKey("local_messages")) {
                ports.put(new Sample.PortName(each.device(), each.port(), jvm.pid()), Traffic.ofSoft(each.counters()));
            }
        }
        StringBuilder note = new StringBuilder("process %d: contexts: %d, queue pairs: %d, registered: %.1f MB"
                .formatted(jvm.pid(), contexts.size(), pairs, bytes / MEGABYTE));
        for (OpenServer each : bean.getServers()) {
            Map<String, Long> counts = each.counts();
            note.append("; %s: %d open, %d accepted, %d refused, %d ended, %d lost"
                    .formatted(
                            each.name(),
                            counts.get("open"),
                            counts.get("accepted"),
                            counts.get("refused"),
                            counts.get("ended"),
                            counts.get("lost")));
        }
        notes.add(note.toString());
    }
}
