package org.rdmapanama.soft.net;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.rdmapanama.ffm.internal.NativeAccess;
import org.rdmapanama.ffm.internal.SocketOptions;

/**
 * Sets Linux socket options that the JDK does not offer. Channels do not reveal their descriptors, so this class finds
 * them in /proc by the addresses of the sockets. {@link Wire} calls it once, on the thread that opens the device.
 */
final class LinuxSocket {
    private static final int IPPROTO_UDP = 17;
    private static final int UDP_NO_CHECK6_RX = 102;
    private static final int SOL_SOCKET = 1;
    private static final int SO_SNDBUFFORCE = 32;
    private static final int SO_RCVBUFFORCE = 33;
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

    private LinuxSocket() {}

    /**
     * Prepares bound sockets for the packets of RoCEv2 devices. Does nothing on systems other than Linux, or where the
     * JVM does not allow it.
     *
     * <p>Soft-RoCE and network cards send datagrams without a UDP checksum, because every packet has its own checksum
     * (IBA specification, annex A17), but over IPv6 the kernel drops them by default. And they send larger bursts than
     * the default receive buffer holds; only privileged processes may exceed net.core.rmem_max.
     *
     * @param addresses the addresses of the sockets
     * @param receiveBytes the size of the receive buffers, in bytes
     * @param sendBytes the size of the send buffers, in bytes
     * @return the descriptors of the sockets, each -1 where it could not be found
     */
    static int[] prepare(List<InetSocketAddress> addresses, int receiveBytes, int sendBytes) {
        int[] found = new int[addresses.size()];
        Arrays.fill(found, -1);
        if (NativeAccess.ALLOWED
                && System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")) {
            try {
                find(addresses, receiveBytes, sendBytes, found);
            } catch (IOException | DirectoryIteratorException notAllowed) {
                // The defaults of the system remain.
            }
        }
        return found;
    }

    private static void find(List<InetSocketAddress> addresses, int receiveBytes, int sendBytes, int[] found)
            throws IOException {
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
                    found[addresses.indexOf(address)] = fd;
                    // Both may fail without privileges; the device works without them.
                    SocketOptions.set(fd, SOL_SOCKET, SO_RCVBUFFORCE, receiveBytes);
                    SocketOptions.set(fd, SOL_SOCKET, SO_SNDBUFFORCE, sendBytes);
                    if (address.getAddress() instanceof Inet6Address) {
                        // If this fails, only peers whose packets have a UDP checksum can be reached.
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
