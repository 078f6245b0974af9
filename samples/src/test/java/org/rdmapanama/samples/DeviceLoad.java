package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;

/**
 * Random reads and writes of a part of a block device of the kernel, one after the other, with a copy of what must be there.
 * Every read is compared with the copy.
 */
final class DeviceLoad {
    /** Of reads and writes, in bytes. */
    private static final int UNIT = 4096;

    private static final int MOST = 16;

    private final Path device;
    private final long offset;
    private final Random random;

    /** What must be in the part. */
    private final byte[] copy;

    private volatile long done;
    private volatile boolean stopped;

    /** The part is a multiple of 4096 bytes, whose contents this reads. */
    DeviceLoad(Path device, long offset, int size, long seed) throws IOException {
        this.device = device;
        this.offset = offset;
        random = new Random(seed);
        copy = KernelTarget.read(device, offset, size);
    }

    /** How many reads and writes have ended. */
    long done() {
        return done;
    }

    /** What must be in the part; if the device has failed, it may lack the last write. */
    byte[] copy() {
        return copy;
    }

    /** Ends {@link #run} soon. */
    void stop() {
        stopped = true;
    }

    /**
     * Reads and writes until it is stopped.
     *
     * @return false if the device has failed
     */
    boolean run() {
        for (long ended = 1; !stopped; ended++) {
            int count = 1 + random.nextInt(Math.min(MOST, copy.length / UNIT));
            int at = random.nextInt(copy.length / UNIT - count + 1) * UNIT;
            try {
                if (random.nextBoolean()) {
                    byte[] data = new byte[count * UNIT];
                    random.nextBytes(data);
                    KernelTarget.write(device, offset + at, data);
                    System.arraycopy(data, 0, copy, at, data.length);
                } else {
                    byte[] read = KernelTarget.read(device, offset + at, count * UNIT);
                    assertArrayEquals(Arrays.copyOfRange(copy, at, at + read.length), read);
                }
            } catch (IOException gone) {
                return false;
            }
            done = ended;
        }
        return true;
    }

    @Override
    public String toString() {
        return done + " reads and writes of " + device;
    }
}
