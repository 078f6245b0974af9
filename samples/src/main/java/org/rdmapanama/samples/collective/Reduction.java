package org.rdmapanama.samples.collective;

import java.util.Locale;

/** How an all-reduce combines two elements. The minimum and the maximum are NaN if an element is, as those of {@link Math}. */
enum Reduction {
    SUM,
    MIN,
    MAX;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
