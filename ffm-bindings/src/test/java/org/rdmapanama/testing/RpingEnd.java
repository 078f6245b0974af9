package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.rdmapanama.ffm.Program;

/** How the C program rping ends. */
public final class RpingEnd {
    /**
     * The main thread of rping destroys the event channel at its end, and another thread reads from it: when that one is late,
     * it finds the channel closed, and ends the process with this message and status before the main thread returns 0.
     */
    private static final String READER_IS_LATE = "rdma_get_cm_event: Bad file descriptor";

    private static final int STATUS_OF_READER = 255;

    private RpingEnd() {}

    /** Waits until rping has done all that it was asked for. */
    public static void assertSucceeds(Program rping) throws InterruptedException {
        int status = rping.join();
        boolean readerIsLate = status == STATUS_OF_READER
                && rping.output().lines().toList().getLast().equals(READER_IS_LATE);
        assertTrue(status == 0 || readerIsLate, () -> "status " + status + " of " + rping);
    }
}
