package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.nio.channels.SocketChannel;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.device.Mtu;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Sends a message back and forth and measures the round-trip time. */
@Command(
        name = "pingpong",
        description = {
            "Send a message back and forth and measure the round-trip time.",
            "Without HOST this is the server, which waits for a client. Either side may also be ibv_rc_pingpong,"
                    + " ibv_uc_pingpong or ibv_ud_pingpong.",
        },
        sortOptions = false,
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma pingpong --transport rc              on the host named left",
            "  rdma pingpong --transport rc left         on another",
        })
final class PingPongCommand implements Callable<Integer> {
    private static final int MAX_DEPTH = 1 << 20;
    private static final int MAX_ITERATIONS = 1_000_000_000;
    private static final int MAX_TCP_MESSAGE = 1 << 30;

    @Parameters(arity = "0..1", paramLabel = "HOST", description = "Host on which the server runs.")
    private String host;

    @Option(
            names = {"-t", "--transport"},
            paramLabel = "rc|uc|ud|srd|tcp",
            defaultValue = "rc",
            description =
                    "Reliable or unreliable connection, unreliable datagrams, or SRD, the reliable datagrams of EFA"
                            + " devices; or TCP with a blocking socket and no RDMA device, to compare"
                            + " (${DEFAULT-VALUE}).")
    private Transport transport;

    @Option(
            names = {"-s", "--size"},
            paramLabel = "SIZE",
            description = "Size of a message, such as 4096 or 64KiB (4096; ud: 1024).")
    private ByteSize size;

    @Option(
            names = {"-n", "--iters"},
            paramLabel = "N",
            defaultValue = "1000",
            description = "Number of round trips to measure (${DEFAULT-VALUE}).")
    private int iterations;

    @Option(
            names = "--warmup",
            paramLabel = "N",
            defaultValue = "0",
            description = "Number of round trips before the measurement. Give the same number on both sides; to a C"
                    + " program, add it to -n (${DEFAULT-VALUE}).")
    private int warmUp;

    @Option(
            names = {"-m", "--mtu"},
            paramLabel = "BYTES",
            defaultValue = "1024",
            description = "Path MTU: 256, 512, 1024, 2048 or 4096. Give the same on both sides, which cannot negotiate"
                    + " it because either may be a C program (${DEFAULT-VALUE}).")
    private int mtu;

    @Option(
            names = {"-r", "--rx-depth"},
            paramLabel = "N",
            defaultValue = "500",
            description = "Number of receives posted at a time (${DEFAULT-VALUE}).")
    private int receiveDepth;

    @Option(
            names = {"-e", "--events"},
            description = "Sleep until a completion event, instead of polling.")
    private boolean events;

    @Option(
            names = {"-c", "--chk"},
            description = "Check the message that comes back; give it on both sides.")
    private boolean check;

    @Mixin
    private LinkOptions link;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        link.check();
        link.range("--iters", iterations, 1, MAX_ITERATIONS);
        link.range("--warmup", warmUp, 0, MAX_ITERATIONS);
        link.range("--rx-depth", receiveDepth, 1, MAX_DEPTH);
        Mtu pathMtu = pathMtu();
        long bytes = size == null ? transport.defaultSize : size.bytes();

        PingPong.Settings settings =
                new PingPong.Settings(bytes, warmUp, iterations, receiveDepth, events, link.timeout());
        PrintWriter out = spec.commandLine().getOut();
        if (transport == Transport.tcp) {
            playOverTcp(settings, out);
            return 0;
        }
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = link.open(arena);
            checkSize(context, bytes);
            PingPong pingPong = new PingPong(arena, context, transport, settings);
            ConnectOptions how = link.connectOptions(pathMtu);
            // Checks the port and the GID index now, before a peer is there that would fail with us.
            pingPong.localEndpoint(how);

