package org.rdmapanama.spark;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.rdmapanama.spark.transfer.TransferSettings;

/** The settings of the shuffle manager, {@code spark.rdma.*}, with their defaults. */
final class RdmaShuffleConf {
    /** Where an executor listens: an address, the name of a network interface, or a subnet such as 10.1.0.0/16. */
    static final String ADDRESS = "spark.rdma.address";

    /** The port; 0 for any. */
    static final String PORT = "spark.rdma.port";

    /** The most bytes of shuffle files that an executor registers at once. */
    static final String PINNED = "spark.rdma.pinned";

    /** The memory of an executor for blocks that arrive. */
    static final String BUFFERS = "spark.rdma.buffers";

    /** Whether an executor that cannot use RDMA fails its tasks, instead of reading by TCP. */
    static final String REQUIRED = "spark.rdma.required";

    /** How long connecting to another executor may take. */
    static final String CONNECT_TIMEOUT = "spark.rdma.connectTimeout";

    /** How long another executor may take to answer; then its blocks come by TCP. */
    static final String FETCH_TIMEOUT = "spark.rdma.fetchTimeout";

    /** How long another executor may keep blocks; then it is disconnected. */
    static final String LEASE = "spark.rdma.lease";

    /** After how long without a block a connection is closed. */
    static final String IDLE = "spark.rdma.idle";

    /** What Spark encrypts between executors, so that RDMA must not be used: each with what it depends on. */
    private static final List<String> ENCRYPTING =
            List.of("spark.network.crypto.enabled", "spark.authenticate.enableSaslEncryption", "spark.ssl.rpc.enabled");

    private static final List<String> DEFAULTS =
            List.of(ADDRESS, PORT, PINNED, BUFFERS, REQUIRED, CONNECT_TIMEOUT, FETCH_TIMEOUT, LEASE, IDLE);

    private static final String PREFIX = "spark.rdma.";
    private static final int MOST_PORT = 65535;

    private final SparkConf conf;

    RdmaShuffleConf(SparkConf conf) {
        this.conf = conf;
    }

    /** Returns which setting forbids RDMA; empty if none does. */
    Optional<String> forbidden() {
        return ENCRYPTING.stream().filter(name -> conf.getBoolean(name, false)).findFirst();
    }

    boolean isRequired() {
        return conf.getBoolean(REQUIRED, false);
    }

    /**
     * Returns the sizes and times.
     *
     * @throws IllegalArgumentException when a setting is not known, or has a value that is not allowed
     */
    TransferSettings transfer() {
        Arrays.stream(conf.getAllWithPrefix(PREFIX))
                .map(each -> PREFIX + each._1())
                .filter(name -> !DEFAULTS.contains(name))
                .findFirst()
                .ifPresent(name -> {
                    throw new IllegalArgumentException(
                            name + " is not a setting: there are " + String.join(", ", DEFAULTS));
                });
        return new TransferSettings(
                conf.getSizeAsBytes(PINNED, "1g"),
                conf.getSizeAsBytes(BUFFERS, "256m"),
                time(CONNECT_TIMEOUT, "10s"),
                time(FETCH_TIMEOUT, "30s"),
                time(LEASE, "120s"),
                time(IDLE, "5m"));
    }

    private Duration time(String name, String normally) {
        return Duration.ofMillis(conf.getTimeAsMs(name, normally));
    }

    /**
     * Returns where to listen.
     *
     * @param host what others know this executor by
     * @throws IllegalArgumentException when the setting names nothing of this machine
     */
    InetSocketAddress address(String host) {
        int port = conf.getInt(PORT, 0);
        if (port < 0 || port > MOST_PORT) {
            throw new IllegalArgumentException(PORT + " must be between 0 and " + MOST_PORT + ": " + port);
        }
        String given = conf.get(ADDRESS, host);
        try {
            NetworkInterface named = NetworkInterface.getByName(given);
            if (named != null) {
                return new InetSocketAddress(first(given, named), port);
            }
            return new InetSocketAddress(given.contains("/") ? inSubnet(given) : InetAddress.getByName(given), port);
        } catch (SocketException | UnknownHostException e) {
            throw new IllegalArgumentException(
                    ADDRESS + " must be an address, an interface or a subnet of this machine: " + given, e);
        }
    }

    private static InetAddress first(String name, NetworkInterface named) {
        return named.getInterfaceAddresses().stream()
                .map(InterfaceAddress::getAddress)
                // IPv4 first.
                .min((one, other) -> Integer.compare(one.getAddress().length, other.getAddress().length))
                .orElseThrow(() -> new IllegalArgumentException(
                        ADDRESS + " must be an interface with an address: " + name + " has none"));
    }

    private static InetAddress inSubnet(String subnet) throws SocketException, UnknownHostException {
        String[] parts = subnet.split("/", 2);
        byte[] network = InetAddress.getByName(parts[0]).getAddress();
        int bits;
        try {
            bits = Integer.parseInt(parts[1]);
        } catch (NumberFormatException e) {
            bits = -1;
        }
        if (bits < 0 || bits > network.length * Byte.SIZE) {
            throw new IllegalArgumentException(ADDRESS + " must be a subnet such as 10.1.0.0/16: " + subnet);
        }
        int prefix = bits;
        return NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(each -> isIn(each.getAddress(), network, prefix))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        ADDRESS + " must be a subnet of this machine: it has no address in " + subnet));
    }

    private static boolean isIn(byte[] address, byte[] network, int bits) {
        if (address.length != network.length) {
            return false;
        }
        for (int i = 0; i < bits; i++) {
            int mask = 0x80 >> i % Byte.SIZE;
            if (((address[i / Byte.SIZE] ^ network[i / Byte.SIZE]) & mask) != 0) {
                return false;
            }
        }
        return true;
    }
}
