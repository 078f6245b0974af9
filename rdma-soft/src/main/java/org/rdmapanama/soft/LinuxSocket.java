package org.rdmapanama.soft;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.rdmapanama.ffm.internal.SocketOptions;

/**
 * What a socket needs on Linux and has no name for in the JDK. A channel does not tell its descriptor: this looks for the
 * descriptors by the sockets' addresses.
 */
final class LinuxSocket {
    private static final int IPPROTO_UDP = 17;
    private static final int UDP_NO_CHECK6_RX = 102;
    private static final int SOL_SOCKET = 1;
    private static final int SO_RCVBUFFORCE = 33;
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

    private LinuxSocket() {}

    /**
     * Lets the sockets that are bound to addresses receive all that RoCEv2 devices send; elsewhere than on Linux it does
     * nothing.
     *
     * <p>Soft-RoCE and network cards send datagrams without a UDP checksum, because the packet has one of its own (IBA
     * specification, annex A17), but over IPv6 the system drops them. And they send more at once than the system keeps
     * of datagrams that nobody has read: only who administers the network may ask for more than net.core.rmem_max.
     *
     * @param addresses of the sockets
     * @param receiveBytes what is to be kept
     */
    static void prepare(List<InetSocketAddress> addresses, int receiveBytes) {
        if (!System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")) {
            return;
        }
        try {
            find(addresses, receiveBytes);
        } catch (IOException | DirectoryIteratorException notAllowed) {
            // Then there is what the system does by itself.
        }
    }

    private static void find(List<InetSocketAddress> addresses, int receiveBytes) throws IOException {
        UdpSockets sockets = UdpSockets.query();
        Map<String, InetSocketAddress> links = new HashMap<>();
        for (InetSocketAddress each : addresses) {
            links.put("socket:[" + sockets.inodeOf(each) + "]", each);
        }
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(DESCRIPTORS)) {
            for (Path each : descriptors) {
                InetSocketAddress address = links.get(linkOf(each));
                if (address != null) {
                    int fd = Integer.parseInt(each.getFileName().toString());
                    // Not allowed to everybody, and it works without.
                    SocketOptions.set(fd, SOL_SOCKET, SO_RCVBUFFORCE, receiveBytes);
                    if (address.getAddress() instanceof Inet6Address) {
                        // Without it peers whose packets have a checksum can still be reached.
                        SocketOptions.set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
                    }
                }
            }
        }
    }

    private static String linkOf(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException closed) {
            return "";
        }
    }
}
