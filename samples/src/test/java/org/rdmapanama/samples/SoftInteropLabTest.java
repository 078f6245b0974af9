package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.soft.net.PortProbe;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.RpingEnd;

/**
 * soft0 with an independent implementation: in a separate network namespace it talks to the kernel's Soft-RoCE at the
 * other end of a pair of virtual Ethernet interfaces.
 */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoftInteropLabTest {
    private static final int ITERATIONS = 50;
    private static final int ITERATIONS_OF_LARGE = 3;
    private static final int LARGE = 1 << 20;
    private static final String LARGEST = "8388608";
    private static final List<Integer> MTUS = List.of(256, 512, 1024, 2048, 4096);

    /** RC: sends, writes, reads, responses and atomics, with and without immediate data; UD: sends. */
    private static final Set<Integer> OPCODES = IntStream.concat(IntStream.rangeClosed(0, 20), IntStream.of(100))
            .boxed()
            .collect(Collectors.toSet());

    /** Request, reply, ready to use, and the two messages of disconnecting. */
    private static final Set<String> CONNECTION_MESSAGES = Set.of("0x0010", "0x0013", "0x0014", "0x0015", "0x0016");

    private static OtherMachine machine;

    @BeforeAll
    static void makeMachine() throws Exception {
        assumeTrue(System.getenv("RDMA_DEVICE") == null, "needs the lab's kernel");
        // Also over IPv4, where soft0 would not by itself do so with devices of other vendors.
        machine = new OtherMachine("interop", 79, "all");
    }

    @AfterAll
    static void removeMachine() throws IOException {
        if (machine != null) {
            machine.close();
        }
    }

    private static String[] and(List<String> first, String... more) {
        List<String> all = new ArrayList<>(first);
        all.addAll(Arrays.asList(more));
        return all.toArray(String[]::new);
    }

    /** Index of an address in the GID table of a kernel device. */
    private static String gidIndex(boolean version6) throws IOException {
        return Integer.toString(machine.gidIndex(version6));
    }

    /** Index of an address in the GID table of soft0: the loopback address follows that of IPv4. */
    private static String softGidIndex(boolean version6) {
        return version6 ? "2" : "0";
    }

    private static int iterations(int size) {
        return size < LARGE ? ITERATIONS : ITERATIONS_OF_LARGE;
    }

    private static String[] options(Transport transport, int size, int mtu) {
        List<String> options = new ArrayList<>(List.of("-n", "" + iterations(size), "-s", "" + size, "-c"));
        if (transport != Transport.ud) {
            options.addAll(List.of("-m", "" + mtu));
        }
        return options.toArray(String[]::new);
    }

    static Stream<Arguments> games() {
        List<Arguments> games = new ArrayList<>();
        for (boolean version6 : new boolean[] {false, true}) {
            for (boolean weServe : new boolean[] {false, true}) {
                for (Transport transport : List.of(Transport.rc, Transport.uc, Transport.ud)) {
                    games.add(Arguments.of(transport, version6, weServe, transport.defaultSize, 1024));
                }
            }
        }
        for (int mtu : new int[] {256, 4096}) {
            games.add(Arguments.of(Transport.rc, false, mtu == 256, 10_000, mtu));
            games.add(Arguments.of(Transport.uc, true, mtu != 256, 10_000, mtu));
        }
        for (int size : new int[] {1, LARGE, 8 * LARGE}) {
            games.add(Arguments.of(Transport.rc, false, true, size, 1024));
        }
        return games.stream();
    }

    /** The programs of rdma-core, which meet over IPv4 whatever address family their packets use. */
    @ParameterizedTest
    @MethodSource("games")
    void shouldPlay(Transport transport, boolean version6, boolean weServe, int size, int mtu) throws Exception {
        play(List.of(), transport, version6, weServe, size, mtu);
    }

    private static void play(
            List<String> first, Transport transport, boolean version6, boolean weServe, int size, int mtu)
            throws Exception {
        String port = Lab.portText();
        String[] options = options(transport, size, mtu);
        List<String> ours = new ArrayList<>(first);
        ours.addAll(
                List.of("pingpong", "-t", transport.name(), "-d", "soft0", "-g", softGidIndex(version6), "-p", port));
        String[] us = and(ours, options);
        String[] them = and(
                List.of("ibv_" + transport + "_pingpong", "-d", machine.device, "-g", gidIndex(version6), "-p", port),
                options);
        if (weServe) {
            try (ResidentJvm.Command server = machine.start(us)) {
                server.await("waiting for a client");
                try (Program client = Program.start(and(List.of(them), machine.soft))) {
                    assertEquals(0, client.join(), () -> client + "\n" + server);
                    assertEquals(0, server.join(), () -> client + "\n" + server);
                    assertPlayed(client.output(), server.output(), size);
                }
            }
        } else {
            // Ours tries to connect until the server listens.
            try (Program server = Program.start(them);
                    ResidentJvm.Command client = machine.start(and(List.of(us), machine.kernel))) {
                assertEquals(0, client.join(), () -> client + "\n" + server);
                assertEquals(0, server.join(), () -> client + "\n" + server);
                assertPlayed(client.output(), server.output(), size);
            }
        }
    }

    private static void assertPlayed(String client, String server, int size) {
        for (String each : List.of(client, server)) {
            assertTrue(each.contains((long) size * iterations(size) * 2 + " bytes in "), each);
            assertFalse(each.contains("invalid data"), each);
        }
    }

    /** The tests of {@code rdma perf}, over IPv4 one way and over IPv6 the other; bandwidth tests check the data. */
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
        "send-bw, -c UD -s 1000 -n 100",
        "write-bw, -s 65536 -n 100",
        "write-bw, -b -s 4096 -q 2",
        "read-bw, -s 65536 -n 50 -o 4",
        "atomic-bw, -q 2",
        "write-lat, -a -n 5",
        "write-bw, -n 5 -s " + LARGEST,
        "read-bw, -n 5 -s " + LARGEST,
        "send-bw, -n 5 -s " + LARGEST
    })
    void shouldMeasure(String test, String options) throws Exception {
        measure(test, options);
    }

    private static void measure(String test, String options) throws Exception {
        for (boolean weServe : new boolean[] {false, true}) {
            String port = Lab.portText();
            List<String> client = new ArrayList<>(List.of("perf", test, "-p", port, "--warmup", "0"));
            if (!options.contains("-n ")) {
                client.addAll(List.of("-n", "60"));
            }
            client.addAll(List.of(options.split(" ", -1)));
            meet(
                    weServe,
                    List.of("perf", "server", "--once", "-p", port),
                    client,
                    "waiting for a client",
                    List.of("-d", "soft0", "-g", softGidIndex(weServe)),
                    List.of("-d", machine.device, "-g", gidIndex(weServe)));
        }
    }

    /** Runs a server on one of the two devices, which prints when it is ready, and a client on the other. */
    private static String meet(
            boolean weServe,
            List<String> server,
            List<String> client,
            String ready,
            List<String> soft,
            List<String> kernel)
            throws Exception {
        List<String> ofUs = new ArrayList<>(weServe ? server : client);
        ofUs.addAll(soft);
        List<String> ofThem = new ArrayList<>(weServe ? client : server);
        ofThem.addAll(kernel);
        if (weServe) {
            ofThem.add(machine.soft);
            try (ResidentJvm.Command us = machine.start(ofUs.toArray(String[]::new))) {
                us.await(ready);
                Run them = Run.start(ofThem.toArray(String[]::new));
                return assertBothEnd(us, them);
            }
        }
        ofUs.add(machine.kernel);
        Run them = Run.start(ofThem.toArray(String[]::new));
        them.await(ready);
        try (ResidentJvm.Command us = machine.start(ofUs.toArray(String[]::new))) {
            return assertBothEnd(us, them);
        }
    }

    private static String assertBothEnd(ResidentJvm.Command us, Run them) throws Exception {
        assertEquals(0, us.join(), () -> us + "\n" + them);
        assertEquals(0, them.join(), () -> us + "\n" + them);
        return us.output() + them.out();
    }

    @Test
    void shouldTransfer() throws Exception {
        String port = Lab.portText();
        Run server = Run.start("serve", "--tcp", "-d", machine.device, "-p", port);
        server.await("waiting for");
        try (ResidentJvm.Command client =
                machine.start("transfer", machine.kernel, "--tcp", "-d", "soft0", "-p", port, "--size", "8MiB")) {
            assertEquals(0, client.join(), () -> client + "\n" + server);
            assertTrue(client.output().contains("correct on both sides"), client::toString);
        }
        assertEquals(0, server.join(), server::toString);
    }

    static Stream<Arguments> paths() {
        List<Arguments> paths = new ArrayList<>();
        for (int mtu : MTUS) {
            for (boolean version6 : new boolean[] {false, true}) {
                paths.add(Arguments.of("RC", mtu, version6));
            }
            paths.add(Arguments.of("UC", mtu, mtu % 1024 == 0));
        }
        return paths.stream();
    }

    /** Sends, writes and, with RC, reads from 0 B to 8 MiB, and atomics, from both sides; every byte is checked. */
    @ParameterizedTest
    @MethodSource("paths")
    void shouldMoveEverySize(String type, int mtu, boolean version6) throws Exception {
        String sizes = "0,1,3," + (mtu - 1) + "," + mtu + "," + (mtu + 1) + "," + (5 * mtu + 2);
        if (type.equals("RC")) {
            sizes += ",65536," + (mtu == 256 ? "" + (LARGE + 1) : LARGEST);
        }
        everySize(version6, mtu, "-t", type, "--sizes", sizes, "--atomics", "10");
    }

    private static void everySize(boolean version6, int mtu, String... options) throws Exception {
        everySize(List.of(), version6, mtu, options);
    }

    private static void everySize(List<String> ofSoft, boolean version6, int mtu, String... options) throws Exception {
        String port = Lab.portText();
        List<String> both = new ArrayList<>(List.of("every-size", "-p", port, "-m", "" + mtu));
        both.addAll(List.of(options));
        List<String> soft = new ArrayList<>(List.of("-d", "soft0", "-g", softGidIndex(version6)));
        soft.addAll(ofSoft);
        String said = meet(
                version6,
                both,
                both,
                "waiting for a client",
                soft,
                List.of("-d", machine.device, "-g", gidIndex(version6)));
        assertEquals(3, said.split("atomics done once", -1).length, said);
    }

    /** Asks whether there is a host, as soft0 does when answers are late, and prints what it is told. */
    static final class Prober {
        private static final int TIMES = 20;

        private Prober() {}

        public static void main(String[] arguments) throws InterruptedException {
            PortProbe probe = new PortProbe(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1])));
            for (int i = 0; i < TIMES; i++) {
                System.out.println("refused: " + probe.isRefused());
                Thread.sleep(10);
            }
            probe.close();
        }
    }

    /** Linux crashes when a datagram without room for a header comes to Soft-RoCE over IPv6. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldNotHarmAKernelThatIsLate(boolean version6) throws Exception {
        String kernel = version6 ? machine.kernel6 : machine.kernel;
        String rocePort = "4791";
        String otherPort = "4790";
        assertEquals(List.of("refused: false"), distinct(machine.output(Prober.class, kernel, rocePort)));
        // Other than a device, the kernel reports a port at which nobody is.
        assertTrue(distinct(machine.output(Prober.class, kernel, otherPort)).contains("refused: true"));
    }

    private static List<String> distinct(String lines) {
        return lines.lines().distinct().toList();
    }

    /** A network that loses, reorders, duplicates and corrupts packets of both sides. */
    @ParameterizedTest
    @ValueSource(strings = {"loss 1%", "loss 5%", "delay 1ms reorder 25% 50%", "duplicate 5%", "corrupt 2%"})
    @Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void shouldBearABadWire(String fault) throws Exception {
        machine.beginTrouble("netem " + fault);
        try {
            for (boolean version6 : new boolean[] {false, true}) {
                everySize(version6, 1024, "--sizes", "0,1,5000,100000", "--rounds", "2", "--atomics", "60");
            }
            measure("write-bw", "-s 20000 -n 60");
            measure("read-bw", "-s 20000 -n 50");
            measure("atomic-bw", "-n 100");
        } finally {
            machine.endTrouble();
        }
    }

    /** On a link that is slower than both ends, the send buffer fills up. Nothing is lost, and no queue pair fails. */
    @ParameterizedTest
    @CsvSource({
        "write-bw, -s 65536 -n 30 -q 8",
        "write-bw, -s 8192 -n 20 -q 64",
        "read-bw, -s 65536 -n 30 -q 8",
        "send-bw, -s 8192 -n 20 -q 16"
    })
    void shouldFillASlowLink(String test, String options) throws Exception {
        machine.slowDown("100mbit");
        try {
            measure(test, options);
        } finally {
            machine.speedUp();
        }
    }

    /** How tshark decodes the packets of a ping-pong, of every operation, and of a connection by address. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldBeDecodedByTshark(boolean version6, @TempDir Path folder) throws Exception {
        Path game = folder.resolve("game.pcap");
        play(List.of("--pcap", game.toString()), Transport.ud, version6, true, 1000, 1024);
        Path operations = folder.resolve("operations.pcap");
        everySize(List.of("--pcap", operations.toString()), version6, 256, "--sizes", "0,1,700,701", "--atomics", "4");
        Path connection = folder.resolve("connection.pcap");
        String port = Lab.portText();
        String kernel = version6 ? machine.kernel6 : machine.kernel;
        try (Program server = Program.start("rping", "-s", "-a", kernel, "-p", port, "-C", "3")) {
            OtherMachine.awaitListener(port);
            try (ResidentJvm.Command client =
                    machine.start("--pcap", connection.toString(), "ping", "-c", "-a", kernel, "-p", port, "-C", "3")) {
                assertEquals(0, client.join(), () -> client + "\n" + server);
                RpingEnd.assertSucceeds(server);
            }
        }

        Set<Integer> opcodes = new TreeSet<>();
        Set<String> messages = new TreeSet<>();
        for (DecodedPacket each : DecodedPacket.of(game, operations, connection)) {
            assertTrue(
                    each.protocols().startsWith(version6 ? "raw:ipv6:udp:infiniband" : "raw:ip:udp:infiniband"),
                    each::toString);
            assertEquals("", each.complaints(), each::toString);
            assertEquals(each.rightCrc(), each.crc(), each::toString);
            opcodes.add(each.opcode());
            messages.add(each.attribute());
        }
        assertEquals(OPCODES, opcodes);
        assertTrue(messages.containsAll(CONNECTION_MESSAGES), messages::toString);
    }
}
