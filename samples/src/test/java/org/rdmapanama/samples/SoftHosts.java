package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Bound;

/**
 * Two network namespaces that act as hosts, with a network between them, on which processes with soft0 run. Each has two
 * addresses of IPv4 and one of IPv6.
 */
final class SoftHosts implements AutoCloseable {
    static final List<String> SERVER_ADDRESSES = List.of("10.94.0.1", "10.95.0.1", "fd94::1");
    private static final List<String> CLIENT_ADDRESSES = List.of("10.94.0.2", "10.95.0.2", "fd94::2");

    private final String server = "rps" + ProcessHandle.current().pid();
    private final String client = "rpc" + ProcessHandle.current().pid();

    /** Properties of soft0 in all processes, with their values and a space before each. */
    private final StringBuilder properties = new StringBuilder();

    /** With properties of soft0, without the beginning of their names, and their values. */
    SoftHosts(String... settings) throws IOException {
        for (int i = 0; i < settings.length; i += 2) {
            properties
                    .append(" -Dorg.rdmapanama.soft.")
                    .append(settings[i])
                    .append('=')
                    .append(settings[i + 1]);
        }
        boolean made = false;
        try {
            connect();
            made = true;
        } finally {
            if (!made) {
                close();
            }
        }
    }

    /** Skips a test where this user may not make network namespaces. */
    static void assumePossible() throws InterruptedException {
        String name = "rpt" + ProcessHandle.current().pid();
        boolean possible;
        try {
            possible = new ProcessBuilder("sh", "-c", "ip netns add " + name + " && ip netns delete " + name)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException missing) {
            possible = false;
        }
        assumeTrue(possible, "network namespaces need root, and ip");
    }

    private static void run(String command) throws IOException {
        Program.run(command.split(" ", -1));
    }

    private void connect() throws IOException {
        run("ip netns add " + server);
        run("ip netns add " + client);
        run("ip -n " + server + " link add eth0 type veth peer name eth0 netns " + client);
        begin(server, SERVER_ADDRESSES);
        begin(client, CLIENT_ADDRESSES);
        awaitCarrier(server);
        awaitCarrier(client);
    }

    /** The kernel sees up to a second later that the other end is up, too, and until then Java takes this one for down. */
    private static void awaitCarrier(String host) throws IOException {
        try {
            Bound.usual()
                    .await(
                            "eth0 of " + host + " does not come up",
                            () -> Program.run("ip", "-n", host, "link", "show", "eth0")
                                    .contains("state UP"));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("while eth0 of " + host + " comes up");
        }
    }

    private static void begin(String host, List<String> addresses) throws IOException {
        for (String each : addresses) {
            boolean version6 = each.contains(":");
            run("ip -n " + host + " addr add " + each + (version6 ? "/64 nodad" : "/24") + " dev eth0");
        }
        run("ip -n " + host + " link set lo up");
        run("ip -n " + host + " link set eth0 up");
    }

    /** Starts one of our commands on the server. */
    Program onServer(String... words) throws IOException {
        return start(server, "4791", words);
    }

    /** Starts one of our commands on the client, at a UDP port or the next one that is free. */
    Program onClient(String udpPort, String... words) throws IOException {
        return start(client, udpPort, words);
    }

    private Program start(String host, String udpPort, String... words) throws IOException {
        List<String> prefix = new ArrayList<>(List.of("ip", "netns", "exec", host, "env"));
        prefix.addAll(List.of("RDMA_DEVICE=soft0", "RDMA_SOFT_ADDRESS=all"));
        prefix.add("JDK_JAVA_OPTIONS=-Dorg.rdmapanama.soft.port=" + udpPort + properties);
        return Program.java(prefix, Rdma.class, words);
    }

    @Override
    public void close() throws IOException {
        Program.run("sh", "-c", "ip netns delete " + server + "; ip netns delete " + client + "; true");
    }
}
