package org.rdmapanama.samples.nvme;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.nvme.DiscoveryEntry;
import org.rdmapanama.nvme.NvmeDiscovery;
import org.rdmapanama.nvme.NvmeOptions;
import org.rdmapanama.samples.Ipv6;
import org.rdmapanama.samples.Run;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/** The commands of {@code rdma nvme} with each other. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class NvmeCommandLabTest {
    private static final int SIZE = 3 << 20;

    @TempDir
    private Path folder;

    private static void succeed(Run run) throws InterruptedException {
        assertEquals(0, run.join(), run::toString);
    }

    @Test
    void shouldServeDiscoverWriteAndRead() throws Exception {
        Path disk = Files.write(folder.resolve("disk.img"), new byte[SIZE]);
        Path data = Files.write(folder.resolve("data"), FillPattern.bytes(SIZE, 6));
        Path copy = folder.resolve("copy");
        String port = Lab.portText();
        String host = Lab.SECOND_HOST;
        Run server = Run.start("nvme", "serve", host, "-p", port, "--file", disk.toString(), "--memory", "1MiB");
        server.await("until Ctrl-C");

        Run discover = Run.start("nvme", "discover", host, "-p", port);
        succeed(discover);
        assertTrue(
                discover.out().contains("subsystem  rdma  " + host + " port " + port + "  nqn.2026-01.org.rdmapanama"),
                discover::toString);
        Run info = Run.start("nvme", "info", host, "-p", port);
        succeed(info);
        assertTrue(info.out().contains("3 MiB, 768 blocks of 4096 bytes"), info::toString);
        assertTrue(info.out().contains("1 MiB, 256 blocks of 4096 bytes"), info::toString);

        succeed(Run.start("nvme", "write", host, data.toString(), "-p", port, "--namespace", "1"));
        assertArrayEquals(Files.readAllBytes(data), Files.readAllBytes(disk));
        succeed(Run.start("nvme", "read", host, copy.toString(), "-p", port, "--namespace", "1"));
        assertArrayEquals(Files.readAllBytes(data), Files.readAllBytes(copy));
        succeed(Run.start(
                "nvme",
                "read",
                host,
                copy.toString(),
                "-p",
                port,
                "--namespace",
                "1",
                "--offset",
                "64KiB",
                "-s",
                "300KiB",
                "--depth",
                "1",
                "--invalidate"));
        assertArrayEquals(
                Arrays.copyOfRange(FillPattern.bytes(SIZE, 6), 64 * 1024, 364 * 1024), Files.readAllBytes(copy));

        Run several = Run.start("nvme", "read", host, copy.toString(), "-p", port);
        assertEquals(1, several.join());
        assertTrue(several.err().contains("the namespaces 1, 2: choose one with --namespace"), several::toString);
        Run odd = Run.start("nvme", "read", host, copy.toString(), "-p", port, "--namespace", "2", "-s", "5000");
        assertEquals(1, odd.join());
        assertTrue(odd.err().contains("--size must be a multiple of the block size, which is 4096"), odd::toString);
        Run wrong = Run.start("nvme", "info", host, "-p", port, "-n", "nqn.2026-01.org.example:no");
        assertEquals(1, wrong.join());
        assertTrue(wrong.err().contains("a parameter of Connect is not allowed"), wrong::toString);

        byte[] other = FillPattern.bytes(SIZE, 8);
        Files.write(data, other);
        succeed(Run.start("nvme", "write", host, data.toString(), "-p", port, "--namespace", "1", "--invalidate"));
        assertArrayEquals(other, Files.readAllBytes(disk));

        server.interrupt();
        assertEquals(130, server.join(), server::toString);
    }

    @Test
    void shouldCopyToAnotherTargetAndMeasure() throws Exception {
        byte[] data = FillPattern.bytes(SIZE, 7);
        Path source = Files.write(folder.resolve("source"), data);
        Path disk = Files.write(folder.resolve("disk"), new byte[SIZE + 4096]);
        String port = Lab.portText();
        String toPort = Lab.portText();
        String host = Lab.SECOND_HOST;
        Run first = Run.start("nvme", "serve", host, "-p", port, "--file", source.toString());
        Run second = Run.start("nvme", "serve", host, "-p", toPort, "--file", disk.toString());
        first.await("until Ctrl-C");
        second.await("until Ctrl-C");

        succeed(Run.start("nvme", "copy", host, host, "-p", port, "--to-port", toPort, "--depth", "3"));
        assertArrayEquals(Arrays.copyOf(data, SIZE + 4096), Files.readAllBytes(disk));
        Files.write(disk, new byte[SIZE + 4096]);
        succeed(Run.start("nvme", "copy", host, host, "-p", port, "--to-port", toPort, "--invalidate"));
        assertArrayEquals(Arrays.copyOf(data, SIZE + 4096), Files.readAllBytes(disk));
        Run more = Run.start("nvme", "copy", host, host, "-p", toPort, "--to-port", port);
        assertEquals(1, more.join());
        assertTrue(more.err().contains("ends after " + SIZE + " bytes, and " + (SIZE + 4096)), more::toString);

        Path plot = folder.resolve("plot.svg");
        Run reads = Run.start(
                "nvme",
                "bench",
                host,
                "-p",
                port,
                "--depth",
                "4",
                "--count",
                "500",
                "--warmup",
                "20",
                "--plot",
                plot.toString());
        succeed(reads);
        assertTrue(reads.out().contains("read of 4 KiB, at random places, depth 4"), reads::toString);
        assertTrue(reads.out().contains("\n       500 "), reads::toString);
        assertTrue(
                Pattern.compile(
                                "processor time of a command: (- |[0-9.]+ usec of this process, [0-9.]+ usec of the whole)")
                        .matcher(reads.out())
                        .find(),
                reads::toString);
        assertTrue(Files.readString(plot).contains("</svg>"));
        assertArrayEquals(data, Files.readAllBytes(source));
        Run writes = Run.start(
                "nvme",
                "bench",
                host,
                "-p",
                port,
                "--operation",
                "write",
                "--block",
                "64KiB",
                "--sequential",
                "--count",
                Integer.toString(SIZE / 65536),
                "--warmup",
                "0",
                "--invalidate");
        succeed(writes);
        assertArrayEquals(new byte[SIZE], Files.readAllBytes(source));
        Run odd = Run.start("nvme", "bench", host, "-p", port, "--block", "5000");
        assertEquals(1, odd.join());
        assertTrue(odd.err().contains("--block must be a multiple of the block size, which is 4096"), odd::toString);

        first.interrupt();
        second.interrupt();
        assertEquals(130, first.join(), first::toString);
        assertEquals(130, second.join(), second::toString);
    }

    /** The port is part of the address, as people write it. */
    @Test
    void shouldServeOverIpv6() throws Exception {
        byte[] data = FillPattern.bytes(SIZE, 8);
        Path disk = Files.write(folder.resolve("disk.img"), new byte[SIZE]);
        Path source = Files.write(folder.resolve("data"), data);
        Path copy = folder.resolve("copy");
        String address = Ipv6.ofSecondHost();
        String port = Lab.portText();
        String target = "[" + address + "]:" + port;
        Run server = Run.start("nvme", "serve", target, "--file", disk.toString());
        server.await("until Ctrl-C");

        // Without the name of the interface, which another machine does not know.
        String inLog = InetAddress.getByName(address).getHostAddress().replaceFirst("%.*", "");
        Run discover = Run.start("nvme", "discover", target, "-I", address);
        succeed(discover);
        assertTrue(
                discover.out().contains("subsystem  rdma  " + inLog + " port " + port + "  nqn.2026-01.org.rdmapanama"),
                discover::toString);
        InetAddress local = InetAddress.getByName(address);
        List<DiscoveryEntry> entries = NvmeDiscovery.discover(
                new InetSocketAddress(local, Integer.parseInt(port)), new NvmeOptions().localAddress(local));
        assertEquals(2, entries.size());
        for (DiscoveryEntry each : entries) {
            assertEquals(2, each.family(), each::toString);
            assertEquals(inLog, each.address());
        }

        succeed(Run.start("nvme", "write", target, source.toString(), "-I", address));
        assertArrayEquals(data, Files.readAllBytes(disk));
        succeed(Run.start("nvme", "read", target, copy.toString(), "-I", address));
        assertArrayEquals(data, Files.readAllBytes(copy));
        Run separate = Run.start("nvme", "info", address, "-p", port, "-I", address);
        succeed(separate);
        assertTrue(separate.out().contains("3 MiB, 768 blocks of 4096 bytes"), separate::toString);

        server.interrupt();
        assertEquals(130, server.join(), server::toString);
    }
}
