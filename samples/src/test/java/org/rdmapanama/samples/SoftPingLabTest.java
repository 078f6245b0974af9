package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.RpingEnd;

/** soft0's connection manager with that of the kernel, as if on another machine: in a separate network namespace. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoftPingLabTest {
    private static final String PINGS = "7";

    /** The first connection of a JVM is slow under emulation. */
    private static final String PATIENT = "--timeout=70";

    private static int nextPort = 7701;
    private static OtherMachine machine;

    private final String port = Integer.toString(nextPort++);

    @BeforeAll
    static void makeMachine() throws Exception {
        assumeTrue(System.getenv("RDMA_DEVICE") == null, "needs the lab's kernel");
        machine = new OtherMachine("soft", 80, "auto");
    }

    @AfterAll
    static void removeMachine() throws Exception {
        if (machine != null) {
            machine.close();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldPingRping(boolean version6) throws Exception {
        String kernel = version6 ? machine.kernel6 : machine.kernel;
        try (Program server = Program.start("rping", "-s", "-a", kernel, "-p", port, "-C", PINGS, "-v", "-V")) {
            OtherMachine.awaitListener(port);
            try (ResidentJvm.Command client = machine.start(
                    "ping", "-c", "-a", kernel, "-p", port, "-C", PINGS, "-S", "40", "-v", "-V", PATIENT)) {
                assertEquals(0, client.join(), () -> client + server.output());
                assertTrue(client.output().contains("ping data: rdma-ping-6: GHIJ"), client::output);
                assertTrue(client.output().contains("7 pings of 40 bytes"), client::output);
                RpingEnd.assertSucceeds(server);
                assertTrue(server.output().contains("server ping data: rdma-ping-6: GHIJ"), server::output);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldBePingedByRping(boolean version6) throws Exception {
        String soft = version6 ? machine.soft6 : machine.soft;
        try (ResidentJvm.Command server = machine.start("ping", "-s", "-a", soft, "-p", port, "-v", "-V", PATIENT)) {
            server.await("waiting for clients");
            try (Program client = Program.start("rping", "-c", "-a", soft, "-p", port, "-C", PINGS, "-v", "-V")) {
                RpingEnd.assertSucceeds(client);
                assertTrue(client.output().contains("ping data: rdma-ping-6: GHIJ"), client::output);
                assertEquals(0, server.join(), server::output);
                assertTrue(server.output().contains(": 7 pings"), server::output);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldSayThatNobodyListens(boolean version6) throws Exception {
        String kernel = version6 ? machine.kernel6 : machine.kernel;
        try (ResidentJvm.Command client = machine.start("ping", "-c", "-a", kernel, "-p", port, "-C", "1", PATIENT)) {
            assertNotEquals(0, client.join(), client::output);
            assertTrue(client.output().contains("REJECTED, status 8"), client::output);
        }
        String soft = version6 ? machine.soft6 : machine.soft;
        try (ResidentJvm.Command server = machine.start("ping", "-s", "-a", soft, "-p", port)) {
            server.await("waiting for clients");
            String other = Integer.toString(Integer.parseInt(port) + 100);
            try (Program client = Program.start("rping", "-c", "-d", "-a", soft, "-p", other, "-C", "1")) {
                assertNotEquals(0, client.join(), client::output);
                assertTrue(
                        client.output().contains("REJECTED") && client.output().contains("8"), client::output);
            }
        }
    }
}
