package org.rdmapanama.soft.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CaptureTest {
    private static final int FILE_HEADER = 24;

    @TempDir
    private Path folder;

    /** Reads all that a capture holds. */
    private static List<byte[]> read(Path path) throws IOException {
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.nativeOrder());
        assertEquals(0xA1B2_3C4D, file.getInt());
        assertEquals(2, file.getShort());
        assertEquals(4, file.getShort());
        assertEquals(0, file.getLong());
        assertEquals(65535, file.getInt());
        assertEquals(101, file.getInt());
        assertEquals(FILE_HEADER, file.position());

        List<byte[]> packets = new ArrayList<>();
        long last = 0;
        while (file.hasRemaining()) {
            long seconds = file.getInt();
            long nanos = file.getInt();
            assertTrue(nanos >= 0 && nanos < 1_000_000_000, "nanoseconds: " + nanos);
            long time = seconds * 1_000_000_000 + nanos;
            assertTrue(time >= last, "time goes on");
            last = time;
            long age = System.currentTimeMillis() - TimeUnit.NANOSECONDS.toMillis(time);
            assertTrue(age > -1000 && age < 60_000, "age in milliseconds: " + age);
            byte[] packet = new byte[file.getInt()];
            assertEquals(packet.length, file.getInt());
            file.get(packet);
            packets.add(packet);
        }
        return packets;
    }

    private static int sum(byte[] bytes, int from, int to) {
        int sum = 0;
        for (int i = from; i < to; i++) {
            sum += (bytes[i] & 0xFF) << ((i - from) % 2 == 0 ? 8 : 0);
        }
        while (sum > 0xFFFF) {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        return sum;
    }

    @Test
    void shouldHoldThePacketsAsTheyWereOnTheWire() throws IOException {
        Path path = folder.resolve("golden.pcap");
        InvariantCrc crc = new InvariantCrc();
        try (Capture capture = Capture.open(path)) {
            for (GoldenPacketsTest.Golden golden : GoldenPacketsTest.ALL) {
                ByteBuffer packet = Packets.direct(golden.roce());
                int length = packet.limit();
                UdpFlow flow = golden.flow();
                capture.write(flow, crc.identification(flow, packet, length), packet, 0, length);
                assertEquals(0, packet.position());
                assertEquals(length, packet.limit());
            }
        }
        List<byte[]> packets = read(path);
        assertEquals(GoldenPacketsTest.ALL.length, packets.size());
        for (int i = 0; i < packets.size(); i++) {
            byte[] expected = GoldenPacketsTest.ALL[i].ip();
            byte[] packet = packets.get(i);
            if (GoldenPacketsTest.ALL[i].isIpv6()) {
                // Addresses, length, protocol and the UDP datagram; Soft-RoCE does without a checksum here as well.
                int length = packet.length - 40;
                int pseudo = sum(packet, 8, packet.length) + length + 17;
                assertEquals(0xFFFF, (pseudo & 0xFFFF) + (pseudo >> 16));
                assertNotEquals(0, sum(packet, 46, 48));
                packet[46] = packet[47] = 0;
            } else {
                assertEquals(0xFFFF, sum(packet, 0, 20));
            }
            assertArrayEquals(expected, packet, GoldenPacketsTest.ALL[i].toString());
        }
    }

    @Test
    void shouldHoldManyPacketsOfSeveralThreads() throws Exception {
        Path path = folder.resolve("many.pcap");
        int each = 200;
        int length = 4000;
        UdpFlow flow = GoldenPacketsTest.ALL[0].flow();
        List<Thread> threads = new ArrayList<>();
        try (Capture capture = Capture.open(path)) {
            for (byte number = 1; number <= 3; number++) {
                byte[] bytes = new byte[length];
                Arrays.fill(bytes, number);
                threads.add(Thread.ofPlatform().start(() -> {
                    ByteBuffer packet = Packets.direct(bytes);
                    for (int i = 0; i < each; i++) {
                        // Files must not be closed by an interrupt of who sends.
                        Thread.currentThread().interrupt();
                        capture.write(flow, i, packet, 0, length);
                    }
                }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            capture.flush();
            assertEquals(FILE_HEADER + 3L * each * (16 + 28 + length), Files.size(path));
        }
        int[] next = new int[4];
        for (byte[] packet : read(path)) {
            byte number = packet[28];
            assertEquals(next[number]++, ByteBuffer.wrap(packet).getShort(4));
            for (int i = 28; i < packet.length; i++) {
                assertEquals(number, packet[i]);
            }
        }
        assertArrayEquals(new int[] {0, each, each, each}, next);
    }

    @Test
    void shouldLeaveOutWhatComesAfterTheEnd() throws IOException {
        Path path = folder.resolve("closed.pcap");
        Capture capture = Capture.open(path);
        capture.close();
        capture.write(GoldenPacketsTest.ALL[0].flow(), 0, Packets.direct(GoldenPacketsTest.ALL[0].roce()), 0, 20);
        capture.flush();
        capture.close();

        assertEquals(List.of(), read(path));
    }

    /** As when a device is opened again in one process. */
    @Test
    void shouldGoOnWithItsOwnFile() throws IOException {
        Path path = folder.resolve("again.pcap");
        Files.write(path, new byte[1000]);
        ByteBuffer packet = Packets.direct(GoldenPacketsTest.ALL[0].roce());
        for (int i = 0; i < 3; i++) {
            try (Capture capture = Capture.open(path)) {
                capture.write(GoldenPacketsTest.ALL[0].flow(), 0, packet, 0, packet.limit());
            }
        }
        assertEquals(3, read(path).size());

        Files.write(path, new byte[0]);
        Capture.open(path).close();
        assertEquals(List.of(), read(path));
    }

    @Test
    void shouldSurviveAFullDisk() throws IOException {
        Path full = Path.of("/dev/full");
        assumeTrue(Files.isWritable(full), "there is no device that is always full");
        try (Capture capture = Capture.open(full)) {
            ByteBuffer packet = Packets.direct(GoldenPacketsTest.ALL[0].roce());
            for (int i = 0; i < 10_000; i++) {
                capture.write(GoldenPacketsTest.ALL[0].flow(), 0, packet, 0, packet.limit());
            }
            capture.flush();
        }
    }

    @Test
    void shouldSayThatItCannotBegin() {
        Path path = folder.resolve("no/such/folder");
        String message = assertThrows(IllegalArgumentException.class, () -> Capture.open(path))
                .getMessage();
        assertTrue(message.contains("org.rdmapanama.soft.pcap names: " + path), message);
    }
}
