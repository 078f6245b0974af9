package org.rdmapanama.samples.nvme;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Callable;
import org.rdmapanama.nvme.NvmeController;
import org.rdmapanama.nvme.NvmeNamespace;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Read a namespace, or a part of it, into a file. */
@Command(name = "read", description = "Read a namespace, or a part of it, into a file.", sortOptions = false)
final class NvmeReadCommand implements Callable<Integer> {
    @Mixin
    private NvmeHost host;

    @Parameters(index = "1", paramLabel = "FILE", description = "The file, which is replaced.")
    private Path file;

    @Mixin
    private NvmeRange range;

    @Mixin
    private NvmeLending lending;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        host.check();
        range.check(host);
        PrintWriter out = spec.commandLine().getOut();
        try (NvmeController controller = host.connect(lending)) {
            NvmeNamespace namespace = NvmeHost.namespace(controller, range.namespace());
            long offset = range.offset(namespace);
            long size = range.size(namespace, Long.MAX_VALUE);
            try (FileChannel opened = FileChannel.open(
                    file, StandardOpenOption.WRITE, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING)) {
                ProgressBar progress = new ProgressBar(out, "read", size, ProgressBar.onTerminal(), System.nanoTime());
                new NvmeMover(namespace, opened, false, range.depth()).move(offset, size, progress);
                progress.finish(System.nanoTime());
            }
        }
        return 0;
    }
}
