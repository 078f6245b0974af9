package org.rdmapanama.internal.network;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.internal.ObjectModelAccess;

/**
 * The network of this machine, as it is now.
 *
 * <p>Each query needs a few file descriptors. A query that fails for lack of descriptors must not look like an answer,
 * or another GID would be chosen. Also, the first query may initialize the JDK's socket and channel classes, and a
 * failure there would make them unusable in the whole process. So this first ensures that there are enough descriptors,
 * and examines the cause of failures.
 */
public final class SystemNetwork implements Network {
    public static final SystemNetwork INSTANCE = new SystemNetwork();

    private static final Path NET_DEVICES = Path.of("/sys/class/net");

    /** Any port: connecting a datagram socket looks up a route and sends nothing. */
    private static final int PORT = 9;

    private SystemNetwork() {}

    @Override
    public List<Address> addresses() {
        requireDescriptors();
        List<Address> addresses = new ArrayList<>();
        try (Stream<NetworkInterface> interfaces = NetworkInterface.networkInterfaces()) {
            interfaces.forEach(each -> {
                for (InterfaceAddress at : each.getInterfaceAddresses()) {
                    addresses.add(new Address(each.getIndex(), at.getAddress(), at.getNetworkPrefixLength()));
                }
            });
        } catch (SocketException e) {
            requireDescriptors();
            // Nothing is known about the network then, and the choice depends on the GID table alone.
        }
        return addresses;
    }

    /** Without /sys this is not known, and the interface is assumed to exist. */
    @Override
    public boolean hasInterface(int index) {
        return Files.notExists(NET_DEVICES) || nameOf(index).isPresent();
    }

    /**
     * Returns the name of an interface.
     *
     * @throws VerbsException when too many files are open
     */
    public static Optional<String> nameOf(int index) {
        // java.net.NetworkInterface does not list a network device that is down or has no address.
        try (DirectoryStream<Path> devices = Files.newDirectoryStream(NET_DEVICES)) {
            for (Path device : devices) {
                if (indexOf(device).equals(Integer.toString(index))) {
                    return Optional.of(device.getFileName().toString());
                }
            }
            return Optional.empty();
        } catch (IOException | DirectoryIteratorException noSysfs) {
            requireDescriptors();
            return Optional.empty();
        }
    }

    private static String indexOf(Path device) {
        try {
            return Files.readString(device.resolve("ifindex")).strip();
        } catch (IOException goneMeanwhile) {
            requireDescriptors();
            return "";
        }
    }

    @Override
    public InetAddress sourceTo(InetAddress peer) {
        requireDescriptors();
        // To open a channel the JDK searches the whole class path for channel providers; for a socket it does not.
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.connect(new InetSocketAddress(peer, PORT));
            return socket.getLocalAddress();
        } catch (SocketException noRoute) {
            requireDescriptors();
            return null;
        }
    }

    private static void requireDescriptors() {
        if (FreeDescriptors.check(FreeDescriptors.FEW) < 0) {
            throw ObjectModelAccess.get()
                    .failure(
                            "ibv_query_gid_table",
                            Errno.EMFILE,
                            "the network interfaces behind the GIDs",
                            FreeDescriptors.CURE);
        }
    }
}
