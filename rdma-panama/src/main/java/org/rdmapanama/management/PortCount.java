package org.rdmapanama.management;

import java.util.Map;

/**
 * What a port has counted.
 *
 * @param device the name of the device
 * @param port the number of the port
 * @param counters the values by the names of the counters; see {@link org.rdmapanama.Context#portCounters}
 */
public record PortCount(String device, int port, Map<String, Long> counters) {}
