package org.rdmapanama.samples;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.rdmapanama.address.Gid;

/**
 * Formats GIDs as the IPv6 addresses that they are, shortened as by inet_ntop(3) and RFC 5952. If soft0 uses a port
 * other than the RoCEv2 port, its GID has that port before the IPv4 address: {@code ::PORT:0:ffff:a.b.c.d}.
 */
public final class GidText {
    private static final int GROUPS = 8;

    private GidText() {}

    /**
     * Formats a GID.
     *
     * @param gid the GID
     * @return text such as {@code fe80::1} or {@code ::ffff:10.77.0.1}
     */
    public static String of(Gid gid) {
        Optional<InetAddress> address = version4(gid);
        if (address.isPresent()) {
            String port = gid.subnetPrefix() == 0 ? "" : Long.toHexString(gid.subnetPrefix()) + ":0:";
            return "::" + port + "ffff:" + address.get().getHostAddress();
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

    /**
     * Returns the IPv4 address of a GID, which a port may precede.
     *
     * @param gid the GID
     * @return the address, if the GID has one
     */
    public static Optional<InetAddress> version4(Gid gid) {
        Gid mapped = new Gid(0, gid.interfaceId());
        boolean maybePort = gid.subnetPrefix() >>> Short.SIZE == 0;
        return maybePort && mapped.isIpv4Mapped() ? Optional.of(mapped.toInetAddress()) : Optional.empty();
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
