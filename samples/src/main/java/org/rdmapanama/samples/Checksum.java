package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;

/** CRC32C of memory of any size, computed in pieces, so that heartbeats go on during a long computation. */
public final class Checksum {
    private static final long PIECE = 1 << 20;

    /** How many milliseconds longer each piece takes: with it, tests have a side that is busy. */
    static volatile int extraMillis;

    private Checksum() {}

    /** Runs between two pieces. */
    @FunctionalInterface
    public interface Pause {
        /**
         * Does other work, such as heartbeats.
         *
         * @throws IOException if the peer is gone
         * @throws InterruptedException if the thread is interrupted
         */
        void take() throws IOException, InterruptedException;
    }

    static int of(MemorySegment memory, Pause pause) throws IOException, InterruptedException {
        CRC32C crc = new CRC32C();
        long size = memory.byteSize();
        for (long offset = 0; offset < size; offset += PIECE) {
            crc.update(memory.asSlice(offset, Math.min(PIECE, size - offset)).asByteBuffer());
            if (extraMillis > 0) {
                Thread.sleep(extraMillis);
            }
            pause.take();
        }
        return (int) crc.getValue();
    }

    static String format(int checksum) {
        return "0x%08x".formatted(checksum);
    }
}
