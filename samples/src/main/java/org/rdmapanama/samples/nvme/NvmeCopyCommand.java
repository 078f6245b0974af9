package org.rdmapanama.samples.nvme;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.rdmapanama.nvme.NvmeController;
import org.rdmapanama.nvme.NvmeNamespace;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Copies a namespace, or a part of it, to another one. */
@Command(
        name = "copy",
        description = {
            "Copy a namespace, or a part of it, to another one, of the same target or of another. What is there is lost.",
            "The blocks stay where they were: what was at --offset is written at the same place.",
        },
        sortOptions = false)
final class NvmeCopyCommand implements Callable<Integer> {
    @Mixin
    private NvmeHost host;

    @Parameters(
            index = "1",
            paramLabel = "TO",
            description = "Address or name of the target to copy to, also HOST:PORT or [ADDRESS]:PORT.")
    private String to;

    @Option(
            names = "--to-port",
            paramLabel = "PORT",
            defaultValue = "4420",
            description = "Its port, if TO has none (${DEFAULT-VALUE}).")
    private int toPort;

    @Option(
            names = "--to-subsystem",
            paramLabel = "NQN",
            description = "Its subsystem; by default the only one that it has.")
    private String toSubsystem;

    @Option(
            names = "--to-namespace",
            paramLabel = "ID",
            defaultValue = "0",
            description = "Its namespace; by default the only one.")
    private int toNamespace;

    @Mixin
    private NvmeRange range;

    @Mixin
    private NvmeLending lending;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        host.check();
        range.check(host);
        if (toNamespace < 0) {
            throw host.wrong("--to-namespace must not be negative: " + toNamespace);
        }
        PrintWriter out = spec.commandLine().getOut();
        try (NvmeController source = host.connect(lending);
                NvmeController target = host.connect(to, toPort, toSubsystem, lending)) {
            NvmeNamespace from = NvmeHost.namespace(source, range.namespace());
            NvmeNamespace into = NvmeHost.namespace(target, toNamespace, "--to-namespace");
            long offset = range.offset(from);
            long size = range.size(from, Long.MAX_VALUE);
            if (offset + size > into.byteSize()) {
                throw new Failure("the namespace to copy to ends after " + into.byteSize() + " bytes, and "
                        + (offset + size) + " are needed: choose less with --size");
            }
            if (offset % into.blockSize() != 0 || size % into.blockSize() != 0) {
                throw new Failure("--offset and --size must be multiples of the block size of the namespace to copy to,"
                        + " which is " + into.blockSize() + " bytes: " + offset + " and " + size);
            }
            ProgressBar progress = new ProgressBar(out, "copy", size, ProgressBar.onTerminal(), System.nanoTime());
            new NvmeCopier(from, into, range.depth()).copy(offset, size, progress);
            progress.finish(System.nanoTime());
        }
        return 0;
    }
}
