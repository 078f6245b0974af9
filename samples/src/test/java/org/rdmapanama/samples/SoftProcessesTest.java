package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.Program;

/** Two processes of this machine, each with its own software device, connect by address without native libraries. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoftProcessesTest {
    private static final String HOST = "127.0.0.1";
    private static final String PORT = "17471";

    private static Program soft(String... arguments) throws Exception {
        return with("", arguments);
    }

    /** Starts a command with JVM options. */
    private static Program with(String options, String... arguments) throws Exception {
        return Program.java(List.of("env", "RDMA_DEVICE=soft0", "JDK_JAVA_OPTIONS=" + options), Rdma.class, arguments);
    }

    private static String failed(Program program) throws Exception {
        try (program) {
            assertEquals(1, program.join(), program::output);
            return program.output();
        }
    }

    /** Starts a process for several commands, with a device. */
    private static ResidentJvm process(String device) throws Exception {
        return new ResidentJvm("env", "RDMA_DEVICE=" + device);
    }

    /** The same on a number of processors. */
    private static ResidentJvm process(int processors) throws Exception {
        return new ResidentJvm("env", "RDMA_DEVICE=soft0", "JDK_JAVA_OPTIONS=-XX:ActiveProcessorCount=" + processors);
    }

    private static String ended(int status, ResidentJvm process, String... arguments) throws Exception {
        try (ResidentJvm.Command command = process.start(arguments)) {
            assertEquals(status, command.join(), command::output);
            return command.output();
        }
    }

    /** Returns what both sides of a ping-pong print. */
    private static String pingpong(ResidentJvm left, ResidentJvm right, String... more) throws Exception {
        List<String> words = new ArrayList<>(List.of("pingpong", "-n", "10", "-p", PORT));
        words.addAll(List.of(more));
        try (ResidentJvm.Command server = left.start(words.toArray(String[]::new))) {
            server.await("waiting for a client");
            words.add(HOST);
            try (ResidentJvm.Command client = right.start(words.toArray(String[]::new))) {
                assertEquals(0, client.join(), () -> client.output() + server.output());
                assertEquals(0, server.join(), server::output);
                return server.output() + client.output();
            }
        }
    }

    @Test
    void shouldSayThatOneProcessorIsNoPlaceToPoll() throws Exception {
        try (ResidentJvm left = process(1);
                ResidentJvm right = process(1)) {
            String polling = pingpong(left, right);
            assertEquals(
                    2,
                    polling.lines()
                            .filter(line -> line.endsWith(PollingHint.TEXT))
                            .count(),
                    polling);
            String sleeping = pingpong(left, right, "-e");
            assertFalse(sleeping.contains(PollingHint.TEXT), sleeping);
        }
        try (ResidentJvm left = process(2);
                ResidentJvm right = process(2)) {
            String two = pingpong(left, right);
            assertFalse(two.contains(PollingHint.TEXT), two);
        }
    }

    /** Starts a command on one processor, of which the JVM does not know that it is the only one. */
    private static Program onOneProcessor(String... arguments) throws Exception {
        String processor = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("Cpus_allowed_list:"))
                .map(line -> line.replaceAll("\\D+(\\d+).*", "$1"))
                .findFirst()
                .orElseThrow();
        List<String> prefix = List.of(
                "env", "RDMA_DEVICE=soft0", "JDK_JAVA_OPTIONS=-XX:ActiveProcessorCount=2", "taskset", "-c", processor);
        return Program.java(prefix, Rdma.class, arguments);
    }

    private static String perf(String... words) throws Exception {
        List<String> arguments =
                new ArrayList<>(List.of("perf", words[0], HOST, "-p", PORT, "-n", "10", "--warmup", "0"));
        arguments.addAll(List.of(words).subList(1, words.length));
        try (Program client = onOneProcessor(arguments.toArray(String[]::new))) {
            assertEquals(0, client.join(), client::output);
            return client.output();
        }
    }

    @Test
    void shouldSayThatPollingLacksProcessors() throws Exception {
        try (Program server = onOneProcessor("perf", "server", "-p", PORT)) {
            server.await("waiting for a client");
            String write = perf("write-lat");
            assertTrue(
                    write.contains(
                            "rdma perf write-lat: both sides poll, and soft0 needs the same processors: this side"),
                    write);
            assertTrue(
                    write.contains("write-lat can only poll, but send-lat with --events (-e) is likely faster"), write);
            String send = perf("send-lat");
            assertTrue(send.contains("% of the test; --events (-e) is likely faster"), send);
            String sleeping = perf("send-lat", "-e");
            assertFalse(sleeping.contains("both sides poll"), sleeping);
            String reading = perf("read-lat");
            assertFalse(reading.contains("both sides poll"), reading);
            server.signal("INT");
            assertEquals(Failures.INTERRUPTED, server.join(), server::output);
        }
    }

    @Test
    void shouldBeSilentAboutPollingWithAProcessor() {
        assertNull(PollingHint.afterwards(0.97, "--events (-e)"));
        assertEquals(
                "both sides poll, and soft0 needs the same processors: this side had one for 52% of the test;"
                        + " --events (-e) is likely faster",
                PollingHint.afterwards(0.52, "--events (-e)"));
    }

    @Test
    void shouldSayThatTheVariableNamesADeviceThatIsNotThere() throws Exception {
        String wrong = "the variable RDMA_DEVICE names 'mlx5_77', which is not a device of this machine: set it to one"
                + " of those present (";
        try (ResidentJvm process = process("mlx5_77")) {
            for (String command : List.of("hello", "device-info", "pingpong")) {
                String output = ended(1, process, command);
                assertTrue(output.contains("rdma " + command + ": " + wrong), output);
                assertTrue(output.strip().endsWith("), or unset it"), output);
            }
            String devices = ended(0, process, "devices");
            assertTrue(devices.contains("rdma devices: " + wrong), devices);
            // What the user wrote, and not the variable, is wrong here.
            String written = ended(1, process, "pingpong", "-d", "mlx5_88");
            assertTrue(written.contains("mlx5_88"), written);
            assertFalse(written.contains("mlx5_77"), written);
        }
        try (Program devices = soft("devices")) {
            assertEquals(0, devices.join(), devices::output);
            assertFalse(devices.output().contains("RDMA_DEVICE"), devices::output);
        }
    }

    @Test
    void shouldSayThatIpv6IsForOneProcess() throws Exception {
        assumeTrue(NetworkInterface.getByInetAddress(InetAddress.getByName("::1")) != null, "there is no IPv6 here");
        Program client = with("-Dorg.rdmapanama.soft.port=24791", "ping", "-c", "-a", "::1", "-C", "1");
        String output = failed(client);
        assertTrue(output.contains("ENODEV") || output.contains("EADDRNOTAVAIL"), output);
        assertTrue(output.contains("soft0 is at UDP port 24"), output);
        assertTrue(output.contains("only the IPv4 addresses"), output);
    }

    /** Of this machine, and not of its loopback interface. */
    private static String otherAddress() throws Exception {
        Optional<InetAddress> found = NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(each -> each instanceof Inet4Address && !each.isLoopbackAddress() && !each.isLinkLocalAddress())
                .findFirst();
        assumeTrue(found.isPresent(), "this machine has only loopback addresses");
        return found.orElseThrow().getHostAddress();
    }

    private static Program at(String addresses, String... arguments) throws Exception {
        return Program.java(
                List.of("env", "RDMA_DEVICE=soft0", "RDMA_SOFT_ADDRESS=" + addresses), Rdma.class, arguments);
    }

    @Test
    void shouldSayThatAServerIsForThisMachineOnly() throws Exception {
        try (Program server = soft("serve", "-p", PORT)) {
            server.await("waiting for a client");
            assertTrue(
                    server.output()
                            .contains("soft0 is at 127.0.0.1, for this machine only; for others, start with"
                                    + " RDMA_SOFT_ADDRESS=all"),
                    server::output);
        }
    }

    @Test
    void shouldNameTheSettingOfAnAddressThatItDoesNotHave() throws Exception {
        String few = "soft0 has only the loopback addresses 127.0.0.1";
        String cure = "start with -Dorg.rdmapanama.soft.address=all, or with RDMA_SOFT_ADDRESS=all";
        String there = otherAddress();
        try (ResidentJvm process = process("soft0")) {
            for (String[] each : new String[][] {{"serve", there}, {"transfer", there}, {"ping", "-c", "-a", there}}) {
                String output = ended(1, process, each);
                assertTrue(output.contains(few) && output.contains(cure), output);
            }
        }
    }

    @Test
    void shouldSayThatAnAddressIsNotThere() throws Exception {
        String output = failed(at("127.0.0.1,nosuch0", "hello"));
        assertTrue(output.contains("org.rdmapanama.soft.address (or RDMA_SOFT_ADDRESS) must be 'all'"), output);
        assertTrue(output.contains("'nosuch0'"), output);
        // The property is stronger.
        String property = "JDK_JAVA_OPTIONS=-Dorg.rdmapanama.soft.address=127.0.0.1";
        try (Program hello = Program.java(
                List.of("env", "RDMA_DEVICE=soft0", "RDMA_SOFT_ADDRESS=nosuch0", property), Rdma.class, "hello")) {
            assertEquals(0, hello.join(), hello::output);
        }
    }

    @Test
    void shouldConnectAtTheAddressesThatTheVariableNames() throws Exception {
        String there = otherAddress();
        try (Program server = at("all", "serve", "-P", "-p", PORT)) {
            server.await("waiting for a client");
            assertTrue(
                    server.output().contains("soft0 is at ") && server.output().contains(there), server::output);
            try (Program client = at(there, "transfer", there, "-p", PORT, "-s", "64KiB")) {
                assertEquals(0, client.join(), () -> client.output() + server.output());
            }
            // Each path has an MTU of its own.
            try (Program client = soft("transfer", HOST, "-p", PORT, "-s", "64KiB")) {
                assertEquals(0, client.join(), () -> client.output() + server.output());
            }
        }
    }

    @Test
    void shouldSayAtOnceThatThereIsNoSuchPortOrAddress() throws Exception {
        try (ResidentJvm process = process("soft0")) {
            String port = ended(1, process, "serve", "--tcp", "-i", "7");
            assertFalse(port.contains("waiting"), port);
            String gid = ended(1, process, "serve", "--tcp", "-g", "77");
            assertFalse(gid.contains("waiting"), gid);
            assertTrue(gid.contains("77"), gid);
        }
    }

    @Test
    void shouldPrintNoTableWithoutAServer() throws Exception {
        String output = failed(soft("perf", "send-lat", HOST, "-p", "1", "--timeout", "1"));
        assertFalse(output.contains("#bytes"), output);
    }

    @Test
    void shouldSayHowToDecodeAnotherPort(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("packets.pcap");
        try (Program hello = with("-Dorg.rdmapanama.soft.port=24891", "hello", "--pcap", file.toString())) {
            assertEquals(0, hello.join(), hello::output);
            assertTrue(hello.output().contains("tshark -d udp.port==24"), hello::output);
        }
    }

    @Test
    void shouldNameThePropertyOfAPathThatIsWrong() throws Exception {
        String output = failed(with("-Dorg.rdmapanama.soft.pcap=/no/such/folder", "hello"));
        assertTrue(output.contains("org.rdmapanama.soft.pcap names: /no/such/folder"), output);
        assertFalse(output.contains("UDP"), output);
    }

    @Test
    void shouldNotCompareWithPerftestWhichDoesNotKnowIt() throws Exception {
        String output = failed(soft("perf", "--compare-perftest", "--devices", "soft0"));
        assertTrue(output.contains("perftest cannot use soft0"), output);
    }

    @Test
    void shouldBeQuietWhenInterruptedEarly() throws Exception {
        try (Program server = Program.java(List.of("env", "RDMA_DEVICE=soft0"), InterruptedEarly.class)) {
            assertEquals(Failures.INTERRUPTED, server.join(), server::output);
            String output = server.output();
            assertTrue(output.strip().endsWith("rdma pingpong: interrupted; everything is closed"), output);
            assertFalse(output.contains("Exception"), output);
            assertFalse(output.contains("FATAL"), output);
        }
    }

    /** A command that is interrupted before the device is opened. */
    static final class InterruptedEarly {
        private InterruptedEarly() {}

        public static void main(String[] arguments) {
            Interruption.runAndExit(() -> {
                Thread.currentThread().interrupt();
                return Rdma.commandLine(Rdma.COMMANDS, "pingpong").execute("pingpong", "-p", PORT);
            });
        }
    }

    @Test
    void shouldTransfer() throws Exception {
        try (Program server = soft("serve", HOST, "-p", PORT)) {
            server.await("waiting for a client");
            try (Program client = soft("transfer", HOST, "-p", PORT, "--size", "4MiB")) {
                assertEquals(0, client.join(), () -> client.output() + server.output());
                assertTrue(client.output().contains("through soft0"), client::output);
                assertTrue(client.output().contains("correct on both sides"), client::output);
            }
            assertEquals(0, server.join(), server::output);
        }
    }

    @Test
    void shouldPing() throws Exception {
        try (Program server = soft("ping", "-s", "-a", HOST, "-p", PORT, "-V")) {
            server.await("waiting for clients");
            try (Program client = soft("ping", "-c", "-a", HOST, "-p", PORT, "-C", "5", "-V")) {
                assertEquals(0, client.join(), () -> client.output() + server.output());
                assertTrue(client.output().contains("5 pings of 64 bytes"), client::output);
            }
            assertEquals(0, server.join(), server::output);
        }
        try (Program client = soft("ping", "-c", "-a", HOST, "-p", PORT, "-C", "5")) {
            assertNotEquals(0, client.join(), client::output);
            assertTrue(client.output().contains("REJECTED, status 8"), client::output);
        }
    }
}
