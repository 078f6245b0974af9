package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SeekableByteChannel;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A namespace as a channel, and discovery. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ChannelLabTest {
    @Test
    void shouldReadAndWriteAnyBytes() throws Exception {
        int size = 1 << 20;
        byte[] model = new byte[size];
        NvmeBacking backing = NvmeBacking.ofMemory(size);
        try (Disk disk = new Disk(backing, 4096);
                NvmeController controller = disk.connect();
                SeekableByteChannel channel = controller.namespaces().getFirst().channel()) {
            assertEquals(size, channel.size());
            Random random = new Random(11);
            for (int i = 0; i < 200; i++) {
                int count = random.nextInt(i % 10 == 0 ? 300_000 : 10_000);
                int at = random.nextInt(size - count);
                channel.position(at);
                ByteBuffer bytes = i % 2 == 0 ? ByteBuffer.allocate(count) : ByteBuffer.allocateDirect(count);
                if (random.nextBoolean()) {
                    byte[] data = new byte[count];
                    random.nextBytes(data);
                    bytes.put(data).flip();
                    assertEquals(count, channel.write(bytes));
                    System.arraycopy(data, 0, model, at, count);
                } else {
                    assertEquals(count, channel.read(bytes));
                    byte[] data = new byte[count];
                    bytes.flip().get(data);
                    assertArrayEquals(java.util.Arrays.copyOfRange(model, at, at + count), data);
                }
                assertEquals(at + count, channel.position());
            }
            channel.position(size - 10);
            assertEquals(10, channel.read(ByteBuffer.allocate(100)));
            assertEquals(-1, channel.read(ByteBuffer.allocate(100)));
            channel.position(size - 10);
            assertEquals(10, channel.write(ByteBuffer.allocate(100)));
            assertThrows(IOException.class, () -> channel.write(ByteBuffer.allocate(100)));
            assertThrows(IOException.class, () -> channel.truncate(5));
        }
    }

    @Test
    void shouldRefuseUseOnceClosed() throws Exception {
        try (Disk disk = Disk.ofMemory(16);
                NvmeController controller = disk.connect()) {
            SeekableByteChannel channel = controller.namespaces().getFirst().channel();
            channel.close();
            channel.close();
            assertThrows(ClosedChannelException.class, () -> channel.read(ByteBuffer.allocate(1)));
            assertThrows(ClosedChannelException.class, () -> channel.write(ByteBuffer.allocate(1)));
            assertThrows(ClosedChannelException.class, channel::position);
        }
    }

    @Test
    void shouldDiscoverSubsystems() throws Exception {
        try (Disk disk = Disk.ofMemory(16)) {
            InetSocketAddress address = disk.address();
            List<DiscoveryEntry> entries = NvmeDiscovery.discover(address, new NvmeOptions());
            assertEquals(2, entries.size());
            DiscoveryEntry found =
                    entries.stream().filter(DiscoveryEntry::isNvm).findFirst().orElseThrow();
            assertEquals(Disk.NAME, found.subsystem());
            assertEquals(1, found.transport());
            assertEquals(Optional.of(address), found.socketAddress());
            try (NvmeController controller = NvmeController.connect(
                    found.socketAddress().orElseThrow(), new NvmeOptions().subsystem(found.subsystem()))) {
                assertEquals(1, controller.namespaces().size());
            }
        }
    }

    @Test
    void shouldNotTrustAddressesOfDiscovery() {
        for (String address : new String[] {"localhost", "1.2.3", "", "1.2.3.4.5", "::zz", "10.0.0.999"}) {
            DiscoveryEntry entry = new DiscoveryEntry(1, 1, 2, 1, 0xffff, "nqn.x", address, "4420");
            assertEquals(Optional.empty(), entry.socketAddress(), address);
        }
        assertEquals(
                Optional.empty(), new DiscoveryEntry(1, 1, 2, 1, 0xffff, "nqn.x", "10.0.0.1", "99999").socketAddress());
        assertEquals(
                Optional.of(new InetSocketAddress("fd00::1", 4420)),
                new DiscoveryEntry(1, 2, 2, 1, 0xffff, "nqn.x", "fd00::1", "4420").socketAddress());
    }
}
