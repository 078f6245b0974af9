package org.rdmapanama.management;

import java.util.Map;

/**
 * A server that listens.
 *
 * @param name the address that it listens at
 * @param counts what became of its clients, by the names of the components of {@code org.rdmapanama.cm.ServerCounts}
 */
public record OpenServer(String name, Map<String, Long> counts) {}
