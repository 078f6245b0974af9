package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The option --pcap. A lesson uses soft0 whatever devices there are, and listing devices does not use it. */
class PacketCaptureTest {
    @TempDir
    private Path folder;

    @AfterEach
    void shouldLeaveNoProperty() {
        assertNull(System.getProperty(PacketCapture.PROPERTY));
    }

    private Path file() {
        return folder.resolve("packets.pcap");
    }

    private static int packets(Path file) throws Exception {
        try (CaptureFile capture = new CaptureFile(file)) {
            return capture.packets();
        }
    }

    /** The hint printed for packets that do not use the RoCEv2 port. */
    private String decoding() throws Exception {
        try (CaptureFile capture = new CaptureFile(file())) {
            int port = capture.unknownPort();
            return port == 0 ? "" : "; to decode them: tshark -d udp.port==" + port + ",infiniband -r " + file();
        }
    }

    @Test
    void shouldBeUnderstoodBeforeACommand() throws Exception {
        Run run = Run.start("--pcap", file().toString(), "learn", "4");
        assertEquals(0, run.join(), run::toString);
        // Others on this network may have sent more packets.
        int packets = packets(file());
        assertTrue(packets >= 8, run::toString);
        // The port depends on what else runs on this machine.
        assertEquals(
                "rdma: " + packets + " packets of soft0 in " + file() + decoding() + System.lineSeparator(), run.err());
    }

    @Test
    void shouldBeUnderstoodBehindACommand() throws Exception {
        Files.writeString(file(), "something else");
        Run run = Run.start("learn", "3", "--pcap", file().toString());
        assertEquals(0, run.join(), run::toString);
        assertTrue(packets(file()) >= 6, run::toString);
        assertTrue(run.out().contains("SEND_MIDDLE"), run::toString);
    }

    @Test
    void shouldSayThatNothingWasWritten() throws Exception {
        Run run = Run.start("devices", "--pcap", file().toString());
        assertEquals(0, run.join(), run::toString);
        assertEquals(1, run.err().lines().count(), run::toString);
        assertTrue(
                run.err().startsWith("rdma: no packets were written: --pcap works with the device soft0"),
                run::toString);
        assertFalse(Files.exists(file()));
    }

    @Test
    void shouldSayHowManyAlsoWhenACommandFails() throws Exception {
        Run run = Run.start(
                "--pcap", file().toString(), "pingpong", "-d", "soft0", "-p", "1", "127.0.0.1", "--timeout", "1");
        assertEquals(1, run.join(), run::toString);
        assertEquals(2, run.err().lines().count(), run::toString);
        assertTrue(run.err().startsWith("rdma: "), run::toString);
    }

    @Test
    void shouldRefuseABadPath() throws Exception {
        refuse(folder.resolve("no/file"), "there is no directory " + folder.resolve("no"));
        refuse(folder, "it is a directory");
        Path device = Path.of("/dev/null");
        if (Files.exists(device)) {
            refuse(device, "it is not a regular file");
        }
    }

    private static void refuse(Path file, String why) throws Exception {
        Run run = Run.start("--pcap", file.toString(), "learn", "1");
        assertEquals(1, run.join(), run::toString);
        assertEquals("rdma: cannot write packets to " + file + ": " + why + System.lineSeparator(), run.err());
        assertEquals("", run.out());
    }
}
