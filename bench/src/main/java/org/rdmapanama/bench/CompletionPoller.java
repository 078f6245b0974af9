package org.rdmapanama.bench;

import java.nio.ByteBuffer;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.ffm.verbs.ibv_wc;

/** Polls until all posted work requests have completed, and reads the status and identifier of each. */
final class CompletionPoller {
    private static final int STATUS = (int) ibv_wc.status$offset();
    private static final int ID = (int) ibv_wc.wr_id$offset();
    private static final int SIZE = (int) ibv_wc.sizeof();

    private CompletionPoller() {}

    /** Polls through the object model, and returns the sum of the identifiers. */
    static long take(CompletionQueue queue, WorkCompletions completions, int expected) {
        long sum = 0;
        for (int seen = 0; seen < expected; ) {
            int count = queue.poll(completions);
            for (int i = 0; i < count; i++) {
                if (!completions.succeeded(i)) {
                    throw new IllegalStateException(completions.describe(i));
                }
                sum += completions.id(i);
            }
            seen += count;
        }
        return sum;
    }

    /** The same through JNI, which writes the completions to the address of the buffer. */
    static long takeByJni(long queue, long address, ByteBuffer completions, int expected) {
        long sum = 0;
        for (int seen = 0; seen < expected; ) {
            int count = JniVerbs.pollCq(queue, expected, address);
            if (count < 0) {
                throw new IllegalStateException("polling failed");
            }
            for (int i = 0; i < count; i++) {
                if (completions.getInt(i * SIZE + STATUS) != 0) {
                    throw new IllegalStateException("failed");
                }
                sum += completions.getLong(i * SIZE + ID);
            }
            seen += count;
        }
        return sum;
    }
}
