package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.rdmapanama.VerbsArena;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Moves data to the memory of another process and back, and checks it. */
@Command(
        name = "transfer",
        description = {
            "Write data to the memory of another process by RDMA WRITE, read it back by RDMA READ, and check it.",
            "The other side is 'rdma serve'. The two connect by address, and exchange address, key and checksum by SEND"
                    + " and RECEIVE.",
        },
        sortOptions = false,
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma serve                                on the host 10.77.0.1",
            "  rdma transfer 10.77.0.1 --size 100MiB     on another",
        })
final class TransferCommand implements Callable<Integer> {
    /** The most that can be moved, or lent. */
    static final long MAX_SIZE = 1L << 30;

    private static final long MAX_CHUNK = 1L << 30;
    private static final int MAX_DEPTH = 4096;

    @Parameters(arity = "0..1", paramLabel = "HOST", description = "Address or name of the server.")
    private String host;

    @Option(names = "--serve", description = "Run as the server instead, like 'rdma serve'.")
    private boolean serve;

    @Option(
            names = {"-I", "--source"},
            paramLabel = "ADDRESS",
            description = "Client: local address to connect from.")
    private String source;

    @Option(
            names = {"-s", "--size"},
            paramLabel = "SIZE",
            defaultValue = "64MiB",
            description = "Client: amount of data to move, from 1 byte to 1GiB (${DEFAULT-VALUE}).")
    private ByteSize size;

    @Option(
            names = "--chunk",
            paramLabel = "SIZE",
            defaultValue = "256KiB",
            description = "Client: number of bytes that one work request moves (${DEFAULT-VALUE}).")
    private ByteSize chunk;

    @Option(
            names = "--warmup",
            paramLabel = "SIZE",
            defaultValue = "0",
            description = "Client: amount of data to move each way before the measurement, at most 1GiB"
                    + " (${DEFAULT-VALUE}).")
    private ByteSize warmUp;

    @Option(
            names = "--depth",
            paramLabel = "N",
            defaultValue = "8",
            description = "Client: number of work requests in flight (${DEFAULT-VALUE}).")
    private int depth;

    @Mixin
    private ServeOptions serving;

    @Mixin
    private MeetingOptions meeting;

    @Mixin
    private LinkOptions link;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (serve == (host != null)) {
            throw link.wrong(
                    serve ? "a server takes no HOST: leave out --serve or '" + host + "'" : "give HOST, or --serve");
        }
        if (!serve) {
            serving.checkUnused(link);
        }
        serving.check(link);
        link.sizeInRange("--size", size, MAX_SIZE);
        link.sizeInRange("--chunk", chunk, MAX_CHUNK);
        if (warmUp.bytes() > 0) {
            link.sizeInRange("--warmup", warmUp, MAX_SIZE);
        }
        link.range("--depth", depth, 1, MAX_DEPTH);
        PrintWriter out = spec.commandLine().getOut();
        if (serve) {
            serving.serve(meeting.server(link, null, out), link);
        } else {
            move(meeting.client(link, host, source, out), out);
        }
        return 0;
    }

    private void move(Meeting with, PrintWriter out) throws IOException, InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            TransferLink transfer = new TransferLink(arena, chunk.bytes(), depth, link.timeout());
            TransferConnection connection = with.connect(arena, transfer);
            try {
                new TransferClient(transfer, out, spec.commandLine().getErr()).run(size.bytes(), warmUp.bytes());
            } finally {
                connection.close();
            }
        }
    }
}
