package org.rdmapanama.samples;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.stream.Collectors;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaDevices;

/** Tells at which addresses a server on soft0 is that listens at all of them: usually not at those that others reach. */
final class SoftAddresses {
    private static final String SOFT = "soft0";

    private SoftAddresses() {}

    /** Returns a line to print, or an empty text: the address says it all, or the devices are others. */
    static String of(InetSocketAddress listening) {
        if (!listening.getAddress().isAnyLocalAddress() || !RdmaDevices.names().contains(SOFT)) {
            return "";
        }
        boolean version4 = listening.getAddress() instanceof Inet4Address;
        List<InetAddress> all;
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            all = Context.open(arena, SOFT).queryGidTable().stream()
                    .map(each -> GidText.version4(each.gid()).orElseGet(each.gid()::toInetAddress))
                    .filter(each -> !version4 || each instanceof Inet4Address)
                    .toList();
        }
        String text = all.stream().map(InetAddress::getHostAddress).collect(Collectors.joining(", "));
        boolean reachable = all.stream().anyMatch(each -> !each.isLoopbackAddress());
        return "  soft0 is at " + text
                + (reachable ? "" : ", for this machine only; for others, start with RDMA_SOFT_ADDRESS=all")
                + System.lineSeparator();
    }
}
