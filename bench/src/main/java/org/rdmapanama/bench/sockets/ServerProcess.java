package org.rdmapanama.bench.sockets;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.rdmapanama.bench.OtherJvm;

/** The other process: it serves until its input ends. */
final class ServerProcess implements Closeable {
    private static final long LIMIT_SECONDS = 10;

    private final Process process;
    private final int echoPort;
    private final int chunkPort;

    private ServerProcess(Process process, int echoPort, int chunkPort) {
        this.process = process;
        this.echoPort = echoPort;
        this.chunkPort = chunkPort;
    }

    /** Serves: the arguments are the kind of a way, the network, the two addresses, and the size of a chunk. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        boolean rdma = Boolean.parseBoolean(arguments[1]);
        SocketWay way = new SocketWay("", rdma, SocketWay.Kind.valueOf(arguments[0]));
        try (Server server =
                way.server(new Settings(rdma, arguments[2], arguments[3], Integer.parseInt(arguments[4])))) {
            System.out.println(server.echoPort() + " " + server.chunkPort());
            while (System.in.read() >= 0) {
                // Nothing is said to it.
            }
        }
        System.exit(0);
    }

    static void fail(Exception failure) {
        System.err.println("bin/bench sockets: the other end failed: " + failure);
        System.exit(1);
    }

    static ServerProcess start(SocketWay way, Settings settings) throws IOException {
        Process process = OtherJvm.start(
                List.of(),
                ServerProcess.class,
                way.kind().name(),
                Boolean.toString(way.rdma()),
                settings.host(),
                settings.from(),
                Integer.toString(settings.chunk()));
        String line =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
        if (line == null) {
            throw new IOException("the other end of '" + way.title() + "' could not start");
        }
        String[] ports = line.split(" ", 2);
        return new ServerProcess(process, Integer.parseInt(ports[0]), Integer.parseInt(ports[1]));
    }

    int echoPort() {
        return echoPort;
    }

    int chunkPort() {
        return chunkPort;
    }

    @Override
    public void close() throws IOException {
        process.getOutputStream().close();
        OtherJvm.end(process, LIMIT_SECONDS);
    }
}
