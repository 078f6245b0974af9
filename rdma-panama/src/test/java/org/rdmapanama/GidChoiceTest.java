package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class GidChoiceTest {
    private static final Gid IPV4 = new Gid(0, 0xffff_0a4d_0001L);
    private static final Gid IPV6 = new Gid(0x2001_0db8_0000_0000L, 1);
    private static final Gid LINK_LOCAL = new Gid(0xfe80_0000_0000_0000L, 1);

    private static GidEntry entry(int index, Gid gid, GidType type) {
        return new GidEntry(1, index, gid, type, 3);
    }

    private static int chosen(GidEntry... table) {
        return GidChoice.best(Arrays.asList(table)).orElseThrow().index();
    }

    @Test
    void shouldRankVersionBeforeAddress() {
        // From best to worst, as a driver would never list them.
        List<GidEntry> best = List.of(
                entry(9, IPV4, GidType.ROCE_V2),
                entry(8, IPV6, GidType.ROCE_V2),
                entry(7, LINK_LOCAL, GidType.ROCE_V2),
                entry(6, IPV4, GidType.ROCE_V1),
                entry(5, IPV6, GidType.ROCE_V1),
                entry(4, LINK_LOCAL, GidType.ROCE_V1));
        for (int i = 0; i < best.size(); i++) {
            List<GidEntry> rest = new ArrayList<>(best.subList(i, best.size()));
            Collections.reverse(rest);
            assertEquals(Optional.of(best.get(i)), GidChoice.best(rest));
        }
    }

    @Test
    void shouldTakeTheFirstOfEquals() {
        assertEquals(2, chosen(entry(5, IPV4, GidType.ROCE_V2), entry(2, IPV4, GidType.ROCE_V2)));
        assertEquals(
                0, chosen(entry(1, IPV6, GidType.IB), entry(0, LINK_LOCAL, GidType.IB)), "on InfiniBand the first");
    }

    @Test
    void shouldLeaveOutEmptyPlaces() {
        assertEquals(4, chosen(entry(0, Gid.ZERO, GidType.ROCE_V2), entry(4, LINK_LOCAL, GidType.ROCE_V1)));
        assertEquals(Optional.empty(), GidChoice.best(List.of(entry(0, Gid.ZERO, GidType.ROCE_V2))));
        assertEquals(Optional.empty(), GidChoice.best(List.of()));
    }
}
