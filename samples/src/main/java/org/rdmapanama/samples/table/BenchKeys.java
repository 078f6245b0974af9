package org.rdmapanama.samples.table;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.ThreadLocalRandom;

/** The keys that are measured. */
final class BenchKeys {
    /** The length of a key. */
    static final int BYTES = 16;

    private final byte[][] keys;
    private final int valueBytes;

    BenchKeys(int count, int valueBytes) {
        keys = new byte[count][];
        for (int i = 0; i < count; i++) {
            keys[i] = String.format(Locale.ROOT, "bench-%010d", i).getBytes(StandardCharsets.US_ASCII);
        }
        this.valueBytes = valueBytes;
    }

    int valueBytes() {
        return valueBytes;
    }

    byte[] any() {
        return keys[ThreadLocalRandom.current().nextInt(keys.length)];
    }

    byte[] newValue() {
        byte[] value = new byte[valueBytes];
        ThreadLocalRandom.current().nextBytes(value);
        return value;
    }

    void putAll(TableClient table) throws InterruptedException {
        for (byte[] key : keys) {
            table.put(key, newValue());
        }
    }
}