            if (host == null) {
                serve(pingPong, how, out);
            } else {
                connect(pingPong, how, out);
            }
            if (!events) {
                link.notePolling(context, pingPong.remoteGid());
            }
            if (host != null && check) {
                pingPong.message().mark();
            }
            long nanos = pingPong.play(host != null);
            report(out, nanos, bytes, pingPong.latencies(), pingPong.message());
        }
        return 0;
    }

    private void playOverTcp(PingPong.Settings settings, PrintWriter out) throws IOException, InterruptedException {
        link.sizeInRange("--size", new ByteSize(settings.size()), MAX_TCP_MESSAGE);
        try (Arena arena = Arena.ofConfined();
                SocketChannel channel = host == null ? acceptOverTcp(out) : link.connect(host)) {
            TcpPingPong pingPong = new TcpPingPong(channel, arena, settings);
            if (host != null && check) {
                pingPong.message().mark();
            }
            long nanos = pingPong.play(host != null);
            report(out, nanos, settings.size(), pingPong.latencies(), pingPong.message());
        }
    }

    private SocketChannel acceptOverTcp(PrintWriter out) throws IOException {
        try (Tcp.Listener listener = new Tcp.Listener(link.port())) {
            link.printWaiting(out);
            return listener.accept(link.timeout());
        }
    }

    private Mtu pathMtu() {
        try {
            return Mtu.ofBytes(mtu);
        } catch (IllegalArgumentException e) {
            throw link.wrong(e.getMessage());
        }
    }

    private void checkSize(Context context, long bytes) {
        long max = transport == Transport.ud
                ? context.queryPort(link.devicePort()).activeMtu().bytes()
                : context.queryPort(link.devicePort()).maxMessageSize();
        if (bytes < 1 || bytes > max) {
            throw link.wrong("--size must be between 1 byte and " + ByteSize.format(max) + ", "
                    + (transport == Transport.ud ? "the port's MTU" : "the port's largest message") + ", not "
                    + ByteSize.format(bytes));
        }
    }

    private void serve(PingPong pingPong, ConnectOptions how, PrintWriter out) throws IOException {
        try (EndpointExchange.Listener listener = link.listen(out)) {
            try (EndpointExchange exchange = listener.accept(link.timeout(), link.timeout())) {
                Endpoint remote = exchange.receive();
                Endpoint local =
                        pingPong.localEndpoint(how.peer(exchange.peer()).remote(remote));
                LinkOptions.print(out, "local address", local);
                pingPong.connect(remote);
                exchange.sendPingPong(local);
                exchange.receiveDone();
                LinkOptions.print(out, "remote address", remote);
            }
        }
    }

    private void connect(PingPong pingPong, ConnectOptions how, PrintWriter out)
            throws IOException, InterruptedException {
        try (EndpointExchange exchange = link.reach(host)) {
            Endpoint local = pingPong.localEndpoint(how.peer(exchange.peer()));
            LinkOptions.print(out, "local address", local);
            exchange.sendPingPong(local);
            Endpoint remote = exchange.receive();
            LinkOptions.print(out, "remote address", remote);
            pingPong.connect(remote);
            exchange.sendDone();
        }
    }

    private void report(PrintWriter out, long nanos, long bytes, Latencies latencies, PingMessage message) {
        double seconds = nanos / 1e9;
        long moved = bytes * iterations * 2;
        out.printf(
                Locale.ROOT, "%d bytes in %.2f seconds = %.2f Mbit/sec%n", moved, seconds, moved * 8.0 / seconds / 1e6);
        out.printf(
                Locale.ROOT,
                "%d iters in %.2f seconds = %.2f usec/iter%n",
                iterations,
                seconds,
                nanos / 1e3 / iterations);
        out.println("usec/iter: " + latencies);
        if (check) {
            long wrong = message.firstWrongByte();
            if (wrong >= 0) {
                throw new Failure(
                        "the message that came back is wrong from byte " + wrong + " on: give -c on both sides");
            }
            out.println("every byte of the last message is correct");
        }
        out.flush();
    }
}
