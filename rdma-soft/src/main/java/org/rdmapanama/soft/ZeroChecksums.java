package org.rdmapanama.soft;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.rdmapanama.ffm.internal.SocketOptions;

/**
 * Lets a socket of IPv6 receive datagrams without a UDP checksum on Linux. Soft-RoCE and network cards send RoCEv2
 * without, because the packet has one of its own (IBA specification, annex A17), but the system drops them. The option
 * for it has no name in the JDK, and a channel does not tell its descriptor: this looks for the descriptor by the
 * socket's address.
 */
final class ZeroChecksums {
    private static final int IPPROTO_UDP = 17;
    private static final int UDP_NO_CHECK6_RX = 102;
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

    private ZeroChecksums() {}

    /** Allows them for the socket that is bound to an address; elsewhere than on Linux it does nothing. */
    static void allow(InetSocketAddress address) throws IOException {
        if (!(address.getAddress() instanceof Inet6Address)
                || !System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")) {
            return;
        }
        String inode = UdpSockets.query().inodeOf(address);
        if (inode == null) {
            return;
        }
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(DESCRIPTORS)) {
            for (Path each : descriptors) {
                if (isSocket(each, inode)) {
                    int fd = Integer.parseInt(each.getFileName().toString());
                    // Without it peers whose packets have a checksum can still be reached.
                    SocketOptions.set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
                    return;
                }
            }
        }
    }

    private static boolean isSocket(Path descriptor, String inode) {
        try {
            return Files.readSymbolicLink(descriptor).toString().equals("socket:[" + inode + "]");
        } catch (IOException closed) {
            return false;
        }
    }
}
