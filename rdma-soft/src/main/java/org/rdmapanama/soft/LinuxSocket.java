package org.rdmapanama.soft;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.rdmapanama.ffm.internal.SocketOptions;

/**
 * What a socket needs on Linux and has no name for in the JDK. A channel does not tell its descriptor: this looks for the
 * descriptor by the socket's address.
 */
final class LinuxSocket {
    private static final int IPPROTO_UDP = 17;
    private static final int UDP_NO_CHECK6_RX = 102;
    private static final int SOL_SOCKET = 1;
    private static final int SO_RCVBUFFORCE = 33;
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

    private LinuxSocket() {}

    /**
     * Lets the socket that is bound to an address receive all that RoCEv2 devices send; elsewhere than on Linux it does
     * nothing.
     *
     * <p>Soft-RoCE and network cards send datagrams without a UDP checksum, because the packet has one of its own (IBA
     * specification, annex A17), but over IPv6 the system drops them. And they send more at once than the system keeps
     * of datagrams that nobody has read: only who administers the network may ask for more than net.core.rmem_max.
     *
     * @param address of the socket
     * @param receiveBytes what is to be kept
     */
    static void prepare(InetSocketAddress address, int receiveBytes) {
        if (!System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")) {
            return;
        }
        try {
            find(address, receiveBytes);
        } catch (IOException | DirectoryIteratorException notAllowed) {
            // Then there is what the system does by itself.
        }
    }

    private static void find(InetSocketAddress address, int receiveBytes) throws IOException {
        boolean version6 = address.getAddress() instanceof Inet6Address;
        String inode = UdpSockets.query().inodeOf(address);
        if (inode == null) {
            return;
        }
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(DESCRIPTORS)) {
            for (Path each : descriptors) {
                if (isSocket(each, inode)) {
                    int fd = Integer.parseInt(each.getFileName().toString());
                    // Not allowed to everybody, and it works without.
                    SocketOptions.set(fd, SOL_SOCKET, SO_RCVBUFFORCE, receiveBytes);
                    if (version6) {
                        // Without it peers whose packets have a checksum can still be reached.
                        SocketOptions.set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
                    }
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
