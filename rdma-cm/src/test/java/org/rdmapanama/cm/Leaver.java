package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.VerbsArena;

/** A process that connects, and then leaves without closing anything. Arguments: host, port, and "exit" or "stay". */
final class Leaver {
    private Leaver() {}

    public static void main(String[] arguments) throws InterruptedException {
        InetSocketAddress server = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        RdmaConnection connection = new RdmaClient(VerbsArena.ofShared()).connect(server, Duration.ofSeconds(20));
        System.out.println("connected to " + connection.remoteAddress());
        if (arguments[2].equals("exit")) {
            System.exit(0);
        }
        Thread.sleep(Duration.ofMinutes(2));
    }
}
