package org.rdmapanama;

import org.jspecify.annotations.Nullable;

/** What a caller can do about the failure of a verb. */
@FunctionalInterface
interface Cures {
    /** For a verb of which nothing is known. */
    Cures NONE = errno -> null;

    /** Returns what to do about an errno, or null. */
    @Nullable
    String of(int errno);
}
