package org.rdmapanama.samples.nvme;

import org.rdmapanama.samples.CommandGroup;
import picocli.CommandLine.Command;

/** Reads and writes block storage of other machines, and serves it: NVMe over RDMA. */
@Command(
        name = "nvme",
        description = {
            "Read and write block storage of other machines by NVMe over RDMA, and serve it.",
            "The host's side needs no kernel module for NVMe, and the target's side none either.",
        },
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma nvme serve --file disk.img 10.77.0.1     on the host with the address 10.77.0.1",
            "  rdma nvme discover 10.77.0.1                  on another",
            "  rdma nvme write 10.77.0.1 some.img",
        })
public final class NvmeCommand extends CommandGroup {
    /** For picocli. */
    public NvmeCommand() {
        super(
                NvmeDiscoverCommand.class,
                NvmeInfoCommand.class,
                NvmeReadCommand.class,
                NvmeWriteCommand.class,
                NvmeCopyCommand.class,
                NvmeBenchCommand.class,
                NvmeServeCommand.class);
    }
}
