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
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Write a file into a namespace, or a part of it. What is there is lost. */
@Command(
        name = "write",
        description = "Write a file into a namespace, or a part of it. What is there is lost.",
        sortOptions = false)
final class NvmeWriteCommand implements Callable<Integer> {
    @Mixin
    private NvmeHost host;

    @Parameters(index = "1", paramLabel = "FILE", description = "The file.")
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
        try (FileChannel opened = FileChannel.open(file, StandardOpenOption.READ);
                NvmeController controller = host.connect(lending)) {
            NvmeNamespace namespace = NvmeHost.namespace(controller, range.namespace());
            long offset = range.offset(namespace);
            long size = range.size(namespace, opened.size());
            if (size > opened.size()) {
                throw new Failure(file + " has " + opened.size() + " bytes, and --size is more");
            }
            ProgressBar progress = new ProgressBar(out, "write", size, ProgressBar.onTerminal(), System.nanoTime());
            new NvmeMover(namespace, opened, true, range.depth()).move(offset, size, progress);
            progress.finish(System.nanoTime());
        }
        return 0;
    }
}
