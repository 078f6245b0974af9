package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.device.NodeType;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.nvme.NvmeBacking;
import org.rdmapanama.nvme.NvmeController;
import org.rdmapanama.nvme.NvmeOptions;
import org.rdmapanama.nvme.NvmeTarget;
import org.rdmapanama.nvme.NvmeTargetOptions;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.RpingEnd;

/** The lab's two Software iWARP devices: they are listed after the two of Soft-RoCE, and they move data. */
@Tag("lab")
@NeedsKernelDevice("librdmacm")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoftwareIwarpLabTest {
    private static final int PINGS = 10;

    @BeforeEach
    void needTheLab() {
        assumeTrue(Lab.FIRST_DEVICE.equals("rxe0"), () -> Lab.FIRST_DEVICE + " is not a device of the lab");
    }

    @Test
    void shouldComeBehindSoftRoce() {
        List<String> names = DeviceList.query().stream()
                .map(Device::name)
                .filter(name -> name.matches("(rxe|siw)[01]"))
                .toList();
        assertEquals(List.of("rxe0", "rxe1", "siw0", "siw1"), names);
        assertEquals("rxe0", DeviceList.query().preferred().name());
    }

    @Test
    void shouldBeIwarp() {
        for (String name : List.of("siw0", "siw1")) {
            Device device = DeviceList.query().byName(name);
            assertEquals(NodeType.RNIC, device.nodeType());
            assertEquals(TransportType.IWARP, device.transportType());
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Context context = Context.open(arena, device);
                assertEquals("siw", context.driverName());
                assertEquals(device.guid(), context.queryDevice().nodeGuid());
            }
        }
    }

    @Test
    void shouldPingOverTheWire() throws Exception {
        shouldPing("10.78.0.1", "veth2", "10.78.0.2", "veth3");
        shouldPing("10.78.0.2", "veth3", "10.78.0.1", "veth2");
    }

    @Test
    void shouldNotLendMemoryByWindows() throws Exception {
        String name = "nqn.2026-01.org.rdmapanama:iwarp";
        NvmeTargetOptions served = new NvmeTargetOptions(name).namespace(1, 512, NvmeBacking.ofMemory(1 << 20));
        InetSocketAddress address = new InetSocketAddress("10.78.0.2", Lab.port());
        NvmeOptions options = new NvmeOptions()
                .subsystem(name)
                .localAddress(InetAddress.getByName("10.78.0.1"))
                .remoteInvalidation(true);
        try (NvmeTarget target = NvmeTarget.serve(address, served)) {
            IllegalStateException e = assertThrows(
                    IllegalStateException.class,
                    () -> NvmeController.connect(target.address(), options).close());
            assertTrue(
                    e.getMessage().startsWith("the device siw0 has no memory windows of type 2, which NvmeOptions."),
                    e::getMessage);
        }
    }

    /** The client has its data read and written back by the server, and checks it (-V). */
    private static void shouldPing(String from, String fromInterface, String to, String toInterface) throws Exception {
        String port = Lab.portText();
        String count = Integer.toString(PINGS);
        long sent = sentBytes(fromInterface);
        long answered = sentBytes(toInterface);
        try (Program server = Program.start("rping", "-s", "-a", to, "-p", port, "-C", count, "-S", "4096")) {
            awaitListener(to + ":" + port, server);
            try (Program client = Program.start(
                    "rping", "-c", "-a", to, "-I", from, "-p", port, "-C", count, "-S", "4096", "-v", "-V")) {
                RpingEnd.assertSucceeds(client);
                long pings = client.output()
                        .lines()
                        .filter(line -> line.startsWith("ping data: rdma-ping-"))
                        .count();
                assertEquals(PINGS, pings, client::toString);
            }
            RpingEnd.assertSucceeds(server);
        }
        assertTrue(sentBytes(fromInterface) - sent > PINGS * 4096L, "the pings did not cross the wire");
        assertTrue(sentBytes(toInterface) - answered > PINGS * 4096L, "the answers did not cross the wire");
    }

    /** Waits until the server listens in the kernel's connection manager, because C clients do not retry. */
    private static void awaitListener(String address, Program server) throws Exception {
        for (int tries = 0; tries < 300; tries++) {
            if (Program.run("rdma", "resource", "show", "cm_id").contains("src-addr " + address + " ")) {
                return;
            }
            Thread.sleep(50);
        }
        throw new AssertionError("never listened on " + address + ": " + server);
    }

    private static long sentBytes(String networkInterface) throws IOException {
        return Long.parseLong(Files.readString(Path.of("/sys/class/net", networkInterface, "statistics", "tx_bytes"))
                .strip());
    }
}
