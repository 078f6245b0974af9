package org.rdmapanama.soft;

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

/** The UDP sockets of this machine, of all its processes, as Linux lists them. */
final class UdpSockets {
    private static final Path IPV4 = Path.of("/proc/self/net/udp");
    private static final Path IPV6 = Path.of("/proc/self/net/udp6");
    private static final int INODE_COLUMN = 9;

    /** Their inodes, by their addresses as they are listed. */
    private final Map<String, String> inodes = new HashMap<>();

    private UdpSockets() {}

    /**
     * Those that are there now.
     *
     * @throws IOException when they are not listed, such as on other systems
     */
    static UdpSockets query() throws IOException {
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

    /** The inode of the one that is bound to an address, or null. */
    String inodeOf(InetSocketAddress address) {
        return inodes.get(format(address.getAddress().getAddress(), address.getPort()));
    }

    /** Whether one is bound to an address, or to all of its kind, or of both kinds. */
    boolean isBound(InetSocketAddress address) {
        InetAddress ip = address.getAddress();
        int port = address.getPort();
        return inodeOf(address) != null
                || inodes.containsKey(format(new byte[ip.getAddress().length], port))
                || (ip instanceof Inet4Address && inodes.containsKey(format(new byte[16], port)));
    }

    /** As the kernel writes it: numbers of four bytes in this machine's order, and the port. */
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
