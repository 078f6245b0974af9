package org.rdmapanama.samples;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Bound;

/**
 * A network namespace that acts as another machine: soft0 runs there in a separate JVM. A pair of virtual Ethernet
 * interfaces leads there, with Soft-RoCE, the kernel's device, at this end.
 */
final class OtherMachine implements AutoCloseable {
    /** Room for packets of 4096 bytes. */
    private static final String ETHERNET_MTU = "5000";

    private static final int GIDS = 16;
    private static final int TRIES = 100;
    private static final long MILLIS_BETWEEN = 100;

    /** Soft-RoCE. */
    final String device;

    /** Address of Soft-RoCE. */
    final String kernel;

    final String kernel6;

    /** Address of soft0. */
    final String soft;

    final String soft6;

    private final String name;
    private final String inner;
    private final String outer;
    private final ResidentJvm jvm;

    /**
     * Creates the namespace.
     *
     * @param number that of its subnet
     * @param segments to whom soft0 sends many packets with one system call
     */
    OtherMachine(String name, int number, String segments) throws IOException, InterruptedException {
        this.name = name;
        device = "rxe_" + name;
        outer = name + "0";
        inner = name + "1";
        kernel = "10." + number + ".0.1";
        soft = "10." + number + ".0.2";
        kernel6 = "fd" + number + "::1";
        soft6 = "fd" + number + "::2";
        boolean made = false;
        try {
            connect();
            jvm = new ResidentJvm(
                    "ip",
                    "netns",
                    "exec",
                    name,
                    "env",
                    "RDMA_DEVICE=soft0",
                    "RDMA_SOFT_ADDRESS=all",
                    "JDK_JAVA_OPTIONS=-Dorg.rdmapanama.soft.segments=" + segments);
            made = true;
        } finally {
            if (!made) {
                disconnect();
            }
        }
    }

    private static String run(String command) throws IOException {
        return Program.run(command.split(" ", -1));
    }

    private void connect() throws IOException, InterruptedException {
        run("ip netns add " + name);
        run("ip link add " + outer + " mtu " + ETHERNET_MTU + " type veth peer name " + inner + " mtu " + ETHERNET_MTU
                + " netns " + name);
        run("ip addr add " + kernel + "/24 dev " + outer);
        run("ip addr add " + kernel6 + "/64 dev " + outer + " nodad");
        run("ip -n " + name + " addr add " + soft + "/24 dev " + inner);
        run("ip -n " + name + " addr add " + soft6 + "/64 dev " + inner + " nodad");
        run("ip -n " + name + " link set lo up");
        run("ip -n " + name + " link set " + inner + " up");
        run("ip link set " + outer + " up");
        run("rdma link add " + device + " type rxe netdev " + outer);
        for (int i = 0; !isReady(); i++) {
            if (i == TRIES) {
                throw new IOException(device + " is not ready");
            }
            Thread.sleep(MILLIS_BETWEEN);
        }
    }

    private boolean isReady() throws IOException {
        return Files.readString(port().resolve("state")).contains("ACTIVE")
                && gidIndex(false) >= 0
                && gidIndex(true) >= 0;
    }

    private Path port() {
        return Path.of("/sys/class/infiniband", device, "ports/1");
    }

    /** Returns the index of an address in the GID table of Soft-RoCE, or -1. */
    int gidIndex(boolean version6) throws IOException {
        String wanted = version6 ? kernel6.substring(0, kernel6.indexOf(':') + 1) : "0000:0000:0000:0000:0000:ffff:";
        for (int i = 0; i < GIDS; i++) {
            try {
                if (Files.readString(port().resolve("gids/" + i)).startsWith(wanted)) {
                    return i;
                }
            } catch (NoSuchFileException end) {
                return -1;
            }
        }
        return -1;
    }

    /** Waits until a program listens on a port of the kernel's connection manager. */
    static void awaitListener(String port) throws IOException, InterruptedException {
        for (int i = 0; !run("rdma resource show cm_id").contains(":" + port + " "); i++) {
            if (i == TRIES) {
                throw new IOException("no program is listening on port " + port);
            }
            Thread.sleep(MILLIS_BETWEEN);
        }
    }

    /** Has the packets of a connection take the same processor, as {@link KernelTarget} does for the lab's own interfaces. */
    void keepOrder() throws IOException {
        String file = "/queues/rx-0/rps_cpus";
        Files.writeString(Path.of("/sys/class/net", outer + file), KernelTarget.allProcessors());
        String there = "/sys/class/net/" + inner + file;
        Program.run("ip", "netns", "exec", name, "sh", "-c", "echo " + KernelTarget.allProcessors() + " >" + there);
    }

    /** Starts one of our commands in the namespace. */
    ResidentJvm.Command start(String... words) throws IOException, InterruptedException {
        return jvm.start(words);
    }

    /** Runs a class in the namespace, which must succeed, and returns what it prints. */
    String output(Class<?> main, String... arguments) throws IOException, InterruptedException {
        try (Program program = Program.java(List.of("ip", "netns", "exec", name), main, arguments)) {
            program.assertSucceeds();
            return program.output();
        }
    }

    /** Makes a queueing discipline of tc(8) trouble the packets of both directions, such as {@code netem loss 1%}. */
    void beginTrouble(String discipline) throws IOException {
        run("tc qdisc add dev " + outer + " root " + discipline);
        run("tc -n " + name + " qdisc add dev " + inner + " root " + discipline);
    }

    /** Limits the rate at which soft0 can send. Soft-RoCE itself sends wrong data when a queueing discipline drops packets. */
    void slowDown(String rate) throws IOException {
        run("tc -n " + name + " qdisc add dev " + inner + " root tbf rate " + rate + " burst 64kb latency 300ms");
    }

    void speedUp() throws IOException {
        run("tc -n " + name + " qdisc del dev " + inner + " root");
    }

    /** Removes the trouble. */
    void endTrouble() throws IOException {
        run("tc qdisc del dev " + outer + " root");
        run("tc -n " + name + " qdisc del dev " + inner + " root");
    }

    private void disconnect() throws IOException {
        Program.run(
                "bash", "-c", "rdma link delete " + device + "; ip link delete " + outer + "; ip netns delete " + name);
    }

    /**
     * Waits until no queue pair of Soft-RoCE is connected any more. The kernel's NVMe target ends its own some time after the
     * host has gone, and accepts no host meanwhile: that took half a minute when the device was removed under them.
     */
    private void awaitNoConnection() throws IOException {
        String[] last = {""};
        try {
            Bound.ofSeconds(60).await(() -> device + " still has queue pairs: " + last[0], () -> {
                last[0] = run("rdma resource show qp link " + device);
                return !last[0].contains(" type RC ");
            });
        } catch (InterruptedException e) {
            throw new InterruptedIOException("while " + device + " has queue pairs");
        }
    }

    @Override
    public void close() throws IOException {
        try {
            awaitNoConnection();
        } finally {
            jvm.close();
            disconnect();
        }
    }
}
