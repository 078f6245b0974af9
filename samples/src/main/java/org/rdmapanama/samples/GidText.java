package org.rdmapanama.samples;

import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.Gid;

/** Writes GIDs as the IPv6 addresses that they are, shortened as inet_ntop(3) and RFC 5952 do. */
final class GidText {
    private static final int GROUPS = 8;

    private GidText() {}

    static String of(Gid gid) {
        if (gid.isIpv4Mapped()) {
            return "::ffff:" + gid.toInetAddress().getHostAddress();
        }
        int[] groups = new int[GROUPS];
        for (int i = 0; i < GROUPS; i++) {
            long half = i < GROUPS / 2 ? gid.subnetPrefix() : gid.interfaceId();
            groups[i] = (int) (half >>> (48 - 16 * (i % 4))) & 0xffff;
        }
        int start = 0;
        int length = 0;
        for (int i = 0; i < GROUPS; i++) {
            int zeros = zerosFrom(groups, i);
            if (zeros > length) {
                start = i;
                length = zeros;
            }
        }
        if (length < 2) {
            return join(groups, 0, GROUPS);
        }
        return join(groups, 0, start) + "::" + join(groups, start + length, GROUPS);
    }

    private static int zerosFrom(int[] groups, int from) {
        int to = from;
        while (to < GROUPS && groups[to] == 0) {
            to++;
        }
        return to - from;
    }

    private static String join(int[] groups, int from, int to) {
        List<String> texts = new ArrayList<>();
        for (int i = from; i < to; i++) {
            texts.add(Integer.toHexString(groups[i]));
        }
        return String.join(":", texts);
    }
}
