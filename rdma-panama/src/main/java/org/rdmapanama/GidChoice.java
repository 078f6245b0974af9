package org.rdmapanama;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Which GID of a table to use when nobody said. */
final class GidChoice {
    private GidChoice() {}

    static Optional<GidEntry> best(List<GidEntry> table) {
        return table.stream()
                .filter(entry -> !entry.gid().isZero())
                .min(Comparator.comparingInt(GidChoice::rank).thenComparingInt(GidEntry::index));
    }

    /** Lower is better. On InfiniBand all rank the same, and the first wins. */
    private static int rank(GidEntry entry) {
        if (entry.type() == GidType.IB) {
            return 0;
        }
        int version = entry.type() == GidType.ROCE_V2 ? 0 : 3;
        if (entry.gid().isIpv4Mapped()) {
            return version;
        }
        return version + (entry.gid().isLinkLocal() ? 2 : 1);
    }
}
