package org.rdmapanama.samples;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import org.rdmapanama.Context;
import org.rdmapanama.Gid;

/** What to say where two processes that poll share one processor, which their devices in software need, too. */
final class PollingHint {
    static final String TEXT = "both sides poll, and soft0 needs the same processor: --events (-e) is likely faster";

    private static final String DRIVER = "soft";

    private PollingHint() {}

    /** Whether a device in software has its peer in another process of this machine, which has one processor. */
    static boolean applies(Context context, Gid peer) {
        return Runtime.getRuntime().availableProcessors() == 1
                && context.driverName().equals(DRIVER)
                && context.gidTable().stream().noneMatch(entry -> entry.gid().equals(peer))
                && isHere(GidText.version4(peer).orElseGet(peer::toInetAddress));
    }

    private static boolean isHere(InetAddress address) {
        try {
            return NetworkInterface.getByInetAddress(address) != null;
        } catch (SocketException e) {
            // Then nothing is known about it.
            return false;
        }
    }
}
