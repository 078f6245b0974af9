package org.rdmapanama.soft.net;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.rdmapanama.ffm.internal.AbstractName;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.NativeAccess;

/**
 * A port number of the connection manager that no other process of this machine gets, at some of its addresses. Such ports
 * are numbers in datagrams, of which the kernel knows nothing; so an {@link AbstractName} stands for each address and
 * port. The kernel takes the names back when the process dies.
 *
 * <p>{@link SoftCmId} has one while it listens, or is bound to a port of its choice. It holds one file descriptor for each address. Callers must hold the lock
 * of the device.
 */
public final class PortClaim implements AutoCloseable {
    private static final boolean POSSIBLE = NativeAccess.ALLOWED
            && System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux");

    private final List<Integer> names = new ArrayList<>(1);

    /**
     * Claims a port at all of some addresses, or at none. Without such names, as on other systems, it claims nothing.
     *
     * @return 0 or a negated errno: -EADDRINUSE if another process has the port at one of the addresses
     */
    public int take(int portSpace, int port, List<InetAddress> addresses) {
        for (InetAddress each : addresses) {
            int name = POSSIBLE
                    ? AbstractName.take(
                            "org.rdmapanama.soft/%x/%s/%d".formatted(portSpace, each.getHostAddress(), port))
                    : -Errno.EOPNOTSUPP;
            if (name >= 0) {
                names.add(name);
            } else if (name == -Errno.EADDRINUSE || name == -Errno.EMFILE || name == -Errno.ENFILE) {
                close();
                return name;
            }
        }
        return 0;
    }

    /** Returns whether a port is claimed. */
    public boolean isHeld() {
        return !names.isEmpty();
    }

    /** Gives the port back, if there is one. */
    @Override
    public void close() {
        names.forEach(AbstractName::release);
        names.clear();
    }
}
