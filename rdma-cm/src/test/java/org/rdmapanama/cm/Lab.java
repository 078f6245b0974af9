package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.rdmapanama.ffm.Program;

/**
 * The lab's addresses, and what is left of connections there. When the environment variable RDMA_DEVICE names a device,
 * as the software device of this process, both addresses are one of this machine.
 */
final class Lab {
    /** The device that was chosen, or null for those of the lab. */
    private static final String CHOSEN = System.getenv("RDMA_DEVICE");

    static final String FIRST_HOST = isKernel() ? "10.77.0.1" : "127.0.0.1";
    static final String SECOND_HOST = isKernel() ? "10.77.0.2" : "127.0.0.1";

    static final Duration SECONDS = Duration.ofSeconds(20);

    /** The connection manager of InfiniBand repeats what was lost after four seconds. */
    static final Duration PATIENCE = Duration.ofSeconds(50);

    private static final long LIMIT_NANOS = 20_000_000_000L;

    private Lab() {}

    /** Whether the lab's devices are used, and the kernel's connection manager. */
    static boolean isKernel() {
        return CHOSEN == null || CHOSEN.isBlank();
    }

    /** Skips the test, visibly, where there is no kernel below, or no lab around. */
    static void assumeKernel(String why) {
        assumeTrue(isKernel(), () -> "on " + CHOSEN + ": " + why);
    }

    static String firstDevice() {
        return isKernel() ? "rxe0" : CHOSEN;
    }

    static String secondDevice() {
        return isKernel() ? "rxe1" : CHOSEN;
    }

    /** An address of rxe0, from which the others connect. */
    static InetSocketAddress first(int port) {
        return new InetSocketAddress(FIRST_HOST, port);
    }

    /** An address of rxe1. */
    static InetSocketAddress second(int port) {
        return new InetSocketAddress(SECOND_HOST, port);
    }

    /** The next event, which is to be this one. */
    static CmEvent await(EventChannel channel, CmEventType type) throws InterruptedException {
        CmEvent event = channel.await(SECONDS).orElse(null);
        if (event == null) {
            return fail("no event, but " + type + " was to come");
        }
        assertEquals(type, event.type(), event::toString);
        return event;
    }

    /** What a text looks like that came as private data. */
    static String text(byte[] privateData) {
        int end = 0;
        while (end < privateData.length && privateData[end] != 0) {
            end++;
        }
        return new String(Arrays.copyOf(privateData, end), StandardCharsets.UTF_8);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /**
     * The queue pairs, completion queues, regions, protection domains and ids that programs have, one on a line. The
     * kernel names the thread that made each, not its process; what the kernel has for itself has none.
     */
    static List<String> resources() throws IOException, InterruptedException {
        if (!isKernel()) {
            return List.of();
        }
        List<String> lines = Program.run(
                        "bash",
                        "-c",
                        "for kind in qp cq mr pd cm_id; do rdma resource show $kind | sed \"s/^/$kind /\" || exit; done")
                .lines()
                .toList();
        // Port 1 of each device has a queue pair of the kernel's.
        assertTrue(lines.stream().anyMatch(line -> line.contains("type GSI")), lines::toString);
        return lines.stream().filter(line -> line.contains(" pid ")).toList();
    }

    /** Waits until nothing is left but what was there before. */
    static void assertNothingLeft(List<String> before) throws IOException, InterruptedException {
        if (!isKernel()) {
            return;
        }
        long start = System.nanoTime();
        List<String> left = resources();
        while (left.size() > before.size() && System.nanoTime() - start < LIMIT_NANOS) {
            Thread.sleep(100);
            left = resources();
        }
        assertEquals(before, left);
    }
}
