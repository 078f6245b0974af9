package org.rdmapanama.samples.collective;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** Options that say who takes part. */
final class RankOptions {
    private static final String PORT = "7476";
    private static final int MAX_SECONDS = 1_000_000;
    private static final String LOCAL = "127.0.0.1";

    @Parameters(
            arity = "0..*",
            paramLabel = "HOST[:PORT]",
            description = "Addresses of all ranks, from rank 0, the same on each (port " + PORT
                    + "). With -n: the address of this host to use (" + LOCAL
                    + ", which soft0 has; a device of the kernel needs that of its network interface).")
    private List<String> hosts = List.of();

    @Option(
            names = {"-r", "--rank"},
            paramLabel = "RANK",
            description = "Which of the addresses this process is, from 0.")
    private Integer rank;

    @Option(
            names = {"-n", "--processes"},
            paramLabel = "N",
            description =
                    "Start N processes on this host instead, 1 to " + Group.MAX_RANKS + ". Ctrl-C ends all of them.")
    private Integer processes;

    @Option(
            names = "--group",
            paramLabel = "ID",
            defaultValue = "0",
            description = "Number of the group; ranks of other groups are rejected (${DEFAULT-VALUE}).")
    private long group;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "30",
            description = "Give up when a rank has not joined within this time (${DEFAULT-VALUE}).")
    private int timeoutSeconds;

    @Option(
            names = "--silence",
            paramLabel = "SECONDS",
            defaultValue = "10",
            description = "Give up when a rank that others wait for says nothing for this time (${DEFAULT-VALUE}).")
    private int silenceSeconds;

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    void check() {
        WrongUsage.range(spec.commandLine(), "--timeout", timeoutSeconds, 1, MAX_SECONDS);
        WrongUsage.range(spec.commandLine(), "--silence", silenceSeconds, 1, MAX_SECONDS);
        if (processes != null) {
            WrongUsage.range(spec.commandLine(), "--processes", processes, 1, Group.MAX_RANKS);
            if (rank != null) {
                throw wrong("--rank is for one of several processes that you start; -n starts all of them");
            }
            if (hosts.size() > 1) {
                throw wrong("-n takes one address of this host at most, not " + hosts.size());
            }
            return;
        }
        if (rank == null) {
            throw wrong("write -n N to start N processes on this host, or --rank RANK and the addresses of all ranks");
        }
        if (hosts.isEmpty() || hosts.size() > Group.MAX_RANKS) {
            throw wrong("give the addresses of all ranks, 1 to " + Group.MAX_RANKS + ", not " + hosts.size());
        }
        WrongUsage.range(spec.commandLine(), "--rank", rank, 0, hosts.size() - 1);
    }

    /** Returns how many processes to start; 0 if this is one of them. */
    int processes() {
        return processes == null ? 0 : processes;
    }

    int rank() {
        return rank;
    }

    /** Returns the number of ranks. */
    int size() {
        return processes == null ? hosts.size() : processes;
    }

    String localHost() {
        return hosts.isEmpty() ? LOCAL : hosts.getFirst();
    }

    GroupOptions options() {
        return new GroupOptions(group, Duration.ofSeconds(timeoutSeconds), Duration.ofSeconds(silenceSeconds));
    }

    /** Returns options for the processes to start. Each group has an id of its own, in case that others use its ports. */
    List<String> arguments() {
        long id = group == 0 ? ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE) : group;
        return List.of(
                "--group",
                Long.toString(id),
                "--timeout",
                Integer.toString(timeoutSeconds),
                "--silence",
                Integer.toString(silenceSeconds));
    }

    List<InetSocketAddress> addresses() {
        List<InetSocketAddress> all = new ArrayList<>();
        for (String each : hosts) {
            InetSocketAddress address = WrongUsage.address(spec.commandLine(), each, PORT);
            if (all.contains(address)) {
                throw wrong("'" + each + "' is there twice: each rank needs an address or a port of its own");
            }
            all.add(address);
        }
        return all;
    }
}
