package org.rdmapanama.samples.nvme;

import org.rdmapanama.nvme.NvmeOptions;
import picocli.CommandLine.Option;

/** The option of commands that move data: how the target reaches the memory of this host. */
final class NvmeLending {
    @Option(
            names = "--invalidate",
            description = {
                "Lend the target just the memory of each command, by a memory window whose key it invalidates with its answer.",
                "By default it can reach the buffers as long as this runs.",
            })
    private boolean invalidate;

    NvmeOptions applyTo(NvmeOptions options) {
        return options.remoteInvalidation(invalidate);
    }
}
