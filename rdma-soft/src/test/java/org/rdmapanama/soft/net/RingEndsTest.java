package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.SplittableRandom;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/** A ring in the memory of this process: to its ends it makes no difference. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RingEndsTest {
    private static final int BYTES = 1 << 18;
    private static final int SHORTEST = 12;
    private static final int RECORDS = Integer.getInteger("ring.records", 1_000_000);

    private final NativeBlock block = new NativeBlock(BYTES + 64);
    private final NativeBlock copy = new NativeBlock(RingReader.MOST_BYTES);
    private final long tail = block.address() + BYTES;
    private final RingWriter writer = new RingWriter(block.address(), BYTES, tail);
    private final RingReader reader = new RingReader(block.address(), BYTES, tail);

    @AfterEach
    void free() {
        block.free();
        copy.free();
    }

    /** Writes a packet whose bytes depend on its number. Returns false if there is no room. */
    private boolean write(int number, int bytes) {
        long packet = writer.begin();
        if (packet == 0) {
            return false;
        }
        for (int i = 0; i < bytes; i += Integer.BYTES) {
            Memory.putInt(packet + i, number * 31 + i);
        }
        writer.send(bytes);
        return true;
    }

    /** Takes a packet, which must be that one. Returns false if there is none. */
    private boolean read(int number, int bytes) {
        int taken = reader.take(copy.address());
        if (taken == 0) {
            return false;
        }
        assertEquals(bytes, taken);
        for (int i = 0; i < bytes; i += Integer.BYTES) {
            if (Memory.getInt(copy.address() + i) != number * 31 + i) {
                assertEquals(number * 31 + i, Memory.getInt(copy.address() + i), "packet " + number + ", byte " + i);
            }
        }
        return true;
    }

    /** All sizes, so that a packet of each is where the ring ends. */
    @Test
    void shouldKeepPacketsOfAllSizes() {
        int number = 0;
        for (int bytes = SHORTEST; bytes <= RingReader.MOST_BYTES; bytes += 4) {
            for (int i = 0; i < 20; i++) {
                assertFalse(reader.hasNext());
                assertTrue(write(number, bytes));
                assertTrue(reader.hasNext());
                assertTrue(read(number++, bytes));
                assertFalse(read(0, 0));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {SHORTEST, 56, 60, 1040, 4096, RingReader.MOST_BYTES})
    void shouldSayThatItIsFull(int bytes) {
        int written = 0;
        int taken = 0;
        for (int round = 0; round < 50; round++) {
            while (write(written, bytes)) {
                written++;
            }
            int held = (written - taken) * RingReader.recordBytes(bytes);
            assertTrue(held <= BYTES, () -> held + " bytes");
            assertTrue(held >= BYTES - 3 * RingReader.MOST_RECORD_BYTES, () -> held + " bytes");
            for (int i = 0; i <= round % 4; i++) {
                assertTrue(read(taken++, bytes));
            }
        }
        while (taken < written) {
            assertTrue(read(taken++, bytes));
        }
        assertFalse(read(0, 0));
        assertEquals(writer.head(), writer.tail());
    }

    private static int size(SplittableRandom random) {
        return SHORTEST + 4 * random.nextInt(random.nextInt(4) == 0 ? (RingReader.MOST_BYTES - SHORTEST) / 4 + 1 : 20);
    }

    @Test
    void shouldCarryAMillionPacketsBetweenThreads() throws Exception {
        FutureTask<Void> writing = new FutureTask<>(() -> {
            SplittableRandom sizes = new SplittableRandom(7);
            for (int i = 0; i < RECORDS; i++) {
                int bytes = size(sizes);
                while (!write(i, bytes)) {
                    LockSupport.parkNanos(1000);
                }
            }
            return null;
        });
        new Thread(writing, "writer").start();
        SplittableRandom sizes = new SplittableRandom(7);
        for (int i = 0; i < RECORDS; i++) {
            int bytes = size(sizes);
            while (!read(i, bytes)) {
                LockSupport.parkNanos(1000);
            }
        }
        writing.get(10, TimeUnit.SECONDS);
        assertFalse(reader.hasNext());
    }

    @Test
    void shouldAllocateNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        turn(100_000);
        long before = threads.getCurrentThreadAllocatedBytes();
        turn(100_000);
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertTrue(allocated < 10_000, () -> allocated + " bytes");
    }

    private void turn(int count) {
        for (int i = 0; i < count; i++) {
            long packet = writer.begin();
            Memory.putInt(packet, i);
            writer.send(64);
            assertTrue(reader.take(copy.address()) == 64);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 11, RingReader.MOST_BYTES + 1, -2, Integer.MIN_VALUE, Integer.MAX_VALUE, RingReader.SKIP})
    void shouldRefuseAWrongLength(int length) {
        Memory.putInt(block.address(), length);
        assertEquals(RingReader.BROKEN, reader.take(copy.address()));
    }

    /** A packet that goes beyond the end of the ring, and a second place to go on from. */
    @Test
    void shouldRefuseAPacketThatDoesNotFit() {
        int count = BYTES / RingReader.LINE - 1;
        for (int i = 0; i < count; i++) {
            Memory.putInt(block.address() + (long) i * RingReader.LINE, SHORTEST);
            assertEquals(SHORTEST, reader.take(copy.address()));
        }
        Memory.putInt(block.address() + BYTES - RingReader.LINE, RingReader.LINE);
        assertEquals(RingReader.BROKEN, reader.take(copy.address()));
        Memory.putInt(block.address() + BYTES - RingReader.LINE, RingReader.SKIP);
        Memory.putInt(block.address(), RingReader.SKIP);
        assertEquals(RingReader.BROKEN, reader.take(copy.address()));
    }

    @ParameterizedTest
    @ValueSource(longs = {-64, 64, 1, Long.MIN_VALUE, Long.MAX_VALUE - 63, 1L << 32})
    void shouldRefuseAReaderThatIsWhereItCannotBe(long position) {
        while (write(0, 4096)) {
            // Until it is full, so that it looks where the reader is.
        }
        Memory.putLong(tail, position == 64 ? writer.head() + 64 : position);
        assertEquals(RingWriter.BROKEN, writer.begin());
    }

    /** Any bytes, everywhere and at any time: each end reads and writes where it may, and nowhere else. */
    @Test
    void shouldStandRandomBytes() {
        SplittableRandom random = new SplittableRandom(20261123);
        NativeBlock all = new NativeBlock(3L * BYTES);
        long ring = all.address() + BYTES;
        int broken = 0;
        int moved = 0;
        for (int round = 0; round < 2000; round++) {
            Memory.zero(ring, BYTES + 64);
            RingWriter in = new RingWriter(ring, BYTES, ring + BYTES);
            RingReader out = new RingReader(ring, BYTES, ring + BYTES);
            for (int i = 0; i < 500; i++) {
                if (random.nextInt(8) == 0) {
                    int value = random.nextInt(4) == 0 ? random.nextInt() : random.nextInt(-2, 5000);
                    Memory.putInt(ring + random.nextInt(BYTES / 4) * 4L, value);
                    Memory.putInt(ring + random.nextInt(BYTES / 64) * 64L, value);
                    Memory.putInt(ring + (random.nextInt(8) == 0 ? BYTES : random.nextInt(BYTES / 4) * 4L), value);
                }
                long packet = in.begin();
                if (packet == RingWriter.BROKEN) {
                    broken++;
                    break;
                }
                if (packet != 0) {
                    assertTrue(packet >= ring && packet + RingReader.MOST_BYTES <= ring + BYTES);
                    in.send(size(random));
                }
                // Mostly there are some packets in the ring.
                int taken = random.nextInt(3) == 0 ? 0 : out.take(copy.address());
                assertTrue(taken >= -1 && taken <= RingReader.MOST_BYTES);
                if (taken == RingReader.BROKEN) {
                    broken++;
                    break;
                }
                moved += taken > 0 ? 1 : 0;
            }
        }
        for (long at = 0; at < BYTES; at += Long.BYTES) {
            assertEquals(0, Memory.getLong(all.address() + at));
            assertTrue(at < 64 || Memory.getLong(ring + BYTES + at) == 0);
        }
        assertTrue(broken > 1000, "ended " + broken);
        assertTrue(moved > 10_000, "moved " + moved);
        all.free();
    }
}
