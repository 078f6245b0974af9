package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import org.rdmapanama.testing.Lab;

/** The lab's two wires, each with a port at either end. */
enum LabWire {
    /** rxe0 and rxe1. */
    ROCE("10.77.0."),
    /** siw0 and siw1, which speak iWARP. */
    IWARP("10.78.0.");

    private final String prefix;

    LabWire(String prefix) {
        this.prefix = prefix;
    }

    String firstHost() {
        return isLab() ? prefix + "1" : Lab.FIRST_HOST;
    }

    String secondHost() {
        return isLab() ? prefix + "2" : Lab.SECOND_HOST;
    }

    private boolean isLab() {
        if (this == IWARP) {
            Lab.assumeInLab("it is no iWARP device");
        }
        return Lab.isInLab();
    }

    /** From here the tests connect. */
    InetSocketAddress first(int port) {
        return new InetSocketAddress(firstHost(), port);
    }

    /** Here their servers listen. */
    InetSocketAddress second(int port) {
        return new InetSocketAddress(secondHost(), port);
    }

    /** Nobody has this one. */
    InetSocketAddress nobody(int port) {
        return new InetSocketAddress(prefix + "99", port);
    }

    /** What an event says of a rejection by a program, and where nobody listens. */
    int rejected() {
        return this == ROCE ? 28 : -104;
    }

    int nobodyListens() {
        return this == ROCE ? 8 : -111;
    }
}
