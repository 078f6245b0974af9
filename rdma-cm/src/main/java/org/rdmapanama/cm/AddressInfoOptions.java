package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import java.util.Objects;
import org.rdmapanama.QueuePairType;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * What kind of addresses {@link AddressInfo#resolve} looks for: the hints of rdma_getaddrinfo(3). Unless told otherwise:
 * addresses of peers, for connections of the TCP port space.
 *
 * <p>Threads: one at a time.
 */
public final class AddressInfoOptions {
    private int flags;
    private ProtocolFamily family;
    private PortSpace portSpace = PortSpace.TCP;
    private QueuePairType queuePairType;
    private InetSocketAddress source;

    /** As the class text says. */
    public AddressInfoOptions() {}

    private AddressInfoOptions flag(int flag, boolean on) {
        flags = on ? flags | flag : flags & ~flag;
        return this;
    }

    /**
     * Whether the address is to listen at.
     *
     * @param on true if so
     * @return this
     */
    public AddressInfoOptions passive(boolean on) {
        return flag(rdma_h.RAI_PASSIVE(), on);
    }

    /**
     * Whether the host is an address in digits, which no name service is asked for.
     *
     * @param on true if so
     * @return this
     */
    public AddressInfoOptions numericHost(boolean on) {
        return flag(rdma_h.RAI_NUMERICHOST(), on);
    }

    /**
     * Whether to leave the route to be resolved later.
     *
     * @param on true if so
     * @return this
     */
    public AddressInfoOptions noRoute(boolean on) {
        return flag(rdma_h.RAI_NOROUTE(), on);
    }

    /**
     * Which addresses to look for.
     *
     * @param value INET for IPv4, INET6 for IPv6, null for either
     * @return this
     * @throws IllegalArgumentException when it is another family
     */
    public AddressInfoOptions family(ProtocolFamily value) {
        if (value != null && value != StandardProtocolFamily.INET && value != StandardProtocolFamily.INET6) {
            throw new IllegalArgumentException("the family is INET or INET6, not " + value);
        }
        family = value;
        return flag(rdma_h.RAI_FAMILY(), value != null);
    }

    /**
     * Whose port numbers the id will use.
     *
     * @param value the port space
     * @return this
     * @throws IllegalArgumentException when it is UNKNOWN
     * @throws NullPointerException when it is null
     */
    public AddressInfoOptions portSpace(PortSpace value) {
        if (Objects.requireNonNull(value, "portSpace") == PortSpace.UNKNOWN) {
            throw new IllegalArgumentException("an id has a port space that is known");
        }
        portSpace = value;
        return this;
    }

    /**
     * Which queue pairs the id will be for.
     *
     * @param value their type; null for what the port space says
     * @return this
     */
    public AddressInfoOptions queuePairType(QueuePairType value) {
        queuePairType = value;
        return this;
    }

    /**
     * Which address of this machine to connect from.
     *
     * @param value the address; null for any
     * @return this
     */
    public AddressInfoOptions source(InetSocketAddress value) {
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

    InetSocketAddress source() {
        return source;
    }
}
