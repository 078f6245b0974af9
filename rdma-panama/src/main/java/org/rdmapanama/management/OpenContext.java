package org.rdmapanama.management;

import org.rdmapanama.counts.ContextCounts;

/**
 * An open context.
 *
 * @param device the name of its device
 * @param driver the name of the driver of that device
 * @param counts the objects that are open on it
 */
public record OpenContext(String device, String driver, ContextCounts counts) {}
