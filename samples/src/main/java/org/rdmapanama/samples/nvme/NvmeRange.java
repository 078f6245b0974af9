package org.rdmapanama.samples.nvme;

import org.rdmapanama.nvme.NvmeNamespace;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.Failure;
import picocli.CommandLine.Option;

/** The options that choose a part of a namespace, and how it moves. */
final class NvmeRange {
    static final int MAX_DEPTH = 1024;

    @Option(
            names = "--namespace",
            paramLabel = "ID",
            defaultValue = "0",
            description = "The namespace; by default the only one.")
    private int namespace;

    @Option(
            names = "--offset",
            paramLabel = "BYTES",
            defaultValue = "0",
            description = "Where to begin in the namespace, a multiple of its block size (${DEFAULT-VALUE}).")
    private ByteSize offset;

    @Option(
            names = {"-s", "--size"},
            paramLabel = "BYTES",
            description = "How much to move, a multiple of the block size; by default all.")
    private ByteSize size;

    @Option(
            names = "--depth",
            paramLabel = "N",
            defaultValue = "8",
            description = "Number of commands in flight (${DEFAULT-VALUE}).")
    private int depth;

    void check(NvmeHost host) {
        host.range("--depth", depth, 1, MAX_DEPTH);
        if (namespace < 0) {
            throw host.wrong("--namespace must not be negative: " + namespace);
        }
        if (size != null && size.bytes() == 0) {
            throw host.wrong("--size must be at least 1 byte");
        }
    }

    int namespace() {
        return namespace;
    }

    int depth() {
        return depth;
    }

    long offset(NvmeNamespace of) {
        return whole("--offset", offset.bytes(), of);
    }

    /**
     * Returns the size.
     *
     * @param most how much there is, which counts without the option
     */
    long size(NvmeNamespace of, long most) {
        long room = Math.min(most, of.byteSize() - offset.bytes());
        if (room <= 0 || (size != null && size.bytes() > of.byteSize() - offset.bytes())) {
            throw new Failure("the namespace ends after " + of.byteSize() + " bytes: choose less");
        }
        return whole("--size", size == null ? room : size.bytes(), of);
    }

    private static long whole(String option, long bytes, NvmeNamespace of) {
        if (bytes % of.blockSize() != 0) {
            throw new Failure(
                    option + " must be a multiple of the block size, which is " + of.blockSize() + " bytes: " + bytes);
        }
        return bytes;
    }
}
