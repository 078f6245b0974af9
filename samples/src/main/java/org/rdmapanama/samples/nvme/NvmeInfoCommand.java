package org.rdmapanama.samples.nvme;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.rdmapanama.nvme.NvmeController;
import org.rdmapanama.nvme.NvmeNamespace;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Shows a controller and its namespaces. */
@Command(name = "info", description = "Show the controller of a subsystem and its namespaces.", sortOptions = false)
final class NvmeInfoCommand implements Callable<Integer> {
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
        try (NvmeController controller = host.connect()) {
            out.printf("subsystem         %s%n", controller.subsystem());
            out.printf("controller        %d, NVMe %s%n", controller.id(), controller.version());
            out.printf(
                    "model             %s, serial number %s, firmware %s%n",
                    controller.model(), controller.serial(), controller.firmware());
            out.printf("I/O queues        %d of %d commands%n", controller.grantedQueues(), controller.queueDepth());
            out.printf("largest transfer  %s%n", ByteSize.format(controller.maxTransfer()));
            out.printf("data in capsules  %s%n", ByteSize.format(controller.inCapsuleData()));
            for (NvmeNamespace each : controller.namespaces()) {
                out.printf(
                        "namespace %-7s %s, %d blocks of %d bytes, %s%n",
                        Integer.toUnsignedString(each.id()),
                        ByteSize.format(each.byteSize()),
                        each.blockCount(),
                        each.blockSize(),
                        each.guid());
            }
            out.flush();
        }
        return 0;
    }
}
