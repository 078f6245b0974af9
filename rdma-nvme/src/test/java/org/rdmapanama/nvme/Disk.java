package org.rdmapanama.nvme;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.testing.Lab;

/** A target with one namespace, for tests. */
final class Disk implements AutoCloseable {
    static final String NAME = "nqn.2026-01.org.rdmapanama:test";
    static final int BLOCK = 512;

    final NvmeBacking backing;
    final NvmeTarget target;

    Disk(NvmeBacking backing, int blockSize) {
        this(new NvmeTargetOptions(NAME).namespace(1, blockSize, backing), backing);
    }

    Disk(NvmeTargetOptions options, NvmeBacking backing) {
        this.backing = backing;
        target = NvmeTarget.serve(Lab.second(Lab.port()), options);
    }

    static Disk ofMemory(long blocks) {
        return new Disk(NvmeBacking.ofMemory(blocks * BLOCK), BLOCK);
    }

    InetSocketAddress address() {
        return target.address();
    }

    static NvmeOptions options() {
        return new NvmeOptions().subsystem(NAME).commandTimeout(Duration.ofSeconds(20));
    }

    NvmeController connect() throws InterruptedException {
        return connect(options());
    }

    NvmeController connect(NvmeOptions options) throws InterruptedException {
        return NvmeController.connect(address(), options);
    }

    @Override
    public void close() {
        target.close();
    }
}
