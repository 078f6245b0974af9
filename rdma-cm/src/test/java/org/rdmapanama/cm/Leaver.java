package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.VerbsArena;

/** A process that connects, and then leaves without closing anything. Arguments: host, port, and "exit" or "stay"; and how many times, if not once. */
final class Leaver {
    private Leaver() {}

    public static void main(String[] arguments) throws InterruptedException {
        InetSocketAddress server = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        RdmaClient client = new RdmaClient(VerbsArena.ofShared());
        int times = arguments.length < 4 ? 1 : Integer.parseInt(arguments[3]);
        for (int i = 0; i < times; i++) {
            RdmaConnection connection = client.connect(server, Duration.ofSeconds(20));
            System.out.println("connected to " + connection.remoteAddress() + ", " + (i + 1));
        }
        if (arguments[2].equals("exit")) {
            System.exit(0);
        }
        Thread.sleep(Duration.ofMinutes(2));
    }
}
