package org.rdmapanama.samples;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import org.rdmapanama.Context;
import org.rdmapanama.address.Gid;

/** Hints for two polling processes that share the processors of one machine with their software devices. */
final class PollingHint {
    static final String TEXT = "both sides poll, and soft0 needs the same processor: --events (-e) is likely faster";

    private static final String DRIVER = "soft";

    /** A thread that polls, and does not share its processor, has it for more of the time than this. */
    private static final double ENOUGH = 0.8;

    private PollingHint() {}

    /** Whether this machine has one processor and a software device whose peer is another process here. */
    static boolean applies(Context context, Gid peer) {
        return Runtime.getRuntime().availableProcessors() == 1 && isBetweenProcesses(context, peer);
    }

    /** Whether this is a software device, and the peer is another process of this machine. */
    static boolean isBetweenProcesses(Context context, Gid peer) {
        return context.driverName().equals(DRIVER)
                && context.queryGidTable().stream()
                        .noneMatch(entry -> entry.gid().equals(peer))
                && isHere(GidText.version4(peer).orElseGet(peer::toInetAddress));
    }

    /** Returns what to say of a thread that polled and had a processor for this share of the time, or null. */
    static String afterwards(double share, String faster) {
        return share >= ENOUGH
                ? null
                : "both sides poll, and soft0 needs the same processors: this side had one for %.0f%% of the test; %s is likely faster"
                        .formatted(share * 100, faster);
    }

    private static boolean isHere(InetAddress address) {
        try {
            return NetworkInterface.getByInetAddress(address) != null;
        } catch (SocketException e) {
            // Unknown, so no hint.
            return false;
        }
    }
}
