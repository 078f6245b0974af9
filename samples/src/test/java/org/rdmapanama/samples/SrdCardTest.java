package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.testing.Lab;

/** The commands over SRD, on an EFA card in memory. */
@Tag("card")
class SrdCardTest {
    private static final String HOST = "127.0.0.1";

    private static Run start(String port, String text, String... more) {
        List<String> arguments = new ArrayList<>(List.of(text.split(" ")));
        arguments.addAll(List.of("-d", Lab.FIRST_DEVICE, "-p", port, "--timeout", "20"));
        arguments.addAll(Arrays.asList(more));
        return Run.start(arguments.toArray(String[]::new));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " -s 1 -r 1", " -s 32", " -s 8928 -r 100", " --warmup 20 -r 3"})
    void shouldPlayPingPong(String options) throws Exception {
        String port = Lab.portText();
        String command = "pingpong -t srd -c -n 300" + options;
        Run server = start(port, command);
        server.await("waiting for a client");
        Run client = start(port, command, HOST);
        for (Run each : List.of(client, server)) {
            assertEquals(0, each.join(), each::toString);
            assertEquals("", each.err());
            assertTrue(each.out().contains("300 iters in "), each::toString);
            assertTrue(each.out().contains("every byte of the last message is correct"), each::toString);
        }
    }

    @Test
    void shouldRefuseAMessageThatIsTooLong() throws Exception {
        Run run = start(Lab.portText(), "pingpong -t srd -s 9000");
        assertEquals(2, run.join(), run::toString);
        assertTrue(run.err().contains("the port's largest message"), run::toString);
    }

    private static Run measure(String test) throws InterruptedException {
        String port = Lab.portText();
        Run server = start(port, "perf server --once");
        server.await("waiting for a client");
        Run client = start(port, "perf " + test + " -c SRD --warmup 0", HOST);
        int status = client.join();
        if (status == 0) {
            assertEquals(0, server.join(), server::toString);
        } else {
            server.interrupt();
            server.join();
        }
        return client;
    }

    /** Sends among them are faster than the receiver, which has few receives. Bandwidth tests compare the data. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "send-lat -n 200",
                "send-lat -n 200 -s 8928",
                "send-bw -n 2000 -r 2",
                "send-bw -n 600 -q 3 -b --post-list 4 -s 100",
                "send-bw -n 50 -a",
                "read-lat -n 200 -s 8",
                "read-bw -n 200 -s 1MiB -t 8",
                "read-bw -n 600 -q 2 -b --post-list 3 -s 3000",
                "read-bw -D 1 -s 64"
            })
    void shouldMeasure(String test) throws Exception {
        Run client = measure(test);
        assertEquals(0, client.join(), client::toString);
        assertEquals("", client.err());
        assertTrue(client.out().contains("SRD"), client::toString);
    }

    /** The driver tells that the device can write since rdma-core 46. */
    @Test
    void shouldWriteWhereTheDriverTellsThatTheDeviceCan() throws Exception {
        int version = NativeLibrary.EFA.version().map(Integer::parseInt).orElseThrow();
        Run client = measure("write-bw -n 200 -s 1MiB -t 8");
        if (version >= 46) {
            assertEquals(0, client.join(), client::toString);
            assertTrue(client.out().contains("SRD"), client::toString);
        } else {
            assertTrue(client.join() != 0, client::toString);
            assertTrue(
                    client.err().contains("efa_0 does not say that it can do RDMA_WRITE over SRD"), client::toString);
        }
    }

    @Test
    void shouldSayWhatSrdOrTheDeviceCannotDo() throws Exception {
        String[][] refused = {
            {"write-lat", "which SRD may write before the others"},
            {"atomic-bw", "SRD does not support ATOMIC: it supports send, write and read"},
            {"send-bw -Q 4", "each of its messages has a completion"},
            {"read-bw -o 1", "--outs is not for SRD"},
            {"write-bw -I 8", "--inline is for send over SRD"},
            {"send-bw -s 9000", "the port's largest message"},
            {"read-bw -s 2GiB", "--size must be between"}
        };
        for (String[] each : refused) {
            Run run = measure(each[0]);
            assertTrue(run.join() != 0, run::toString);
            assertTrue(run.err().contains(each[1]), run::toString);
        }
    }
}
