package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.FillPattern;

/**
 * Two hosts, each with several addresses of both versions of IP and several processes: connections last while other
 * processes come, go, and are killed.
 */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TwoHostsTest {
    private static final String PORT = "18520";
    private static final int ROUNDS = Integer.getInteger("hosts.rounds", 2);
    private static final int JOIN_SECONDS = 120;

    /** Of processes that leave the first UDP port, which alone has addresses of IPv6, to others. */
    private static final String OTHER_PORT = "4900";

    private static void assertCorrect(Program client) throws InterruptedException {
        int status = client.join(JOIN_SECONDS);
        assertTrue(status == 0 && client.output().contains("correct on both sides"), client::toString);
    }

    /** All addresses of the server, one after the other. */
    private static void assertMoved(SoftHosts hosts) throws Exception {
        for (String address : SoftHosts.SERVER_ADDRESSES) {
            try (Program client = hosts.onClient("4791", "transfer", address, "-p", PORT, "-s", "2MiB")) {
                assertCorrect(client);
            }
        }
    }

    /** A process of its own on each host, at the next UDP port that is free. */
    private static void assertPlayed(SoftHosts hosts, String port) throws Exception {
        List<String> words = List.of("pingpong", "-e", "-c", "-n", "500", "-p", port);
        try (Program server = hosts.onServer(words.toArray(String[]::new))) {
            server.await("waiting for a client");
            try (Program client = hosts.onClient(
                    OTHER_PORT, "pingpong", "-e", "-c", "-n", "500", "-p", port, SoftHosts.SERVER_ADDRESSES.get(1))) {
                client.assertSucceeds();
                server.assertSucceeds();
            }
        }
    }

    @Test
    void shouldTalkWhileOtherProcessesComeAndGo() throws Exception {
        SoftHosts.assumePossible();
        try (SoftHosts hosts = new SoftHosts();
                Program server = hosts.onServer("serve", "::", "-P", "-p", PORT)) {
            server.await("waiting for a client");
            String first = SoftHosts.SERVER_ADDRESSES.getFirst();
            try (Program talker = hosts.onClient(
                    OTHER_PORT, "transfer", first, "-p", PORT, "-s", "32MiB", "--chunk", "1KiB", "--depth", "1")) {
                talker.await("peer memory");
                for (int round = 0; round < ROUNDS; round++) {
                    assertMoved(hosts);
                    try (Program victim = hosts.onClient(
                            OTHER_PORT,
                            "transfer",
                            first,
                            "-p",
                            PORT,
                            "-s",
                            "32MiB",
                            "--chunk",
                            "64",
                            "--depth",
                            "1")) {
                        victim.await("peer memory");
                        victim.kill();
                    }
                    assertPlayed(hosts, Integer.toString(18530 + round));
                }
                assertCorrect(talker);
            }
            assertMoved(hosts);
            assertTrue(server.isAlive(), server::toString);
        }
    }

    /** Processes of both hosts, of which IPv6 needs the first UDP port. */
    @Test
    void shouldReachDisksOverIpv6(@TempDir Path folder) throws Exception {
        SoftHosts.assumePossible();
        Path data = Files.write(folder.resolve("data"), FillPattern.bytes(1 << 20, 3));
        Path copy = folder.resolve("copy");
        String target = "[" + SoftHosts.SERVER_ADDRESSES.getLast() + "]:" + PORT;
        try (SoftHosts hosts = new SoftHosts();
                Program server = hosts.onServer("nvme", "serve", "[::]:" + PORT, "--memory", "1MiB")) {
            server.await("until Ctrl-C");
            try (Program discover = hosts.onClient("4791", "nvme", "discover", target)) {
                discover.assertSucceeds();
                assertTrue(discover.output().contains("fd94:0:0:0:0:0:0:1 port " + PORT), discover::toString);
            }
            try (Program write = hosts.onClient("4791", "nvme", "write", target, data.toString())) {
                write.assertSucceeds();
            }
            try (Program read = hosts.onClient("4791", "nvme", "read", target, copy.toString())) {
                read.assertSucceeds();
            }
            assertArrayEquals(Files.readAllBytes(data), Files.readAllBytes(copy));
        }
    }
}
