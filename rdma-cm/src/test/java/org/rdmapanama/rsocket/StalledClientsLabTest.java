package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.cm.CmEventType;
import org.rdmapanama.cm.NativeMemory;
import org.rdmapanama.cm.StalledClients;
import org.rdmapanama.ffm.Descriptors;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** Clients that stop in the middle of connecting, or are none, hold up no other client of a server, and leave nothing. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StalledClientsLabTest {
    private static final int HALF_OPEN = Lab.isInLab() ? 80 : 800;

    /** Their private data is not that of an rsocket. */
    private static final int STRANGERS = HALF_OPEN / 4;

    /** They come in parts, because on a slow machine the first ones are over, after ten seconds, before all are there. */
    private static final int PART = HALF_OPEN / 8;

    private static final long SOON_NANOS = 5_000_000_000L;

    private static final int MEASURED = 21;
    private static final int PIECE = 1000;

    /** The buffer of one client. */
    private static final long BUFFER = StreamSizes.DEFAULT.receiveBytes();

    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = Lab.resources();
    }

    @AfterEach
    void assertNothingLeft() throws Exception {
        Lab.assertNothingLeft(before);
    }

    private static byte[] like(int number) {
        return new ConnectionData(false, 16, 0, new Offer(number, number, 2), new Offer(number, number, 4096))
                .toBytes();
    }

    private static byte[] unlike(Random random) {
        byte[] bytes = new byte[ConnectionData.BYTES];
        random.nextBytes(bytes);
        bytes[0] = 99;
        return bytes;
    }

    /** Connects, sends both ways and closes. Returns how many microseconds connecting took. */
    private static long connect(RServerSocketChannel server) throws Exception {
        long start = System.nanoTime();
        try (RSocketChannel client = RSocketChannel.open()) {
            Channels.Pair.connect(server, client);
            long micros = (System.nanoTime() - start) / 1000;
            try (RSocketChannel accepted = server.accept()) {
                Channels.writeFully(client, ByteBuffer.allocate(PIECE));
                Channels.readFully(accepted, ByteBuffer.allocate(PIECE));
                Channels.writeFully(accepted, ByteBuffer.allocate(PIECE));
                Channels.readFully(client, ByteBuffer.allocate(PIECE));
            }
            return micros;
        }
    }

    private static double median(RServerSocketChannel server) throws Exception {
        long[] micros = new long[MEASURED];
        for (int i = 0; i < MEASURED; i++) {
            micros[i] = connect(server);
        }
        Arrays.sort(micros);
        return micros[MEASURED / 2];
    }

    /** But for those with which waiting threads are woken up: they are kept, as many as threads have waited at a time. */
    private static List<String> descriptors() {
        return Descriptors.open().stream()
                .filter(open -> !open.endsWith("anon_inode:[eventfd]"))
                .toList();
    }

    /** In a process of its own, because it looks at the memory of the process. */
    @Test
    void shouldAcceptBesideThem() throws Exception {
        try (Program alone = Program.javaWith(List.of(NativeMemory.OPTION), Alone.class)) {
            alone.assertSucceeds();
            System.out.print(alone.output());
        }
    }

    /** Connects beside them. */
    static final class Alone {
        private Alone() {}

        public static void main(String[] arguments) throws Exception {
            acceptBesideThem();
        }
    }

    /** Returns how much memory is used once no more is freed for a second: connections that were closed end in the background. */
    private static long settledMemory() throws Exception {
        Bound bound = Bound.of(Lab.PATIENCE);
        long least = NativeMemory.used();
        for (int looks = 0; looks < 10; looks++) {
            Thread.sleep(100);
            long now = NativeMemory.used();
            if (now <= least - BUFFER) {
                bound.check(() -> "memory is freed again and again");
                looks = 0;
            }
            least = Math.min(least, now);
        }
        return least;
    }

    private static void acceptBesideThem() throws Exception {
        Random random = new Random(1);
        try (RServerSocketChannel server = RServerSocketChannel.open().bind(Lab.freeAddress(Lab.SECOND_HOST), 50)) {
            double usual = median(server);
            List<String> descriptors = descriptors();
            long memory = settledMemory();
            long during;
            int halfOpen = 0;
            List<StalledClients> parts = new ArrayList<>();
            try {
                for (long start = System.nanoTime();
                        halfOpen < HALF_OPEN && System.nanoTime() - start < SOON_NANOS;
                        halfOpen += PART) {
                    StalledClients part = new StalledClients();
                    parts.add(part);
                    part.add(PART, server.localAddress(), StalledClientsLabTest::like);
                    part.await(CmEventType.CONNECT_RESPONSE, PART);
                }
                during = NativeMemory.used();
                try (StalledClients strangers = new StalledClients()) {
                    strangers.add(STRANGERS, server.localAddress(), i -> unlike(random));
                    double beside = median(server);
                    strangers.await(CmEventType.REJECTED, STRANGERS);
                    System.out.printf(
                            Locale.ROOT,
                            "beside %d half-open clients and %d strangers a client connects in %.0f us, usually in %.0f us%n",
                            halfOpen,
                            STRANGERS,
                            beside,
                            usual);
                }
            } finally {
                parts.forEach(StalledClients::close);
            }
            Bound.of(Lab.PATIENCE)
                    .await(
                            () -> "descriptors are left: before " + descriptors + ", now " + descriptors(),
                            () -> descriptors().size() <= descriptors.size());
            // Compared with what is left, because connections from before may have been freed late.
            long buffers = (halfOpen - 2) * BUFFER;
            long[] freed = new long[1];
            Bound.of(Lab.PATIENCE)
                    .await(
                            () -> "each had a buffer, " + buffers + " bytes, but " + freed[0] + " bytes were freed",
                            () -> {
                                freed[0] = during - NativeMemory.used();
                                return freed[0] >= buffers;
                            });
            // Nothing waits for the garbage collector.
            Bound bound = Bound.of(Lab.PATIENCE);
            long left = NativeMemory.used() - memory;
            while (left >= BUFFER) {
                long now = left;
                bound.check(() -> now + " bytes of memory are left, of " + BUFFER + " for each client");
                Thread.sleep(100);
                left = NativeMemory.used() - memory;
            }
            assertTrue(connect(server) > 0);
        }
    }
}
