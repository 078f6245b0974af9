package org.rdmapanama.soft.net;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.rdmapanama.ffm.internal.NativeAccess;
import org.rdmapanama.soft.wire.Congestion;
import org.rdmapanama.soft.wire.Faults;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * The settings of the device, from system properties. {@link SoftDevice} reads them when it is created, that is,
 * whenever a process opens the device while it does not have it open. docs/SOFT.md describes the properties, whose names
 * begin with {@code org.rdmapanama.soft.}. Immutable.
 *
 * @param port the UDP port to receive at; the following ones are tried if it is in use
 * @param address {@link #ALL_ADDRESSES}, or addresses and names of interfaces, separated by commas; null for the loopback
 *     addresses
 * @param idle what the thread does while idle
 * @param capture a file, or null
 * @param faults the faults to inject, or null
 * @param wire whether to send packets between queue pairs of the same device
 * @param segments to whom many packets are sent with one system call
 * @param ring where the memory is made through which packets go to processes of the same user; null if none is to be
 * @param probes whether a packet whose answer is overdue is repeated before its timeout
 * @param congestion how to react to congestion; null if not at all
 * @param sourcePorts how many UDP ports each address sends packets of connections from; 0 if from the port it receives at
 */
public record SoftSettings(
        int port,
        String address,
        Idle idle,
        Path capture,
        Faults faults,
        boolean wire,
        Segmentation segments,
        Path ring,
        boolean probes,
        Congestion congestion,
        int sourcePorts) {
    private static final String PREFIX = "org.rdmapanama.soft.";
    private static final String PROBES = PREFIX + "probes";
    private static final String CONGESTION = PREFIX + "congestion";

    /** The property that says which addresses to use. */
    public static final String ADDRESS = PREFIX + "address";

    /** The environment variable that does, unless the property is set. */
    public static final String ADDRESS_VARIABLE = "RDMA_SOFT_ADDRESS";

    /** Stands for all addresses of the machine. */
    public static final String ALL_ADDRESSES = "all";

    /** The largest port. Answers to higher ports go to port 4791, because other devices only send from those. */
    static final int MAX_PORT = UdpFlow.FIRST_SOURCE_PORT - Wire.PORTS_TO_TRY;

    /** What the thread of the device does while idle. */
    public enum Idle {
        BUSY,
        YIELD,
        PARK
    }

    /** To whom many packets are sent with one system call, where the system can. */
    public enum Segmentation {
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
                number("port", UdpFlow.ROCE_PORT, 1, MAX_PORT, "a UDP port between 1 and " + MAX_PORT),
                address(System.getProperty(ADDRESS), System.getenv(ADDRESS_VARIABLE)),
                choice("idle", Idle.PARK),
                capture == null ? null : Path.of(capture),
                faults == null ? null : Faults.parse(faults),
                wire,
                choice("segments", Segmentation.AUTO),
                ring(System.getProperty(PREFIX + "ring", NativeAccess.ALLOWED ? "auto" : "none")),
                !"false".equalsIgnoreCase(System.getProperty(PROBES)),
                Congestion.parse(CONGESTION, System.getProperty(CONGESTION, "none")),
                number(
                        "source.ports",
                        SourcePorts.USUAL,
                        0,
                        SourcePorts.MOST,
                        "a number from 0 to " + SourcePorts.MOST));
    }

    /** A variable that is empty counts as not set. */
    private static String address(String property, String variable) {
        return property != null || variable == null || variable.isBlank() ? property : variable;
    }

    private static int number(String name, int usual, int least, int most, String must) {
        String text = System.getProperty(PREFIX + name, Integer.toString(usual));
        try {
            int number = Integer.parseInt(text);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException noNumber) {
            // Reported below.
        }
        throw new IllegalArgumentException(PREFIX + name + " must be " + must + ": '" + text + "'");
    }

    /** Returns the constant that a property names, in any case, or the usual one if it is not set. */
    private static <E extends Enum<E>> E choice(String name, E usual) {
        E[] all = usual.getDeclaringClass().getEnumConstants();
        String text = System.getProperty(PREFIX + name, usual.name());
        for (E each : all) {
            if (each.name().equalsIgnoreCase(text)) {
                return each;
            }
        }
        List<String> names =
                Stream.of(all).map(each -> each.name().toLowerCase(Locale.ROOT)).toList();
        int last = names.size() - 1;
        throw new IllegalArgumentException(PREFIX + name + " must be " + String.join(", ", names.subList(0, last))
                + " or " + names.get(last) + ": '" + text + "'");
    }

    private static Path ring(String text) {
        if (text.equals("auto")) {
            return RingFile.DIRECTORY;
        }
        if (text.equals("none")) {
            return null;
        }
        Path directory = Path.of(text);
        if (directory.isAbsolute()) {
            return directory;
        }
        throw new IllegalArgumentException(
                PREFIX + "ring must be auto, none or the absolute path of a directory: '" + text + "'");
    }
}
