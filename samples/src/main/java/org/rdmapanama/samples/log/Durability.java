package org.rdmapanama.samples.log;

import java.util.Locale;

/** When a node counts as having a record. */
enum Durability {
    /** Once it is in the memory of the node: it survives that the process is killed, not that the machine loses power. */
    MEMORY,
    /** Once it is on the disk of the node. */
    DISK;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
