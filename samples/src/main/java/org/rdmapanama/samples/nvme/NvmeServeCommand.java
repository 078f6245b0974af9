package org.rdmapanama.samples.nvme;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.rdmapanama.nvme.NvmeBacking;
import org.rdmapanama.nvme.NvmeTarget;
import org.rdmapanama.nvme.NvmeTargetOptions;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Serves files or memory as namespaces. */
@Command(
        name = "serve",
        description = {
            "Serve files or memory as namespaces of a subsystem, until Ctrl-C.",
            "Anybody who reaches the address can read and write them: there is no authentication.",
        },
        sortOptions = false)
final class NvmeServeCommand implements Callable<Integer> {
    private static final int MAX_PORT = 65535;

    @Parameters(
            arity = "0..1",
            paramLabel = "ADDRESS",
            defaultValue = "0.0.0.0",
            description = {
                "Address to listen at, also ADDRESS:PORT or [ADDRESS]:PORT. By default all addresses of IPv4;",
                "with :: those of IPv6 as well."
            })
    private String address;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            defaultValue = "4420",
            description = "Port to listen at, if ADDRESS has none (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = {"-n", "--subsystem"},
            paramLabel = "NQN",
            defaultValue = "nqn.2026-01.org.rdmapanama:served",
            description = "Name of the subsystem (${DEFAULT-VALUE}).")
    private String subsystem;

    @Option(
            names = "--file",
            paramLabel = "FILE",
            description = "Serve a file, of the size that it has; several have the ids 1, 2, and so on.")
    private List<Path> files = List.of();

    @Option(names = "--map", description = "Map the files into memory, so that data moves without a copy.")
    private boolean map;

    @Option(names = "--read-only", description = "Do not let hosts write the files.")
    private boolean readOnly;

    @Option(
            names = "--memory",
            paramLabel = "BYTES",
            description = "Serve memory of this size, whose data ends with the command.")
    private ByteSize memory;

    @Option(
            names = "--block-size",
            paramLabel = "BYTES",
            defaultValue = "4096",
            description = "Size of the blocks, a power of two from 512 to 65536 (${DEFAULT-VALUE}).")
    private int blockSize;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (files.isEmpty() && memory == null) {
            throw wrong("give --file or --memory");
        }
        WrongUsage.range(spec.commandLine(), "--port", port, 1, MAX_PORT);
        InetSocketAddress at = WrongUsage.address(spec.commandLine(), address, Integer.toString(port));
        if (blockSize < 512 || blockSize > 65536 || Integer.bitCount(blockSize) != 1) {
            throw wrong("--block-size must be a power of two from 512 to 65536, not " + blockSize);
        }
        PrintWriter out = spec.commandLine().getOut();
        List<NvmeBacking> backings = new ArrayList<>();
        try {
            NvmeTargetOptions options = new NvmeTargetOptions(subsystem);
            for (Path file : files) {
                if (!Files.exists(file)) {
                    throw new Failure("no such file: " + file);
                }
                backings.add(map ? NvmeBacking.ofMappedFile(file, readOnly) : NvmeBacking.ofFile(file, readOnly));
            }
            if (memory != null) {
                backings.add(NvmeBacking.ofMemory(memory.bytes()));
            }
            for (int i = 0; i < backings.size(); i++) {
                options.namespace(i + 1, blockSize, backings.get(i));
            }
            try (NvmeTarget target = NvmeTarget.serve(at, options)) {
                for (int i = 0; i < backings.size(); i++) {
                    out.printf(
                            "namespace %d: %s%n",
                            i + 1, ByteSize.format(backings.get(i).byteSize()));
                }
                out.println("serving " + subsystem + " at " + target.address() + ", until Ctrl-C");
                out.flush();
                Thread.sleep(Duration.ofDays(36_500));
            }
        } finally {
            for (NvmeBacking each : backings) {
                each.close();
            }
        }
        return 0;
    }
}
