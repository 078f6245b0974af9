package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.rdmapanama.ffm.Program;

/**
 * Where integration tests run: the names of the two devices, the addresses of both, and what connections leave in the
 * kernel. These are the lab's two Soft-RoCE devices, between which packets cross a wire; or, if the environment variable
 * RDMA_DEVICE names a device, that one for both sides, and addresses of this machine.
 */
public final class Lab {
    private static final String CHOSEN = environment("RDMA_DEVICE");

    public static final String FIRST_DEVICE = isInLab() ? "rxe0" : CHOSEN;
    public static final String SECOND_DEVICE = isInLab() ? "rxe1" : CHOSEN;
    public static final String FIRST_HOST = isInLab() ? "10.77.0.1" : "127.0.0.1";
    public static final String SECOND_HOST = isInLab() ? "10.77.0.2" : "127.0.0.1";

    /** How long a call of a connection may take. */
    public static final Duration SECONDS = Duration.ofSeconds(20);

    /** The connection manager of InfiniBand repeats what was lost after four seconds. */
    public static final Duration PATIENCE = Duration.ofSeconds(50);

    private static final AtomicInteger PORTS = new AtomicInteger(Program.firstPort());

    /** The kinds of resources, by what the kernel's tool calls the number of one. */
    private static final Map<String, String> KINDS =
            Map.of("lqpn", "qp", "cqn", "cq", "mrn", "mr", "pdn", "pd", "cm-idn", "cm_id");

    private Lab() {}

    /** The value of an environment variable, or null if it is not set or blank. */
    public static String environment(String name) {
        String value = System.getenv(name);
        return value == null || value.isBlank() ? null : value;
    }

    /** Whether the lab's devices and the kernel's connection manager are used, and no device named by RDMA_DEVICE. */
    public static boolean isInLab() {
        return CHOSEN == null;
    }

    /** Whether libibverbs knows a device, and not this process only, as soft0. */
    public static boolean isInKernel(String device) {
        String sysfs = environment("SYSFS_PATH");
        return Files.exists(Path.of(sysfs == null ? "/sys" : sysfs, "class/infiniband", device));
    }

    /** Whether the device is a card that is there in this process only, under a driver of libibverbs. */
    public static boolean isCard() {
        return System.getProperty("org.rdmapanama.card") != null;
    }

    /** Skips the test, visibly, outside the lab. */
    public static void assumeInLab(String why) {
        assumeTrue(isInLab(), () -> "on " + CHOSEN + ": " + why);
    }

    /** An address of the first device, from which tests connect. */
    public static InetSocketAddress first(int port) {
        return new InetSocketAddress(FIRST_HOST, port);
    }

    /** An address of the second device, at which tests listen. */
    public static InetSocketAddress second(int port) {
        return new InetSocketAddress(SECOND_HOST, port);
    }

    /** A port that no other test gets, in this process or in one that it started. */
    public static int port() {
        return PORTS.getAndIncrement();
    }

    /** The same, as an argument of a command. */
    public static String portText() {
        return Integer.toString(port());
    }

    /** An address of a host with a port that no other test gets, as {@link #port}. */
    public static InetSocketAddress freeAddress(String host) {
        return new InetSocketAddress(host, port());
    }

    /**
     * The queue pairs, completion queues, regions, protection domains and ids that programs have, one on a line. The
     * kernel names the thread that made each, not its process; what the kernel has for itself has none.
     */
    public static List<String> resources() throws IOException, InterruptedException {
        if (!isInLab()) {
            return List.of();
        }
        List<String> lines = kernelResources();
        // Port 1 of each device has a queue pair of the kernel's.
        assertTrue(lines.stream().anyMatch(line -> line.contains("type GSI")), lines::toString);
        return lines.stream().filter(line -> line.contains(" pid ")).toList();
    }

    /** The same of any devices of the kernel, and what the kernel has for itself. */
    public static List<String> kernelResources() throws IOException {
        // One process for all kinds: starting processes is slow in an emulated lab, and many tests ask twice.
        Path batch = Files.createTempFile("resources", ".rdma");
        try {
            Files.write(
                    batch, KINDS.values().stream().map("resource show "::concat).toList());
            return Program.run("rdma", "-b", batch.toString())
                    .lines()
                    .map(Lab::withKind)
                    .toList();
        } finally {
            Files.delete(batch);
        }
    }

    /** Begins a line with the kind of the resource, which the kernel's tool tells by the name of its number only. */
    private static String withKind(String line) {
        // Such as: link rxe0/1 lqpn 17 type RC state RTS; dev rxe0 cqn 3 cqe 63.
        String number = line.split(" ", 4)[2];
        String kind = KINDS.get(number);
        assertTrue(kind != null, line);
        return kind + " " + line;
    }

    /**
     * Waits until nothing is left but what was there before. Some of that may go meanwhile, or change its state: sockets of
     * earlier tests free memory that they have not needed for ten seconds.
     */
    public static void assertNothingLeft(List<String> before) throws IOException, InterruptedException {
        if (!isInLab()) {
            return;
        }
        Set<String> known = before.stream().map(Lab::identity).collect(Collectors.toSet());
        Bound bound = Bound.of(SECONDS);
        List<String> left = newIn(resources(), known);
        while (!left.isEmpty() && !bound.isOver()) {
            Thread.sleep(100);
            left = newIn(resources(), known);
        }
        assertEquals(List.of(), left, "what is left in the kernel");
    }

    private static List<String> newIn(List<String> resources, Set<String> known) {
        return resources.stream()
                .filter(line -> !known.contains(identity(line)))
                .toList();
    }

    /** The kind of a resource, its device and its number, without its state. */
    private static String identity(String resource) {
        // Such as: qp link rxe0/1 lqpn 17 type RC state RTS.
        return String.join(" ", Arrays.copyOf(resource.split(" "), 5));
    }
}
