package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.Program;

/** The software device's connection manager against the kernel's: as if on another machine, in a network of its own. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoftPingLabTest {
    private static final String NETWORK = "soft";
    private static final String PINGS = "7";

    private static final String ADD = """
            ip netns add soft
            ip link add softwire0 type veth peer name softwire1 netns soft
            ip addr add 10.80.0.1/24 dev softwire0
            ip -6 addr add fd80::1/64 dev softwire0 nodad
            ip -n soft addr add 10.80.0.2/24 dev softwire1
            ip -n soft -6 addr add fd80::2/64 dev softwire1 nodad
            ip -n soft link set lo up
            ip -n soft link set softwire1 up
            ip link set softwire0 up
            rdma link add rxe_soft type rxe netdev softwire0
            for try in $(seq 100); do
                grep -q ACTIVE /sys/class/infiniband/rxe_soft/ports/1/state &&
                    grep -qs :ffff:0a50:0001 /sys/class/infiniband/rxe_soft/ports/1/gids/* &&
                    grep -qs fd80: /sys/class/infiniband/rxe_soft/ports/1/gids/* && exit 0
                sleep 0.1
            done
            grep . /sys/class/infiniband/rxe_soft/ports/1/{state,gids/*}
            exit 1
            """;

    private static int nextPort = 7701;

    private final String port = Integer.toString(nextPort++);

    @BeforeAll
    static void connectNetworks() throws Exception {
        assumeTrue(System.getenv("RDMA_DEVICE") == null, "the kernel's side is the lab's");
        Program.run("bash", "-ec", ADD);
    }

    @AfterAll
    static void removeNetwork() throws Exception {
        if (System.getenv("RDMA_DEVICE") == null) {
            Program.run(
                    "bash", "-c", "rdma link delete rxe_soft; ip link delete softwire0; ip netns delete " + NETWORK);
        }
    }

    /** A program of ours on the software device. */
    private static Program soft(String... arguments) throws Exception {
        return Program.java(List.of("ip", "netns", "exec", NETWORK, "env", "RDMA_DEVICE=soft0"), Rdma.class, arguments);
    }

    private static String kernel(String family) {
        return family.equals("IPv4") ? "10.80.0.1" : "fd80::1";
    }

    private static String software(String family) {
        return family.equals("IPv4") ? "10.80.0.2" : "fd80::2";
    }

    @ParameterizedTest
    @ValueSource(strings = {"IPv4", "IPv6"})
    void shouldPingRping(String family) throws Exception {
        String address = kernel(family);
        try (Program server = Program.start("rping", "-s", "-a", address, "-p", port, "-C", PINGS, "-v", "-V");
                Program client = soft("ping", "-c", "-a", address, "-p", port, "-C", PINGS, "-S", "40", "-v", "-V")) {
            assertEquals(0, client.join(), () -> client + "\n" + client.output() + server.output());
            assertTrue(client.output().contains("ping data: rdma-ping-6: GHIJ"), client::output);
            assertTrue(client.output().contains("7 pings of 40 bytes"), client::output);
            assertEquals(0, server.join(), server::output);
            assertTrue(server.output().contains("server ping data: rdma-ping-6: GHIJ"), server::output);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"IPv4", "IPv6"})
    void shouldBePingedByRping(String family) throws Exception {
        String address = software(family);
        try (Program server = soft("ping", "-s", "-a", address, "-p", port, "-v", "-V")) {
            server.await("waiting for clients");
            try (Program client = Program.start("rping", "-c", "-a", address, "-p", port, "-C", PINGS, "-v", "-V")) {
                assertEquals(0, client.join(), () -> client.output() + server.output());
                assertTrue(client.output().contains("ping data: rdma-ping-6: GHIJ"), client::output);
                assertEquals(0, server.join(), server::output);
                assertTrue(server.output().contains(": 7 pings"), server::output);
            }
        }
    }

    @Test
    void shouldSayThatNobodyListens() throws Exception {
        try (Program client = soft("ping", "-c", "-a", kernel("IPv4"), "-p", port, "-C", "1")) {
            assertNotEquals(0, client.join(), client::output);
            assertTrue(client.output().contains("REJECTED with status 8"), client::output);
        }
        try (Program server = soft("ping", "-s", "-a", software("IPv4"), "-p", port)) {
            server.await("waiting for clients");
            String other = Integer.toString(Integer.parseInt(port) + 100);
            try (Program client = Program.start("rping", "-c", "-d", "-a", software("IPv4"), "-p", other, "-C", "1")) {
                assertNotEquals(0, client.join(), client::output);
                assertTrue(
                        client.output().contains("REJECTED") && client.output().contains("8"), client::output);
            }
            server.signal("TERM");
        }
    }
}
