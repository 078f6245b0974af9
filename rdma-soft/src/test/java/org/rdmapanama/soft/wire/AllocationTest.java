package org.rdmapanama.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is done for each packet makes no garbage. */
class AllocationTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int ROUND = 5_000;
    private static final int MAX_WARM_UP_ROUNDS = 100;
    private static final int LENGTH = 1000;
    private static final SocketAddress TO = new InetSocketAddress("10.77.0.2", UdpFlow.ROCE_PORT);

    private final UdpFlow[] flows = {
        GoldenPacketsTest.find(Opcode.RC_SEND_ONLY, false).flow(),
        GoldenPacketsTest.find(Opcode.RC_RDMA_WRITE_ONLY, true).flow()
    };
    private final InvariantCrc crc = new InvariantCrc();
    private final ByteBuffer packet = ByteBuffer.allocateDirect(LENGTH);
    private final long address = Packets.address(packet);
    private int count;

    private static void assertAllocatesNothing(BooleanSupplier action) {
        long allocated = Long.MAX_VALUE;
        for (int round = 0; allocated >= ROUND && round < MAX_WARM_UP_ROUNDS; round++) {
            int successes = 0;
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < ROUND; i++) {
                successes += action.getAsBoolean() ? 1 : 0;
            }
            allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
            assertEquals(ROUND, successes);
        }
        long bytes = allocated;
        assertTrue(bytes < ROUND, () -> ROUND + " packets allocated " + bytes + " bytes");
    }

    @Test
    void shouldMakeAndCheckPackets() {
        assertAllocatesNothing(() -> {
            UdpFlow flow = flows[count++ & 1];
            Bth.write(address, Opcode.RC_RDMA_WRITE_ONLY, true, 0, Bth.DEFAULT_PKEY, 17, true, count);
            Reth.write(address + Reth.OFFSET, address, 1, LENGTH - 32);
            int length = crc.append(flow, packet, LENGTH - InvariantCrc.BYTES);
            return crc.isValid(flow, packet, length) && Bth.psn(address) == (count & Bth.MASK_24);
        });
    }

    @Test
    void shouldFindIdentifications() {
        ByteBuffer golden = Packets.direct(
                GoldenPacketsTest.find(Opcode.RC_SEND_ONLY, false).roce());
        assertAllocatesNothing(() -> crc.isValid(flows[0], golden, golden.limit()));
    }

    @Test
    void shouldCapture(@TempDir Path folder) throws IOException {
        try (Capture capture = Capture.open(folder.resolve("all.pcap"))) {
            assertAllocatesNothing(() -> {
                capture.write(flows[count++ & 1], count, packet, 0, LENGTH);
                return true;
            });
        }
    }

    @Test
    void shouldDisturbThem() {
        Faults faults = new Faults(0.2, 0.2, 0.2, 0.2, 0.1, 1);
        FaultySender sender = new FaultySender(faults, LENGTH, System::nanoTime, (sent, localIndex, to) -> {
            sent.position(sent.limit());
            return true;
        });
        assertAllocatesNothing(() -> {
            sender.flush(System.nanoTime());
            return sender.send(packet.clear(), 0, TO) || sender.refused() > 0;
        });
    }
}
