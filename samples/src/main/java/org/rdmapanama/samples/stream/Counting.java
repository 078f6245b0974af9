package org.rdmapanama.samples.stream;

import java.nio.ByteBuffer;
import org.rdmapanama.samples.Failure;

/** The data that rstream verifies: bytes that count up in each direction, over all tests. */
final class Counting {
    private byte nextSent;
    private byte nextReceived;
    private long received;

    void fill(ByteBuffer buffer, int size) {
        for (int i = 0; i < size; i++) {
            buffer.put(i, nextSent++);
        }
    }

    void verify(ByteBuffer buffer, int size) {
        for (int i = 0; i < size; i++) {
            byte actual = buffer.get(i);
            if (actual != nextReceived) {
                throw new Failure("data verification failed: byte " + received + " is " + Byte.toUnsignedInt(actual)
                        + " and should be " + Byte.toUnsignedInt(nextReceived)
                        + "; was the peer started with '-T verify', too?");
            }
            nextReceived++;
            received++;
        }
    }
}
