package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.SocketAddresses;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.queue.QueuePairType;

/**
 * The kind of addresses that {@link AddressInfo#resolve} looks for: the hints of rdma_getaddrinfo(3). By default it
 * looks for addresses of peers, for connections in the TCP port space.
 *
 * <p>Threads: not thread-safe.
 */
public final class AddressInfoOptions {
    private int flags;
    private @Nullable ProtocolFamily family;
    private PortSpace portSpace = PortSpace.TCP;
    private @Nullable QueuePairType queuePairType;
    private @Nullable InetSocketAddress source;

    /** Creates options with the defaults that the class description lists. */
    public AddressInfoOptions() {}

    private AddressInfoOptions flag(int flag, boolean on) {
        flags = on ? flags | flag : flags & ~flag;
        return this;
    }

    /**
     * Sets whether to look for an address to listen at.
     *
     * @param on true for a listening address
     * @return this
     */
    public AddressInfoOptions passive(boolean on) {
        return flag(rdma_h.RAI_PASSIVE(), on);
    }

    /**
     * Sets whether the host must be a numeric address, so that no name service is queried.
     *
     * @param on true if it must be numeric
     * @return this
     */
    public AddressInfoOptions numericHost(boolean on) {
        return flag(rdma_h.RAI_NUMERICHOST(), on);
    }

    /**
     * Sets whether to skip resolving the route; the id then resolves it later.
     *
     * @param on true to skip it
     * @return this
     */
    public AddressInfoOptions noRoute(boolean on) {
        return flag(rdma_h.RAI_NOROUTE(), on);
    }

    /**
     * Sets the address family to look for.
     *
     * @param value INET for IPv4, INET6 for IPv6, null for either
     * @return this
     * @throws IllegalArgumentException when the value is any other family
     */
    public AddressInfoOptions family(@Nullable ProtocolFamily value) {
        if (value != null && value != StandardProtocolFamily.INET && value != StandardProtocolFamily.INET6) {
            throw new IllegalArgumentException("family must be INET, INET6 or null: " + value);
        }
        family = value;
        return flag(rdma_h.RAI_FAMILY(), value != null);
    }

    /**
     * Sets the port space that the id will use.
     *
     * @param value the port space
     * @return this
     * @throws IllegalArgumentException when it is UNKNOWN
     * @throws NullPointerException when it is null
     */
    public AddressInfoOptions portSpace(PortSpace value) {
        if (Objects.requireNonNull(value, "portSpace") == PortSpace.UNKNOWN) {
            throw new IllegalArgumentException("portSpace must not be UNKNOWN");
        }
        portSpace = value;
        return this;
    }

    /**
     * Sets the type of queue pair that the id will be for.
     *
     * @param value the type; null for the default of the port space: UD for UDP and IPOIB, else RC
     * @return this
     */
    public AddressInfoOptions queuePairType(@Nullable QueuePairType value) {
        queuePairType = value;
        return this;
    }

    /**
     * Sets the local address to connect from.
     *
     * @param value the address; null for any
     * @return this
     */
    public AddressInfoOptions source(@Nullable InetSocketAddress value) {
        source = value;
        return this;
    }

    int flags() {
        return flags;
    }

    boolean isPassive() {
        return (flags & rdma_h.RAI_PASSIVE()) != 0;
    }

    int familyCode() {
        if (family == null) {
            return 0;
        }
        return family == StandardProtocolFamily.INET ? SocketAddresses.AF_INET : SocketAddresses.AF_INET6;
    }

    PortSpace portSpace() {
        return portSpace;
    }

    QueuePairType queuePairType() {
        if (queuePairType != null) {
            return queuePairType;
        }
        return portSpace == PortSpace.UDP || portSpace == PortSpace.IPOIB ? QueuePairType.UD : QueuePairType.RC;
    }

    @Nullable
    InetSocketAddress source() {
        return source;
    }

    /** What is looked for. */
    @Override
    public String toString() {
        return "%s, %s, %s%s%s"
                .formatted(
                        isPassive() ? "to listen" : "to connect",
                        portSpace,
                        queuePairType(),
                        family == null ? "" : ", " + family,
                        source == null ? "" : ", from " + source);
    }
}
