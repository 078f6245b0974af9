package org.rdmapanama.samples.learn;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.Program;

/** What tshark makes of an RDMA WRITE as RoCE v1 and iWARP carry it. */
@Timeout(120)
class StacksDecodedTest {
    private static final int[] SIZES = {0, 1, 2, 3, 64, 1024};
    private static final int ETHERNET = 14;
    private static final int TCP = 20;

    @TempDir
    private Path folder;

    @BeforeAll
    static void requireTshark() {
        assumeTrue(
                Arrays.stream(System.getenv("PATH").split(":", -1))
                        .anyMatch(each -> Files.isExecutable(Path.of(each, "tshark"))),
                "there is no tshark (Debian: apt-get install tshark)");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldBeRoceV1(boolean version6) throws Exception {
        List<ByteBuffer> frames = new ArrayList<>();
        for (int size : SIZES) {
            frames.add(RoceV1Packet.of(WritePackets.of(version6, size)));
        }
        List<List<String>> lines = decode(
                frames,
                "frame.protocols",
                "infiniband.grh.paylen",
                "infiniband.grh.nxthdr",
                "infiniband.grh.sgid",
                "infiniband.grh.dgid",
                "infiniband.bth.opcode",
                "infiniband.bth.destqp",
                "infiniband.reth.va",
                "infiniband.reth.r_key",
                "infiniband.reth.dmalen",
                "infiniband.invariant.crc");
        String mapped = version6 ? "fd77::" : "::ffff:10.77.0.";
        for (int i = 0; i < SIZES.length; i++) {
            ByteBuffer frame = frames.get(i);
            List<String> line = lines.get(i);
            assertEquals("eth:ethertype:infiniband", line.get(0).replace(":data", ""));
            assertEquals(
                    List.of(
                            String.valueOf(frame.limit() - ETHERNET - 40),
                            "27",
                            mapped + "1",
                            mapped + "2",
                            "10",
                            "0x" + Integer.toHexString(WritePackets.QUEUE_PAIR),
                            String.format("0x%016x", WritePackets.ADDRESS),
                            String.format("0x%08x", WritePackets.KEY),
                            String.valueOf(SIZES[i]),
                            String.format("0x%08x", frame.getInt(frame.limit() - 4))),
                    line.subList(1, line.size()));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldBeIwarp(boolean version6) throws Exception {
        for (int size : SIZES) {
            ByteBuffer write = IwarpPacket.of(WritePackets.of(version6, size));
            List<List<String>> lines = decode(
                    connection(write, version6),
                    "frame.protocols",
                    "ip.checksum.status",
                    "tcp.checksum.status",
                    "iwarp_mpa.ulpdulength",
                    "iwarp_ddp.tagged_flag",
                    "iwarp_ddp.last_flag",
                    "iwarp_ddp.dv",
                    "iwarp_rdma.version",
                    "iwarp_rdma.opcode",
                    "iwarp_ddp.stag",
                    "iwarp_ddp.tagged_offset");
            String ip = version6 ? "eth:ethertype:ipv6:tcp" : "eth:ethertype:ip:tcp";
            assertEquals(ip + ":iwarp_mpa", lines.get(0).get(0));
            assertEquals(ip + ":iwarp_mpa", lines.get(1).get(0));
            List<String> line = lines.get(2);
            assertEquals(ip + ":iwarp_mpa:iwarp_ddp_rdmap", line.get(0).replace(":data", ""));
            assertEquals(
                    List.of(
                            // 1 is good.
                            version6 ? "" : "1",
                            "1",
                            String.valueOf(14 + size),
                            "1",
                            "1",
                            "1",
                            "1",
                            "0x00",
                            String.format("0x%08x", WritePackets.KEY),
                            String.format("0x%016x", WritePackets.ADDRESS)),
                    line.subList(1, line.size()));
            assertTrue(mpa().contains("(Good CRC32)"), () -> size + ": " + mpa());
        }
    }

    @Test
    void shouldBeBadIwarpIfDataDiffers() throws Exception {
        ByteBuffer write = IwarpPacket.of(WritePackets.of(false, 64));
        int data = write.limit() - 64 - 4;
        write.put(data, (byte) (write.get(data) + 1));
        write(file(), connection(write, false));
        assertTrue(mpa().contains("(Bad CRC32"), this::mpa);
    }

    /** Returns what tshark says about the frames of MPA in the file. */
    private String mpa() {
        try {
            return Program.run("tshark", "-n", "-r", file().toString(), "-V", "-O", "iwarp_mpa");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path file() {
        return folder.resolve("frames.pcap");
    }

    private static List<ByteBuffer> connection(ByteBuffer write, boolean version6) {
        return List.of(
                setUp(write, version6, "MPA ID Req Frame", true),
                setUp(write, version6, "MPA ID Rep Frame", false),
                write);
    }

    /** Returns a frame of the set-up of MPA: CRC wanted, no markers, revision 1, no private data. */
    private static ByteBuffer setUp(ByteBuffer write, boolean version6, String key, boolean fromA) {
        int tcp = ETHERNET + (version6 ? 40 : 20);
        ByteBuffer frame = ByteBuffer.allocate(tcp + TCP + 20);
        frame.put(write.duplicate().limit(tcp + TCP)).put(key.getBytes(US_ASCII));
        frame.put((byte) 0x40).put((byte) 1).putShort((short) 0).rewind();
        int addressBytes = version6 ? 16 : 4;
        int addresses = tcp - 2 * addressBytes;
        if (!fromA) {
            frame.put(addresses, write, tcp - addressBytes, addressBytes);
            frame.put(tcp - addressBytes, write, addresses, addressBytes);
            frame.putShort(tcp, write.getShort(tcp + 2)).putShort(tcp + 2, write.getShort(tcp));
        }
        int tcpBytes = TCP + 20;
        if (version6) {
            frame.putShort(ETHERNET + 4, (short) tcpBytes);
        } else {
            frame.putShort(ETHERNET + 2, (short) (20 + tcpBytes)).putShort(ETHERNET + 10, (short) 0);
            frame.putShort(ETHERNET + 10, (short) WritePackets.sum(frame, ETHERNET, tcp, 0));
        }
        // B has received what A has sent before.
        frame.putInt(tcp + 4, 1).putInt(tcp + 8, fromA ? 1 : 21).putShort(tcp + 16, (short) 0);
        frame.putShort(tcp + 16, (short) WritePackets.sum(frame, addresses, frame.limit(), 6 + tcpBytes));
        return frame;
    }

    /** Returns the fields that tshark finds in each frame, which it must not complain about. */
    private List<List<String>> decode(List<ByteBuffer> frames, String... fields) throws IOException {
        write(file(), frames);
        List<String> command = new ArrayList<>(List.of("tshark", "-n", "-r", file().toString(), "-T", "fields"));
        command.addAll(List.of("-E", "separator=;", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"));
        // These dissectors look into the data, which are random.
        for (String each : List.of("smb_direct", "rpcordma", "nvme-rdma", "iser")) {
            command.addAll(List.of("--disable-protocol", each));
        }
        List<String> all = new ArrayList<>(List.of("_ws.malformed", "_ws.expert.message"));
        all.addAll(List.of(fields));
        all.forEach(each -> command.addAll(List.of("-e", each)));
        String said = Program.run(command.toArray(String[]::new));
        List<List<String>> lines = new ArrayList<>();
        for (String line : said.lines().filter(each -> each.contains(";")).toList()) {
            List<String> values = List.of(line.split(";", -1));
            assertEquals(List.of("", ""), values.subList(0, 2), line);
            assertFalse(said.contains("alformed"), said);
            lines.add(values.subList(2, values.size()));
        }
        assertEquals(frames.size(), lines.size(), said);
        return lines;
    }

    private static void write(Path file, List<ByteBuffer> frames) throws IOException {
        ByteBuffer header = ByteBuffer.allocate(24).order(ByteOrder.nativeOrder());
        header.putInt(0xa1b2_c3d4)
                .putShort((short) 2)
                .putShort((short) 4)
                .putLong(0)
                .putInt(0xffff)
                .putInt(1);
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            channel.write(header.flip());
            for (ByteBuffer frame : frames) {
                ByteBuffer record = ByteBuffer.allocate(16 + frame.limit()).order(ByteOrder.nativeOrder());
                record.putLong(0).putInt(frame.limit()).putInt(frame.limit()).put(frame.duplicate());
                channel.write(record.flip());
            }
        }
    }
}
