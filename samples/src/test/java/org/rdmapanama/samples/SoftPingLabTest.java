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
import org.rdmapanama.ffm.Program;

/**
 * The software device's connection manager against the kernel's: as if on another machine, in a network of its own. Over
 * IPv4 only: Soft-RoCE leaves the checksum of UDP out, and then the kernel gives no datagram of IPv6 to a program.
 */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoftPingLabTest {
    private static final String NETWORK = "soft";
    private static final String KERNEL = "10.80.0.1";
    private static final String SOFTWARE = "10.80.0.2";
    private static final String PINGS = "7";

    private static final String ADD = """
            ip netns add soft
            ip link add softwire0 type veth peer name softwire1 netns soft
            ip addr add 10.80.0.1/24 dev softwire0
            ip -n soft addr add 10.80.0.2/24 dev softwire1
            ip -n soft link set lo up
            ip -n soft link set softwire1 up
            ip link set softwire0 up
            rdma link add rxe_soft type rxe netdev softwire0
            for try in $(seq 100); do
                grep -q ACTIVE /sys/class/infiniband/rxe_soft/ports/1/state &&
                    grep -qs :ffff:0a50:0001 /sys/class/infiniband/rxe_soft/ports/1/gids/* && exit 0
                sleep 0.1
            done
            grep . /sys/class/infiniband/rxe_soft/ports/1/{state,gids/*}
            exit 1
            """;

    /** Under emulation it takes a while to start. */
    private static final String PATIENT = "--timeout=120";

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

    @Test
    void shouldPingRping() throws Exception {
        try (Program server = Program.start("rping", "-s", "-a", KERNEL, "-p", port, "-C", PINGS, "-v", "-V");
                Program client =
                        soft("ping", "-c", "-a", KERNEL, "-p", port, "-C", PINGS, "-S", "40", "-v", "-V", PATIENT)) {
            assertEquals(0, client.join(), () -> client + "\n" + client.output() + server.output());
            assertTrue(client.output().contains("ping data: rdma-ping-6: GHIJ"), client::output);
            assertTrue(client.output().contains("7 pings of 40 bytes"), client::output);
            assertEquals(0, server.join(), server::output);
            assertTrue(server.output().contains("server ping data: rdma-ping-6: GHIJ"), server::output);
        }
    }

    @Test
    void shouldBePingedByRping() throws Exception {
        try (Program server = soft("ping", "-s", "-a", SOFTWARE, "-p", port, "-v", "-V", PATIENT)) {
            server.await("waiting for clients");
            try (Program client = Program.start("rping", "-c", "-a", SOFTWARE, "-p", port, "-C", PINGS, "-v", "-V")) {
                assertEquals(0, client.join(), () -> client.output() + server.output());
                assertTrue(client.output().contains("ping data: rdma-ping-6: GHIJ"), client::output);
                assertEquals(0, server.join(), server::output);
                assertTrue(server.output().contains(": 7 pings"), server::output);
            }
        }
    }

    @Test
    void shouldSayThatNobodyListens() throws Exception {
        try (Program client = soft("ping", "-c", "-a", KERNEL, "-p", port, "-C", "1", PATIENT)) {
            assertNotEquals(0, client.join(), client::output);
            assertTrue(client.output().contains("REJECTED with status 8"), client::output);
        }
        try (Program server = soft("ping", "-s", "-a", SOFTWARE, "-p", port)) {
            server.await("waiting for clients");
            String other = Integer.toString(Integer.parseInt(port) + 100);
            try (Program client = Program.start("rping", "-c", "-d", "-a", SOFTWARE, "-p", other, "-C", "1")) {
                assertNotEquals(0, client.join(), client::output);
                assertTrue(
                        client.output().contains("REJECTED") && client.output().contains("8"), client::output);
            }
            server.signal("TERM");
        }
    }
}
