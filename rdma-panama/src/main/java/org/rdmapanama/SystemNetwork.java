package org.rdmapanama;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The network of this machine, as it is now. */
final class SystemNetwork implements Network {
    static final SystemNetwork INSTANCE = new SystemNetwork();

    private static final Path NET_DEVICES = Path.of("/sys/class/net");

    /** Any: a datagram channel that is connected looks for a route, and sends nothing. */
    private static final int PORT = 9;

    private SystemNetwork() {}

    @Override
    public List<Address> addresses() {
        List<Address> addresses = new ArrayList<>();
        try (Stream<NetworkInterface> interfaces = NetworkInterface.networkInterfaces()) {
            interfaces.forEach(each -> {
                for (InterfaceAddress at : each.getInterfaceAddresses()) {
                    addresses.add(new Address(each.getIndex(), at.getAddress(), at.getNetworkPrefixLength()));
                }
            });
        } catch (SocketException e) {
            // Then nothing is known of it, and a choice goes by the table of GIDs alone.
        }
        return addresses;
    }

    /** Without /sys nobody can tell, and nothing speaks against it. */
    @Override
    public boolean hasInterface(int index) {
        return Files.notExists(NET_DEVICES) || nameOf(index).isPresent();
    }

    /** The name of an interface. */
    static Optional<String> nameOf(int index) {
        // java.net.NetworkInterface does not list a network device that is down or has no address.
        try (DirectoryStream<Path> devices = Files.newDirectoryStream(NET_DEVICES)) {
            for (Path device : devices) {
                if (indexOf(device).equals(Integer.toString(index))) {
                    return Optional.of(device.getFileName().toString());
                }
            }
            return Optional.empty();
        } catch (IOException noSysfs) {
            return Optional.empty();
        }
    }

    private static String indexOf(Path device) {
        try {
            return Files.readString(device.resolve("ifindex")).strip();
        } catch (IOException goneMeanwhile) {
            return "";
        }
    }

    @Override
    public InetAddress sourceTo(InetAddress peer) {
        StandardProtocolFamily family =
                peer instanceof Inet4Address ? StandardProtocolFamily.INET : StandardProtocolFamily.INET6;
        try (DatagramChannel channel = DatagramChannel.open(family)) {
            channel.connect(new InetSocketAddress(peer, PORT));
            return ((InetSocketAddress) channel.getLocalAddress()).getAddress();
        } catch (IOException | UnsupportedOperationException noRoute) {
            return null;
        }
    }
}
