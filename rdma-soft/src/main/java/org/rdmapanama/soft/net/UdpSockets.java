package org.rdmapanama.soft.net;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * A snapshot of the UDP sockets of all processes of this machine, from /proc/net. {@link LinuxSocket} uses it to find
 * descriptors, {@link SoftConnectionManager} to find the devices of other processes, {@link PeerProcesses} to find out whether they are
 * still there. A list that is read while other sockets come and go may lack one. Immutable once queried.
 */
public final class UdpSockets {
    private static final Path IPV4 = Path.of("/proc/self/net/udp");
    private static final Path IPV6 = Path.of("/proc/self/net/udp6");
    private static final int INODE_COLUMN = 9;

    /** Whether this system has such a list. It can still not be read at a moment without descriptors. */
    static final boolean LISTED = Files.isReadable(IPV4);

    /** Inodes by address, in the format of the list. */
    private final Map<String, String> inodes = new HashMap<>();

    private UdpSockets() {}

    /**
     * Takes a snapshot.
     *
     * @throws IOException when there is no such list, as on other systems
     */
    public static UdpSockets query() throws IOException {
        UdpSockets sockets = new UdpSockets();
        sockets.add(IPV4);
        if (Files.exists(IPV6)) {
            sockets.add(IPV6);
        }
        return sockets;
    }

    private void add(Path file) throws IOException {
        List<String> lines = Files.readAllLines(file);
        for (String line : lines.subList(1, lines.size())) {
            String[] words = line.strip().split(" +", -1);
            inodes.put(words[1], words[INODE_COLUMN]);
        }
    }

    /** Returns the inode of the socket that is bound to an address, or null. */
    String inodeOf(InetSocketAddress address) {
        return inodes.get(format(address.getAddress().getAddress(), address.getPort()));
    }

    /** Returns whether a socket is bound to an address, or to the wildcard address of its family or of both. */
    public boolean isBound(InetSocketAddress address) {
        InetAddress ip = address.getAddress();
        int port = address.getPort();
        return inodeOf(address) != null
                || inodes.containsKey(format(new byte[ip.getAddress().length], port))
                || (ip instanceof Inet4Address && inodes.containsKey(format(new byte[16], port)));
    }

    /** Formats an address as the kernel does: 32-bit words in native byte order, and the port. */
    private static String format(byte[] address, int port) {
        StringBuilder text = new StringBuilder();
        HexFormat hex = HexFormat.of().withUpperCase();
        boolean little = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
        for (int word = 0; word < address.length; word += Integer.BYTES) {
            for (int i = 0; i < Integer.BYTES; i++) {
                text.append(hex.toHexDigits(address[word + (little ? Integer.BYTES - 1 - i : i)]));
            }
        }
        return text + ":" + hex.toHexDigits((short) port);
    }
}
