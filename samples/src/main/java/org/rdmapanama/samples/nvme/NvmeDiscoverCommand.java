package org.rdmapanama.samples.nvme;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.rdmapanama.nvme.DiscoveryEntry;
import org.rdmapanama.samples.CommonOptions;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Lists the subsystems of a target. */
@Command(name = "discover", description = "List the subsystems of a target.", sortOptions = false)
final class NvmeDiscoverCommand implements Callable<Integer> {
    @Mixin
    private NvmeHost host;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        host.check();
        PrintWriter out = spec.commandLine().getOut();
        for (DiscoveryEntry entry : host.discover()) {
            out.printf(
                    "%-10s %-5s %s port %s  %s%n",
                    kind(entry), transport(entry), entry.address(), entry.service(), entry.subsystem());
        }
        out.flush();
        return 0;
    }

    private static String kind(DiscoveryEntry entry) {
        return switch (entry.type()) {
            case 1 -> "referral";
            case 2 -> "subsystem";
            case 3 -> "discovery";
            default -> "type " + entry.type();
        };
    }

    private static String transport(DiscoveryEntry entry) {
        return switch (entry.transport()) {
            case 1 -> "rdma";
            case 2 -> "fc";
            case 3 -> "tcp";
            default -> "transport " + entry.transport();
        };
    }
}
