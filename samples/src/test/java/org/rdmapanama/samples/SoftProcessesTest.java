package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.Program;

/** Two processes of this machine, each with its software device, meet by address; no native library takes part. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoftProcessesTest {
    private static final String HOST = "127.0.0.1";
    private static final String PORT = "17471";

    private static Program soft(String... arguments) throws Exception {
        return Program.java(List.of("env", "RDMA_DEVICE=soft0"), Rdma.class, arguments);
    }

    @Test
    void shouldTransfer() throws Exception {
        try (Program server = soft("serve", HOST, "-p", PORT)) {
            server.await("waiting for a client");
            try (Program client = soft("transfer", HOST, "-p", PORT, "--size", "4MiB")) {
                assertEquals(0, client.join(), () -> client.output() + server.output());
                assertTrue(client.output().contains("through soft0"), client::output);
                assertTrue(client.output().contains("right on both sides"), client::output);
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
            assertTrue(client.output().contains("REJECTED with status 8"), client::output);
        }
    }
}
