package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.rdmapanama.AccessFlag;
import org.rdmapanama.Context;
import org.rdmapanama.Endpoint;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsArena;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Moves data into the memory of another process and back, and checks it. */
@Command(
        name = "transfer",
        description = {
            "Write data into the memory of another process with RDMA WRITE, read it back with RDMA READ, and check it.",
            "The two sides connect, and tell each other address, key and checksum by SEND and RECEIVE.",
        },
        sortOptions = false,
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma transfer --serve                     on the host named left",
            "  rdma transfer left --size 100MiB          on another",
        })
final class TransferCommand implements Callable<Integer> {
    private static final long MAX_SIZE = 1L << 30;
    private static final long MAX_CHUNK = 1L << 30;
    private static final int MAX_DEPTH = 4096;

    @Parameters(arity = "0..1", paramLabel = "HOST", description = "Where the server runs.")
    private String host;

    @Option(names = "--serve", description = "Be the server: lend memory to one client, then end.")
    private boolean serve;

    @Option(
            names = {"-s", "--size"},
            paramLabel = "SIZE",
            defaultValue = "64MiB",
            description = "Client: how much to move, from 1 byte to 1GiB (${DEFAULT-VALUE}).")
    private ByteSize size;

    @Option(
            names = "--chunk",
            paramLabel = "SIZE",
            defaultValue = "256KiB",
            description = "Client: how much one work request moves (${DEFAULT-VALUE}).")
    private ByteSize chunk;

    @Option(
            names = "--depth",
            paramLabel = "N",
            defaultValue = "8",
            description = "Client: work requests under way at a time (${DEFAULT-VALUE}).")
    private int depth;

    @Option(
            names = "--limit",
            paramLabel = "SIZE",
            defaultValue = "1GiB",
            description = "Server: how much memory to lend at most (${DEFAULT-VALUE}).")
    private ByteSize limit;

    @Mixin
    private LinkOptions link;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        check();
        PrintWriter out = spec.commandLine().getOut();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = link.open(arena);
            checkChunk(context);
            TransferLink transfer = new TransferLink(arena, context, chunk.bytes(), depth, link.timeout());
            Endpoint local = transfer.localEndpoint(link.connectOptions(null));
            LinkOptions.print(out, "local address", local);
            if (serve) {
                serve(transfer, local, out);
            } else {
                move(transfer, local, out);
            }
        }
        return 0;
    }

    private void check() {
        link.check();
        if (serve == (host != null)) {
            throw link.wrong(
                    serve ? "a server takes no HOST: leave out --serve or '" + host + "'" : "give HOST, or --serve");
        }
        sizeInRange("--size", size, MAX_SIZE);
        sizeInRange("--limit", limit, MAX_SIZE);
        sizeInRange("--chunk", chunk, MAX_CHUNK);
        link.range("--depth", depth, 1, MAX_DEPTH);
    }

    private void sizeInRange(String option, ByteSize value, long max) {
        if (value.bytes() < 1 || value.bytes() > max) {
            throw link.wrong(option + " must be between 1 byte and " + ByteSize.format(max) + ", not " + value);
        }
    }

    private void checkChunk(Context context) {
        long max = context.queryPort(link.devicePort()).maxMessageSize();
        if (chunk.bytes() > max) {
            throw link.wrong("--chunk must not exceed the port's largest message, " + ByteSize.format(max));
        }
    }

    private void serve(TransferLink transfer, Endpoint local, PrintWriter out)
            throws IOException, InterruptedException {
        try (EndpointExchange.Listener listener = link.listen(out)) {
            try (EndpointExchange exchange = listener.accept(link.timeout())) {
                Endpoint remote = exchange.receive();
                LinkOptions.print(out, "remote address", remote);
                transfer.connect(remote);
                exchange.send(local);
                exchange.receiveDone();
                transfer.watch(new Heartbeat(exchange.channel(), link.timeout()));
                new TransferServer(transfer, out).run(limit.bytes());
            }
        }
    }

    private void move(TransferLink transfer, Endpoint local, PrintWriter out) throws IOException, InterruptedException {
        // Registered before there is a peer that would have to wait for it.
        MemoryRegion region = transfer.register(size.bytes(), AccessFlag.LOCAL_WRITE);
        try (EndpointExchange exchange = link.reach(host)) {
            exchange.send(local);
            Endpoint remote = exchange.receive();
            LinkOptions.print(out, "remote address", remote);
            transfer.connect(remote);
            exchange.sendDone();
            transfer.watch(new Heartbeat(exchange.channel(), link.timeout()));
            new TransferClient(transfer, out, spec.commandLine().getErr()).run(region);
        }
    }
}
