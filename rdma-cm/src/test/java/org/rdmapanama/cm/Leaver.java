package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.VerbsArena;

/**
 * A process that connects or listens, and leaves without closing anything. Arguments: host, port, and what to do; then for
 * "many" how many connections to make; otherwise, with keep-alive, how long the peer may be silent and how long it then has
 * to answer, in milliseconds.
 */
final class Leaver {
    private static final Duration PATIENCE = Duration.ofSeconds(50);

    private Leaver() {}

    public static void main(String[] arguments) throws InterruptedException {
        InetSocketAddress server = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        if (arguments[2].equals("many")) {
            connectMany(server, Integer.parseInt(arguments[3]));
            return;
        }
        RdmaConnectionOptions options = new RdmaConnectionOptions();
        if (arguments.length > 3) {
            options.keepAlive(
                    Duration.ofMillis(Integer.parseInt(arguments[3])),
                    Duration.ofMillis(Integer.parseInt(arguments[4])));
        }
        VerbsArena arena = VerbsArena.ofShared();
        switch (arguments[2]) {
            case "exit" -> {
                connect(arena, server, options);
                System.exit(0);
            }
            case "stay" -> stay(connect(arena, server, options));
            case "listen" -> listen(RdmaServer.listen(arena, server));
            case "serve" -> serve(RdmaServer.listen(arena, server));
            default -> throw new IllegalArgumentException(arguments[2]);
        }
    }

    private static void connectMany(InetSocketAddress server, int count) throws InterruptedException {
        RdmaClient client = new RdmaClient(VerbsArena.ofShared());
        for (int i = 1; i <= count; i++) {
            client.connect(server, PATIENCE);
            System.out.println("connected, " + i);
        }
        Thread.sleep(Duration.ofMinutes(2));
    }

    private static RdmaConnection connect(VerbsArena arena, InetSocketAddress server, RdmaConnectionOptions options)
            throws InterruptedException {
        System.out.println("asking");
        RdmaConnection connection = new RdmaClient(arena).connect(server, options, PATIENCE);
        System.out.println("connected to " + connection.remoteAddress());
        return connection;
    }

    /** Never answers. */
    private static void listen(RdmaServer server) throws InterruptedException {
        System.out.println("listening at " + server.localAddress());
        Thread.sleep(Duration.ofMinutes(2));
    }

    private static void serve(RdmaServer server) throws InterruptedException {
        System.out.println("listening at " + server.localAddress());
        RdmaConnection connection = server.accept(Duration.ofMinutes(2)).orElseThrow();
        System.out.println("connected from " + connection.remoteAddress());
        stay(connection);
    }

    private static void stay(RdmaConnection connection) throws InterruptedException {
        boolean ended = connection.awaitDisconnect(Duration.ofMinutes(2));
        System.out.println((ended ? "ended: " : "there: ") + connection.isConnected());
        Thread.sleep(Duration.ofMinutes(2));
    }
}
