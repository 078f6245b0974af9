package org.rdmapanama.soft;

import java.nio.file.Path;
import org.rdmapanama.soft.wire.Faults;
import org.rdmapanama.soft.wire.Flow;

/**
 * How the device is to be, by system properties, which are read when it is opened for the first time in a process:
 * {@code org.rdmapanama.soft.port}, the UDP port; {@code .address}, one address, or the name
 * of an interface, that it has instead of all; {@code .idle}, {@code busy}, {@code yield} or {@code park}, what its
 * thread does while there is nothing to do; {@code .pcap}, a file for every packet; {@code .faults}, what is to go wrong
 * with packets on their way out; {@code .wire}, {@code true} to send packets also where both queue pairs are here.
 *
 * @param port where it receives; the next ones are tried when it is taken
 * @param address an address or the name of an interface, or null for all
 * @param idle what the thread does
 * @param capture a file, or null
 * @param faults what goes wrong, or null
 * @param wire whether nothing takes the short way from queue pair to queue pair
 */
record Settings(int port, String address, Idle idle, Path capture, Faults faults, boolean wire) {
    private static final String PREFIX = "org.rdmapanama.soft.";

    /** From above it, answers would go to the port of RoCEv2: those may be ports that packets are only sent from. */
    static final int MAX_PORT = Peer.EPHEMERAL_PORTS - Wire.PORTS_TO_TRY;

    /** What a thread does that has nothing to do. */
    enum Idle {
        BUSY,
        YIELD,
        PARK
    }

    /**
     * Those of this process.
     *
     * @throws IllegalArgumentException when one of them is wrong
     */
    static Settings ofProperties() {
        String capture = System.getProperty(PREFIX + "pcap");
        String faults = System.getProperty(PREFIX + "faults");
        boolean wire = Boolean.getBoolean(PREFIX + "wire") || capture != null || faults != null;
        return new Settings(
                port(System.getProperty(PREFIX + "port", Integer.toString(Flow.ROCE_PORT))),
                System.getProperty(PREFIX + "address"),
                idle(System.getProperty(PREFIX + "idle", "park")),
                capture == null ? null : Path.of(capture),
                faults == null ? null : Faults.parse(faults),
                wire);
    }

    private static int port(String text) {
        try {
            int port = Integer.parseInt(text);
            if (port > 0 && port <= MAX_PORT) {
                return port;
            }
        } catch (NumberFormatException noNumber) {
            // Told below.
        }
        throw new IllegalArgumentException(PREFIX + "port is a UDP port, 1 to " + MAX_PORT + ", not '" + text + "'");
    }

    private static Idle idle(String text) {
        for (Idle each : Idle.values()) {
            if (each.name().equalsIgnoreCase(text)) {
                return each;
            }
        }
        throw new IllegalArgumentException(PREFIX + "idle is busy, yield or park, not '" + text + "'");
    }
}
