package com.example.trial;

import com.example.KeyValueClient;
import java.io.IOException;
import java.util.Optional;
import java.util.Random;

/** Writes keys of its own, reads them and those of others, and checks what it reads. One thread at a time. */
final class Worker {
    /** How many keys each worker has. */
    static final int KEYS = 20;

    private final String name;
    private final Totals totals;
    private final Random random;
    private final long[] acknowledged = new long[KEYS];
    private final long[] attempted = new long[KEYS];

    Worker(String name, Totals totals) {
        this.name = name;
        this.totals = totals;
        random = new Random(name.hashCode());
    }

    /** Makes some requests. */
    void use(KeyValueClient client, int requests) throws IOException, InterruptedException {
        for (int i = 0; i < requests; i++) {
            int number = random.nextInt(KEYS);
            switch (random.nextInt(4)) {
                case 0 -> read(client, "churn-0-0/" + number, 0, Long.MAX_VALUE);
                case 1, 2 -> readOwn(client, number);
                default -> write(client, number);
            }
            totals.add("requests", 1);
        }
    }

    private void write(KeyValueClient client, int number) throws IOException, InterruptedException {
        String key = name + "/" + number;
        attempted[number]++;
        client.put(key, Values.of(key, attempted[number]));
        acknowledged[number] = attempted[number];
    }

    private void readOwn(KeyValueClient client, int number) throws IOException, InterruptedException {
        boolean found = read(client, name + "/" + number, acknowledged[number], attempted[number]);
        if (!found && acknowledged[number] > 0) {
            // The store was lost meanwhile, with the server's process or its arena.
            totals.add("forgotten", 1);
            acknowledged[number] = 0;
        }
    }

    /** Reads a value, which must be one of these versions. Returns false if there is none. */
    private boolean read(KeyValueClient client, String key, long least, long most)
            throws IOException, InterruptedException {
        Optional<byte[]> value = client.get(key);
        if (value.isEmpty()) {
            return false;
        }
        totals.add("values", 1);
        long version = Values.version(key, value.get());
        if (version < Math.max(least, 1) || version > most) {
            totals.add("wrong", 1);
            System.err.printf("%s: version %d, not %d to %d%n", key, version, least, most);
        }
        return true;
    }
}
