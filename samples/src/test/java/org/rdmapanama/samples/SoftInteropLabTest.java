package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.ffm.Program;

/**
 * soft0 against a device that nobody here wrote: in a network namespace of its own it talks with the kernel's Soft-RoCE
 * on the other end of a pair of virtual Ethernet interfaces.
 */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoftInteropLabTest {
    private static final String SPACE = "softinterop";
    private static final String THEIR_DEVICE = "rxe7";
    private static final String THEIR_INTERFACE = "softveth0";
    private static final String OUR_INTERFACE = "softveth1";
    private static final String THEIR_ADDRESS = "10.79.0.1";
    private static final String OUR_ADDRESS = "10.79.0.2";
    private static final String THEIR_ADDRESS6 = "fd79::1";
    private static final String OUR_ADDRESS6 = "fd79::2";
    private static final int ITERATIONS = 50;

    /** A JVM takes its time to start on a busy machine that is emulated. */
    private static final String PATIENCE = "90";

    /** Room for packets of 4096 bytes. */
    private static final String ETHERNET_MTU = "5000";

    @BeforeAll
    static void makeNamespace() throws IOException {
        assumeTrue(System.getenv("RDMA_DEVICE") == null, "needs the lab's kernel");
        run("ip netns add " + SPACE);
        run("ip link add " + THEIR_INTERFACE + " mtu " + ETHERNET_MTU + " type veth peer name " + OUR_INTERFACE
                + " mtu " + ETHERNET_MTU);
        run("ip link set " + OUR_INTERFACE + " netns " + SPACE);
        run("ip addr add " + THEIR_ADDRESS + "/24 dev " + THEIR_INTERFACE);
        run("ip addr add " + THEIR_ADDRESS6 + "/64 dev " + THEIR_INTERFACE + " nodad");
        run("ip link set " + THEIR_INTERFACE + " up");
        inSpace("ip addr add " + OUR_ADDRESS + "/24 dev " + OUR_INTERFACE);
        inSpace("ip addr add " + OUR_ADDRESS6 + "/64 dev " + OUR_INTERFACE + " nodad");
        inSpace("ip link set " + OUR_INTERFACE + " up");
        inSpace("ip link set lo up");
        run("rdma link add " + THEIR_DEVICE + " type rxe netdev " + THEIR_INTERFACE);
    }

    @AfterAll
    static void removeNamespace() throws IOException {
        if (System.getenv("RDMA_DEVICE") == null) {
            run("rdma link delete " + THEIR_DEVICE);
            run("ip netns delete " + SPACE);
        }
    }

    private static void run(String command) throws IOException {
        Program.run(command.split(" ", -1));
    }

    private static void inSpace(String command) throws IOException {
        run("ip netns exec " + SPACE + " " + command);
    }

    /** A command of ours, on soft0. */
    private static Program ours(String... arguments) throws IOException {
        return Program.java(List.of("ip", "netns", "exec", SPACE), Rdma.class, arguments);
    }

    private static String[] and(List<String> first, String... more) {
        List<String> all = new ArrayList<>(first);
        all.addAll(Arrays.asList(more));
        return all.toArray(String[]::new);
    }

    /** Place of an address in the table of a device of the kernel's. */
    private static String gidIndex(boolean version6) throws IOException {
        String wanted = version6 ? "fd79:" : "0000:0000:0000:0000:0000:ffff:";
        Path gids = Path.of("/sys/class/infiniband", THEIR_DEVICE, "ports/1/gids");
        for (int i = 0; i < 16; i++) {
            if (Files.readString(gids.resolve(Integer.toString(i))).startsWith(wanted)) {
                return Integer.toString(i);
            }
        }
        throw new IOException("no address of " + THEIR_DEVICE);
    }

    private static String[] options(Transport transport, int size, int mtu) {
        List<String> options = new ArrayList<>(List.of("-n", "" + ITERATIONS, "-s", "" + size, "-c"));
        if (transport != Transport.ud) {
            options.addAll(List.of("-m", "" + mtu));
        }
        return options.toArray(String[]::new);
    }

    static Stream<Arguments> games() {
        List<Arguments> games = new ArrayList<>();
        for (boolean version6 : new boolean[] {false, true}) {
            for (boolean weServe : new boolean[] {false, true}) {
                for (Transport transport : Transport.values()) {
                    games.add(Arguments.of(transport, version6, weServe, transport.defaultSize, 1024));
                }
            }
        }
        for (int mtu : new int[] {256, 512, 2048, 4096}) {
            games.add(Arguments.of(Transport.rc, false, mtu % 512 == 0, 10_000, mtu));
            games.add(Arguments.of(Transport.uc, false, mtu % 512 != 0, 10_000, mtu));
        }
        for (int size : new int[] {1, 3, 1023, 1024, 1025, 65_536, 1 << 20}) {
            games.add(Arguments.of(Transport.rc, false, true, size, 1024));
        }
        return games.stream();
    }

    /** The programs of rdma-core, which meet over IPv4 whatever their packets use. */
    @ParameterizedTest
    @MethodSource("games")
    void shouldPlay(Transport transport, boolean version6, boolean weServe, int size, int mtu) throws Exception {
        String port = Side.port();
        String[] options = options(transport, size, mtu);
        String[] us = and(
                List.of(
                        "pingpong",
                        "-t",
                        transport.name(),
                        "-d",
                        "soft0",
                        "-g",
                        version6 ? "1" : "0",
                        "-p",
                        port,
                        "--timeout",
                        PATIENCE),
                options);
        String[] them = and(
                List.of("ibv_" + transport + "_pingpong", "-d", THEIR_DEVICE, "-g", gidIndex(version6), "-p", port),
                options);
        if (weServe) {
            try (Program server = ours(us)) {
                server.await("waiting for a client");
                try (Program client = Program.start(and(List.of(them), OUR_ADDRESS))) {
                    assertPlayed(client, server, size);
                }
            }
        } else {
            try (Program server = Program.start(them);
                    Program client = ours(and(List.of(us), THEIR_ADDRESS))) {
                assertPlayed(client, server, size);
            }
        }
    }

    private static void assertPlayed(Program client, Program server, int size) throws InterruptedException {
        assertEquals(0, client.join(), () -> client + "\n" + server);
        assertEquals(0, server.join(), () -> client + "\n" + server);
        for (Program each : List.of(client, server)) {
            assertTrue(each.output().contains((long) size * ITERATIONS * 2 + " bytes in "), each::toString);
            assertTrue(!each.output().contains("invalid data"), each::toString);
        }
    }

    /** What {@code rdma perf} does, in both directions; it checks the data after each test of bandwidth. */
    @ParameterizedTest
    @CsvSource({
        "send-lat, -s 100",
        "send-lat, -c UD -s 1000",
        "send-lat, -c UC",
        "write-lat, -s 4096",
        "write-lat, -c UC",
        "read-lat, -s 5000",
        "atomic-lat, -A CMP_AND_SWAP",
        "send-bw, -s 65536 -n 100",
        "write-bw, -s 65536 -n 100",
        "write-bw, -b -s 4096 -q 2",
        "read-bw, -s 65536 -n 50 -o 4",
        "atomic-bw, -q 2"
    })
    void shouldMeasure(String test, String options) throws Exception {
        for (boolean weServe : new boolean[] {false, true}) {
            String port = Side.port();
            List<String> client = new ArrayList<>(List.of("perf", test, "-p", port, "--warmup", "0", "-n", "60"));
            if (options.contains("-n ")) {
                client.removeLast();
                client.removeLast();
            }
            client.addAll(List.of(options.split(" ", -1)));
            List<String> server = List.of("perf", "server", "--once", "-p", port, "--timeout", PATIENCE);
            if (weServe) {
                try (Program us = ours(and(server, "-d", "soft0"))) {
                    us.await("waiting for a client");
                    Run them = Run.start(and(client, "-d", THEIR_DEVICE, OUR_ADDRESS));
                    assertEquals(0, them.join(), () -> them + "\n" + us);
                    us.assertSucceeds();
                }
            } else {
                Run them = Run.start(and(server, "-d", THEIR_DEVICE));
                them.await("waiting for a client");
                try (Program us = ours(and(client, "-d", "soft0", THEIR_ADDRESS))) {
                    assertEquals(0, us.join(), () -> us + "\n" + them);
                    assertEquals(0, them.join(), them::toString);
                }
            }
        }
    }

    @Test
    void shouldTransfer() throws Exception {
        String port = Side.port();
        Run server = Run.start("serve", "--tcp", "-d", THEIR_DEVICE, "-p", port, "--timeout", PATIENCE);
        server.await("waiting for");
        try (Program client = ours("transfer", THEIR_ADDRESS, "--tcp", "-d", "soft0", "-p", port, "--size", "8MiB")) {
            assertEquals(0, client.join(), () -> client + "\n" + server);
            assertTrue(client.output().contains("right on both sides"), client::toString);
        }
        assertEquals(0, server.join(), server::toString);
    }
}
