package org.rdmapanama.samples.table;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.rdmapanama.VerbsException;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.Sockets;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Keeps a table. */
@Command(
        name = "serve",
        description = {
            "Keep a table until Ctrl-C. It is in memory only.",
            "Anybody who reaches the address can read and change it: there is no authentication.",
        },
        sortOptions = false)
final class TableServeCommand implements Callable<Integer> {
    private static final int MAX_SECONDS = 86_400;
    private static final int MAX_CLIENTS = 10_000;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "ADDRESS",
            defaultValue = "0.0.0.0",
            description = "Address to listen at (all addresses).")
    private String address;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            defaultValue = TableCommand.PORT,
            description = "Port to listen at (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = "--tcp",
            paramLabel = "PORT",
            description = "Answer the same requests over TCP at this port, for 'rdma table bench --tcp'.")
    private Integer tcpPort;

    @Option(
            names = "--slots",
            paramLabel = "N",
            defaultValue = "1024",
            description = "Slots at first, a power of two (${DEFAULT-VALUE}). The table grows when a key has no room.")
    private int slots;

    @Option(
            names = "--max-slots",
            paramLabel = "N",
            description = "Slots that the table may have (1048576, or as many as fit into 512 MiB).")
    private Integer maxSlots;

    @Option(
            names = "--slot",
            paramLabel = "BYTES",
            defaultValue = "128",
            description = "Size of a slot: 24 bytes more than the longest key with its value (${DEFAULT-VALUE}).")
    private ByteSize slot;

    @Option(
            names = "--window",
            paramLabel = "N",
            defaultValue = "8",
            description = "In how many neighbouring slots a key may be; a get reads all of them (${DEFAULT-VALUE}).")
    private int window;

    @Option(
            names = "--clients",
            paramLabel = "N",
            defaultValue = "64",
            description = "Clients that may be connected (${DEFAULT-VALUE}).")
    private int clients;

    @Option(
            names = "--grace",
            paramLabel = "SECONDS",
            defaultValue = "10",
            description = "How long a client that does not ask may read a table that a larger one has replaced"
                    + " (${DEFAULT-VALUE}). It then has to connect again.")
    private int grace;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private TableOptions options() {
        WrongUsage.range(spec.commandLine(), "--slot", slot.bytes(), Geometry.MIN_SLOT, Geometry.MAX_SLOT);
        WrongUsage.range(spec.commandLine(), "--clients", clients, 1, MAX_CLIENTS);
        WrongUsage.range(spec.commandLine(), "--grace", grace, 0, MAX_SECONDS);
        try {
            int most = maxSlots == null ? mostSlots() : maxSlots;
            return new TableOptions(slots, most, (int) slot.bytes(), window, clients, Duration.ofSeconds(grace));
        } catch (IllegalArgumentException e) {
            String message = e.getMessage()
                    .replaceFirst("^slotBytes", "--slot")
                    .replaceFirst("^maxSlots", "--max-slots")
                    .replaceFirst("^(slots|window)", "--$1");
            throw new ParameterException(spec.commandLine(), message, e);
        }
    }

    private int mostSlots() {
        long fit = Long.highestOneBit(Geometry.MAX_BYTES / 2 / slot.bytes());
        return (int) Math.max(slots, Math.min(TableOptions.DEFAULT.maxSlots(), fit));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        WrongUsage.range(spec.commandLine(), "--port", port, 1, 65535);
        if (tcpPort != null) {
            WrongUsage.range(spec.commandLine(), "--tcp", tcpPort, 1, 65535);
        }
        TableOptions options = options();
        PrintWriter out = spec.commandLine().getOut();
        try (TableServer server = TableServer.start(Sockets.resolve(address, port), options)) {
            if (tcpPort == null) {
                serve(out);
            } else {
                try (TcpTableServer _ = new TcpTableServer(server, options, address, tcpPort)) {
                    serve(out);
                }
            }
            return 0;
        } catch (VerbsException e) {
            throw new Failure("cannot serve a table at " + address + " port " + port + ": " + e.getMessage(), e);
        }
    }

    private void serve(PrintWriter out) throws InterruptedException {
        out.println("a table of " + slots + " slots of " + slot.bytes() + " bytes at port " + port
                + (tcpPort == null ? "" : ", over TCP at port " + tcpPort) + ", until Ctrl-C");
        out.flush();
        Thread.sleep(Duration.ofDays(36_500));
    }
}
