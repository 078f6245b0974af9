package org.rdmapanama.soft.net;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.rdmapanama.ffm.internal.SocketOptions;
import org.rdmapanama.soft.wire.UdpFlow;

/** The buffers of the IPv4 sockets of a device, with the source ports that it has by now. */
public final class SocketBuffers {
    /** What Linux gives to a socket that asks for nothing: it doubles what is set. */
    private static final int STOCK_BYTES = 212_992 / 2;

    private static final int SEND_BYTES = 1 << 20;
    private static final int LAST_PORT = 0xffff;
    private static final int SOL_SOCKET = 1;
    private static final int SO_SNDBUF = 7;
    private static final int SO_RCVBUF = 8;

    /** Less than Linux gives to any socket: it takes its least. */
    private static final int LEAST_BYTES = 1;

    private final String port;
    private final int[] descriptors;

    public SocketBuffers(LocalAddresses addresses, Wire wire) throws IOException {
        UdpSockets all = UdpSockets.query();
        List<InetSocketAddress> sockets = new ArrayList<>();
        for (int i = 0; i < addresses.count(); i++) {
            sockets.add(new InetSocketAddress(addresses.address(i), wire.port()));
            for (int port = UdpFlow.FIRST_SOURCE_PORT; port <= LAST_PORT; port++) {
                InetSocketAddress source = new InetSocketAddress(addresses.address(i), port);
                if (all.inodeOf(source) != null) {
                    sockets.add(source);
                }
            }
        }
        int[] found = LinuxSocket.prepare(sockets, 2 * STOCK_BYTES, SEND_BYTES);
        // Another program may have the other ports.
        descriptors = IntStream.range(0, found.length)
                .filter(i -> found[i] >= 0 || sockets.get(i).getPort() == wire.port())
                .map(i -> found[i])
                .toArray();
        port = String.format(Locale.ROOT, ":%04X", wire.port());
    }

    /** Makes those for receiving as small as those of every program. */
    public void shrinkToStock() throws IOException {
        set(SO_RCVBUF, STOCK_BYTES);
    }

    /** Makes those for sending as small as possible: Linux takes what is sent with one call, and refuses the next one. */
    public void shrinkSends() throws IOException {
        set(SO_SNDBUF, LEAST_BYTES);
    }

    private void set(int option, int bytes) throws IOException {
        for (int each : descriptors) {
            if (each < 0 || SocketOptions.set(each, SOL_SOCKET, option, bytes) != 0) {
                throw new IOException("cannot set a buffer of descriptor " + each);
            }
        }
    }

    /** Returns how many calls of this network found no room for what they should send. */
    public static long refusals() throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/net/snmp"))) {
            List<String[]> udp = lines.filter(line -> line.startsWith("Udp:"))
                    .map(line -> line.split(" ", -1))
                    .toList();
            return Long.parseLong(udp.getLast()[List.of(udp.getFirst()).indexOf("SndbufErrors")]);
        }
    }

    /** Returns how many packets found no room. */
    public long drops() throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/net/udp"))) {
            return lines.map(line -> line.strip().split("\\s+", -1))
                    .filter(fields -> fields[1].endsWith(port))
                    .mapToLong(fields -> Long.parseLong(fields[fields.length - 1]))
                    .sum();
        }
    }
}
