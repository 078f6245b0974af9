package org.rdmapanama.samples.parameters;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;
import org.rdmapanama.samples.calls.CallMessage;

/**
 * Where the weights are. A server tells it to its clients.
 *
 * @param address where the first one is
 * @param key the key to read them with
 * @param count how many there are
 * @param adding who adds
 */
record Place(long address, int key, int count, Adding adding) {
    static final int MAX_COUNT = 1 << 24;

    /** How many weights one message may add to. */
    static final int CHUNK = 500;

    static final int MESSAGE_BYTES = CallMessage.HEADER + CHUNK * Long.BYTES;

    /** RDPS. */
    private static final int MAGIC = 0x5350_4452;

    private static final int HELLO_BYTES = 4;
    private static final int BYTES = 24;

    static byte[] hello() {
        return buffer(HELLO_BYTES).array();
    }

    static boolean isHello(byte[] data) {
        return read(data, HELLO_BYTES).isPresent();
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(MAGIC);
    }

    private static Optional<ByteBuffer> read(byte[] data, int bytes) {
        if (data.length < bytes) {
            return Optional.empty();
        }
        ByteBuffer in = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
        return in.getInt() == MAGIC ? Optional.of(in) : Optional.empty();
    }

    byte[] bytes() {
        return buffer(BYTES)
                .putInt(count)
                .putLong(address)
                .putInt(key)
                .putInt(adding.ordinal())
                .array();
    }

    /** Reads what a server says, if that can be. */
    static Optional<Place> of(byte[] data) {
        return read(data, BYTES).flatMap(in -> {
            int count = in.getInt();
            long address = in.getLong();
            int key = in.getInt();
            int adding = in.getInt();
            boolean possible = count >= 1
                    && count <= MAX_COUNT
                    && adding >= 0
                    && adding < Adding.values().length
                    && address % Long.BYTES == 0
                    && Long.compareUnsigned(address, address + (long) count * Long.BYTES) < 0;
            return possible ? Optional.of(new Place(address, key, count, Adding.values()[adding])) : Optional.empty();
        });
    }
}
