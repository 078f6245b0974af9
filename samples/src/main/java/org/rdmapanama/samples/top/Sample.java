package org.rdmapanama.samples.top;

import java.util.List;
import java.util.SortedMap;

/**
 * What there was at one moment.
 *
 * @param nanos the moment, by System.nanoTime()
 * @param ports the traffic of each port
 * @param notes a line about each process that tells what it does
 */
record Sample(long nanos, SortedMap<PortName, Traffic> ports, List<String> notes) {
    /**
     * A port.
     *
     * @param pid the process whose device it is, or 0 for a device of the kernel
     */
    record PortName(String device, int port, long pid) implements Comparable<PortName> {
        @Override
        public int compareTo(PortName other) {
            int byDevice = device.compareTo(other.device);
            int byPort = byDevice == 0 ? Integer.compare(port, other.port) : byDevice;
            return byPort == 0 ? Long.compare(pid, other.pid) : byPort;
        }
    }
}
