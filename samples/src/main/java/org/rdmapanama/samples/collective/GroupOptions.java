package org.rdmapanama.samples.collective;

import java.time.Duration;

/**
 * How a group joins and waits.
 *
 * @param id what the ranks of a group have in common; others are rejected
 * @param joinTimeout how long to wait for all ranks
 * @param silence how long a rank that others wait for may say nothing
 */
record GroupOptions(long id, Duration joinTimeout, Duration silence) {
    static final GroupOptions DEFAULT = new GroupOptions(0, Duration.ofSeconds(30), Duration.ofSeconds(10));
}
