package org.rdmapanama.samples;

import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.Context;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;

/** The two ends of a test: both ports of the lab, between which packets cross a wire, or one device for both. */
public final class Side {
    public static final String FIRST = device("rxe0");
    public static final String SECOND = device("rxe1");

    private static final AtomicInteger NEXT_PORT = new AtomicInteger(21_000);

    private Side() {}

    private static String device(String inTheLab) {
        String named = System.getenv("RDMA_DEVICE");
        return named == null || named.isBlank() ? inTheLab : named;
    }

    /** A TCP port for one test. */
    public static String port() {
        return Integer.toString(NEXT_PORT.getAndIncrement());
    }

    /** The GID index that C programs must be told and ours choose by themselves. */
    public static String gidIndex(String device) {
        String given = System.getenv("RDMA_GID_INDEX");
        if (given != null && !given.isBlank()) {
            return given;
        }
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, DeviceList.query().byName(device));
            return context.preferredGid(1)
                    .map(entry -> Integer.toString(entry.index()))
                    .orElse("0");
        }
    }
}
