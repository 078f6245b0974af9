package org.rdmapanama.samples;

import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.Context;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;

/** The two ends of a test: both ports of the lab, between which packets cross a wire, or one device for both. */
public final class Side {
    public static final String FIRST = device("rxe0");
    public static final String SECOND = device("rxe1");

    /** Their addresses; outside the lab both are the loopback address. */
    public static final String FIRST_ADDRESS = isInLab() ? "10.77.0.1" : "127.0.0.1";

    public static final String SECOND_ADDRESS = isInLab() ? "10.77.0.2" : "127.0.0.1";

    private static final AtomicInteger NEXT_PORT = new AtomicInteger(21_000);

    private Side() {}

    private static String device(String inTheLab) {
        return isInLab() ? inTheLab : System.getenv("RDMA_DEVICE");
    }

    /** Whether the devices are those of the lab, and not one named by RDMA_DEVICE. */
    public static boolean isInLab() {
        String named = System.getenv("RDMA_DEVICE");
        return named == null || named.isBlank();
    }

    /** Returns a TCP port that no other test uses. */
    public static String port() {
        return Integer.toString(NEXT_PORT.getAndIncrement());
    }

    /** Returns the GID index, which C programs must be told, while ours choose it themselves. */
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
