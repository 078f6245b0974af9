package org.rdmapanama.samples.today;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.GidText;

/**
 * Two addresses of this machine, between which data moves.
 *
 * @param sender the address of the sender
 * @param receiver the address of the receiver
 */
record Ends(InetAddress sender, InetAddress receiver) {
    private static final long MAX_PORT = 0xffff;

    /** Creates the ends from two addresses, or from one for both sides. */
    static Ends of(List<String> addresses) {
        try {
            Ends ends =
                    new Ends(InetAddress.getByName(addresses.getFirst()), InetAddress.getByName(addresses.getLast()));
            ends.networkDevice();
            return ends;
        } catch (UnknownHostException e) {
            throw new Failure("'" + String.join(",", addresses) + "' are not valid addresses", e);
        }
    }

    /** Returns the addresses of the first two devices that have IPv4 addresses, or of the only one. */
    static Ends ofDevices() {
        List<InetAddress> found = new ArrayList<>();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            for (Device device : DeviceList.query()) {
                Context.open(arena, device).queryGidTable().stream()
                        .map(GidEntry::gid)
                        .map(GidText::version4)
                        .flatMap(Optional::stream)
                        .findFirst()
                        .ifPresent(found::add);
            }
        }
        if (found.isEmpty()) {
            throw new Failure("no RDMA device has an IPv4 address: name two addresses of this machine with -I");
        }
        return new Ends(found.getFirst(), found.get(Math.min(1, found.size() - 1)));
    }

    /** Returns the IPv4 address of a GID, if it has one; a software device may put its port before the address. */
    private static Optional<InetAddress> ipv4Address(Gid gid) {
        Gid mapped = new Gid(gid.subnetPrefix() & ~MAX_PORT, gid.interfaceId());
        return mapped.isIpv4Mapped() ? Optional.of(mapped.toInetAddress()) : Optional.empty();
    }

    /** Returns the network device that has the sender's address. */
    NetworkInterface networkDevice() {
        try {
            NetworkInterface device = NetworkInterface.getByInetAddress(sender);
            if (device == null) {
                throw new Failure(sender.getHostAddress() + " is not an address of this machine");
            }
            return device;
        } catch (IOException e) {
            throw new Failure("cannot list the network devices: " + e.getMessage(), e);
        }
    }

    /** Number of bytes transmitted by that device so far; the loopback device never transmits any. */
    long sent() throws IOException {
        if (networkDevice().isLoopback()) {
            return 0;
        }
        Path counter = Path.of("/sys/class/net", networkDevice().getName(), "statistics", "tx_bytes");
        return Long.parseLong(Files.readString(counter).strip());
    }
}
