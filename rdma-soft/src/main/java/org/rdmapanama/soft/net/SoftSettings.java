package org.rdmapanama.soft.net;

import java.nio.file.Path;
import org.rdmapanama.soft.wire.Faults;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * The settings of the device, from system properties. {@link SoftDevice} reads them when it is created, that is,
 * whenever a process opens the device while it does not have it open. The properties are {@code
 * org.rdmapanama.soft.port}, the UDP port; {@code .address}, the addresses to use instead of those of the loopback
 * interface, for which there is an environment variable as well; {@code .idle}, what the thread of the device does while idle, {@code busy}, {@code yield} or {@code
 * park}; {@code .pcap}, a file to capture all packets in; {@code .faults}, the faults to inject into outgoing packets;
 * {@code .wire}, {@code true} to send packets even between queue pairs of the same device; {@code .segments}, whom to
 * send many packets with one system call, {@code auto}, {@code all} or {@code none}; {@code .ring}, whether to use shared
 * memory, {@code auto} or {@code none}; and {@code .probes}, {@code false} to repeat nothing before its timeout. Immutable.
 *
 * @param port the UDP port to receive at; the following ones are tried if it is in use
 * @param address {@link #ALL_ADDRESSES}, or addresses and names of interfaces, separated by commas; null for the loopback
 *     addresses
 * @param idle what the thread does while idle
 * @param capture a file, or null
 * @param faults the faults to inject, or null
 * @param wire whether to send packets between queue pairs of the same device
 * @param segments to whom many packets are sent with one system call
 * @param ring whether packets to processes of the same user go through shared memory where that is possible
 * @param probes whether a packet whose answer is overdue is repeated before its timeout
 */
public record SoftSettings(
        int port,
        String address,
        Idle idle,
        Path capture,
        Faults faults,
        boolean wire,
        Segments segments,
        boolean ring,
        boolean probes) {
    private static final String PREFIX = "org.rdmapanama.soft.";
    private static final String PROBES = PREFIX + "probes";

    /** The property that says which addresses to use. */
    public static final String ADDRESS = PREFIX + "address";

    /** The environment variable that does, unless the property is set. */
    public static final String ADDRESS_VARIABLE = "RDMA_SOFT_ADDRESS";

    /** Stands for all addresses of the machine. */
    public static final String ALL_ADDRESSES = "all";

    /** The largest port. Answers to higher ports go to port 4791, because other devices only send from those. */
    static final int MAX_PORT = Peer.EPHEMERAL_PORTS - Wire.PORTS_TO_TRY;

    /** What the thread of the device does while idle. */
    public enum Idle {
        BUSY,
        YIELD,
        PARK
    }

    /** To whom many packets are sent with one system call, where the system can. */
    public enum Segments {
        /** To peers that do not mind how a network card numbers them. */
        AUTO,
        ALL,
        NONE
    }

    /**
     * Reads the settings of this process.
     *
     * @throws IllegalArgumentException when a property has an invalid value
     */
    public static SoftSettings ofProperties() {
        String capture = System.getProperty(PREFIX + "pcap");
        String faults = System.getProperty(PREFIX + "faults");
        boolean wire = Boolean.getBoolean(PREFIX + "wire") || capture != null || faults != null;
        return new SoftSettings(
                port(System.getProperty(PREFIX + "port", Integer.toString(UdpFlow.ROCE_PORT))),
                address(System.getProperty(ADDRESS), System.getenv(ADDRESS_VARIABLE)),
                idle(System.getProperty(PREFIX + "idle", "park")),
                capture == null ? null : Path.of(capture),
                faults == null ? null : Faults.parse(faults),
                wire,
                segments(System.getProperty(PREFIX + "segments", "auto")),
                ring(System.getProperty(PREFIX + "ring", "auto")),
                !"false".equalsIgnoreCase(System.getProperty(PROBES)));
    }

    /** A variable that is empty counts as not set. */
    private static String address(String property, String variable) {
        return property != null || variable == null || variable.isBlank() ? property : variable;
    }

    private static int port(String text) {
        try {
            int port = Integer.parseInt(text);
            if (port > 0 && port <= MAX_PORT) {
                return port;
            }
        } catch (NumberFormatException noNumber) {
            // Reported below.
        }
        throw new IllegalArgumentException(
                PREFIX + "port must be a UDP port between 1 and " + MAX_PORT + ": '" + text + "'");
    }

    private static Segments segments(String text) {
        for (Segments each : Segments.values()) {
            if (each.name().equalsIgnoreCase(text)) {
                return each;
            }
        }
        throw new IllegalArgumentException(PREFIX + "segments must be auto, all or none: '" + text + "'");
    }

    private static boolean ring(String text) {
        return switch (text) {
            case "auto" -> true;
            case "none" -> false;
            default -> throw new IllegalArgumentException(PREFIX + "ring must be auto or none: '" + text + "'");
        };
    }

    private static Idle idle(String text) {
        for (Idle each : Idle.values()) {
            if (each.name().equalsIgnoreCase(text)) {
                return each;
            }
        }
        throw new IllegalArgumentException(PREFIX + "idle must be busy, yield or park: '" + text + "'");
    }
}
