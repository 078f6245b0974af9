package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.SocketAddresses;
import org.rdmapanama.ffm.verbs.rdma_addrinfo;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.queue.QueuePairType;

/**
 * The information that an id needs to reach a peer or to listen, {@code struct rdma_addrinfo}: addresses, port space,
 * queue pair type and, on InfiniBand, possibly the route; see rdma_getaddrinfo(3).
 *
 * <p>{@snippet :
 * AddressInfo info = AddressInfo.resolve("10.77.0.2", "7471", new AddressInfoOptions()).getFirst();
 * CmId id = channel.createEndpoint(info);
 * }
 *
 * <p>Threads: any; instances are immutable.
 */
public final class AddressInfo {
    private static final int SOCKADDR_BYTES = SocketAddresses.STORAGE_BYTES;

    private final int flags;
    private final int family;
    private final int queuePairType;
    private final int portSpace;
    private final byte[] source;
    private final byte[] destination;
    private final @Nullable String sourceName;
    private final @Nullable String destinationName;
    private final byte[] route;
    private final byte[] connect;

    private AddressInfo(MemorySegment struct) {
        flags = rdma_addrinfo.ai_flags(struct);
        family = rdma_addrinfo.ai_family(struct);
        queuePairType = rdma_addrinfo.ai_qp_type(struct);
        portSpace = rdma_addrinfo.ai_port_space(struct);
        source = bytes(rdma_addrinfo.ai_src_addr(struct), rdma_addrinfo.ai_src_len(struct));
        destination = bytes(rdma_addrinfo.ai_dst_addr(struct), rdma_addrinfo.ai_dst_len(struct));
        sourceName = string(rdma_addrinfo.ai_src_canonname(struct));
        destinationName = string(rdma_addrinfo.ai_dst_canonname(struct));
        route = bytes(rdma_addrinfo.ai_route(struct), rdma_addrinfo.ai_route_len(struct));
        connect = bytes(rdma_addrinfo.ai_connect(struct), rdma_addrinfo.ai_connect_len(struct));
    }

    private static byte[] bytes(MemorySegment pointer, long length) {
        return ConnectionParameters.bytes(pointer, Math.toIntExact(length));
    }

    private static @Nullable String string(MemorySegment pointer) {
        return pointer.address() == 0
                ? null
                : Native.struct(pointer.address(), Integer.MAX_VALUE).getString(0);
    }

    /**
     * Resolves a host and a service to addresses; see rdma_getaddrinfo(3). This may query a name service and block.
     *
     * @param host name or numeric address; null for any address if {@linkplain AddressInfoOptions#passive passive}
     * @param service port number in digits or service name; null for none
     * @param options which kind of addresses to look for
     * @return at least one result
     * @throws IllegalArgumentException when both host and service are null, or the source address is unresolved
     * @throws NullPointerException when the options are null
     * @throws ConnectionException when no address is found; {@link ConnectionException#status()} is the code of
     *     getaddrinfo(3), such as -2 for an unknown name, and the errno is ENOENT
     * @verb rdma_getaddrinfo
     * @verb rdma_freeaddrinfo
     */
    public static List<AddressInfo> resolve(
            @Nullable String host, @Nullable String service, AddressInfoOptions options) {
        if (host == null && service == null) {
            throw new IllegalArgumentException("host and service must not both be null");
        }
        ConnectionManager manager = ConnectionManagers.preferred();
        try (Arena arena = KnownMemory.ofConfined()) {
            MemorySegment hints = arena.allocate(rdma_addrinfo.layout());
            rdma_addrinfo.ai_flags(hints, options.flags());
            rdma_addrinfo.ai_family(hints, options.familyCode());
            rdma_addrinfo.ai_port_space(hints, options.portSpace().code());
            rdma_addrinfo.ai_qp_type(hints, options.queuePairType().code());
            if (options.source() != null) {
                rdma_addrinfo.ai_src_addr(hints, SocketAddresses.write(arena, options.source()));
                rdma_addrinfo.ai_src_len(hints, SocketAddresses.length(options.source()));
            }
            MemorySegment result = arena.allocate(JAVA_LONG);
            int status = manager.getAddressInfo(
                    string(arena, host), string(arena, service), hints.address(), result.address());
            if (status != 0) {
                throw failure(status, host, service);
            }
            return copyAndFree(manager, result.get(JAVA_LONG, 0));
        }
    }

    private static long string(Arena arena, @Nullable String text) {
        return text == null ? 0 : arena.allocateFrom(text).address();
    }

    private static ConnectionException failure(int status, @Nullable String host, @Nullable String service) {
        String arguments = "host " + host + ", service " + service;
        return status > -ConnectionManager.NAME_SERVICE
                ? CmFailures.of("rdma_getaddrinfo", status, arguments)
                : ConnectionException.ofNameService(status + ConnectionManager.NAME_SERVICE, arguments);
    }

    private static List<AddressInfo> copyAndFree(ConnectionManager manager, long first) {
        try {
            List<AddressInfo> all = new ArrayList<>();
            for (long next = first; next != 0; ) {
                MemorySegment struct = Native.struct(next, rdma_addrinfo.sizeof());
                all.add(new AddressInfo(struct));
                next = rdma_addrinfo.ai_next(struct).address();
            }
            return List.copyOf(all);
        } finally {
            manager.freeAddressInfo(first);
        }
    }

    MemorySegment write(Arena arena) {
        MemorySegment struct = arena.allocate(rdma_addrinfo.layout());
        rdma_addrinfo.ai_flags(struct, flags);
        rdma_addrinfo.ai_family(struct, family);
        rdma_addrinfo.ai_qp_type(struct, queuePairType);
        rdma_addrinfo.ai_port_space(struct, portSpace);
        rdma_addrinfo.ai_src_len(struct, source.length);
        rdma_addrinfo.ai_src_addr(struct, copy(arena, source));
        rdma_addrinfo.ai_dst_len(struct, destination.length);
        rdma_addrinfo.ai_dst_addr(struct, copy(arena, destination));
        rdma_addrinfo.ai_route_len(struct, route.length);
        rdma_addrinfo.ai_route(struct, copy(arena, route));
        rdma_addrinfo.ai_connect_len(struct, connect.length);
        rdma_addrinfo.ai_connect(struct, copy(arena, connect));
        return struct;
    }

    private static MemorySegment copy(Arena arena, byte[] bytes) {
        if (bytes.length == 0) {
            return MemorySegment.NULL;
        }
        MemorySegment copy = arena.allocate(Math.max(bytes.length, SOCKADDR_BYTES), 8);
        MemorySegment.copy(bytes, 0, copy, JAVA_BYTE, 0, bytes.length);
        return copy;
    }

    /**
     * Returns whether this is an address to listen at.
     *
     * @return true for a listening address, false for the address of a peer
     */
    public boolean isPassive() {
        return (flags & rdma_h.RAI_PASSIVE()) != 0;
    }

    /**
     * Returns the port space of the id.
     *
     * @return the port space
     */
    public PortSpace portSpace() {
        return PortSpace.of(portSpace);
    }

    /**
     * Returns the type of queue pair that the id is for.
     *
     * @return the type
     */
    public QueuePairType queuePairType() {
        return QueuePairType.of(queuePairType);
    }

    /**
     * Returns the local address.
     *
     * @return the address; null for any address, and for an address that is not an IP address
     */
    public @Nullable InetSocketAddress source() {
        return address(source);
    }

    /**
     * Returns the address of the peer.
     *
     * @return the address; null for a listening address, and for an address that is not an IP address
     */
    public @Nullable InetSocketAddress destination() {
        return address(destination);
    }

    private static @Nullable InetSocketAddress address(byte[] bytes) {
        if (bytes.length == 0) {
            return null;
        }
        try (Arena arena = KnownMemory.ofConfined()) {
            return SocketAddresses.read(copy(arena, bytes));
        }
    }

    /**
     * Returns the canonical name of the local host.
     *
     * @return the name, or null if it is unknown
     */
    public @Nullable String sourceName() {
        return sourceName;
    }

    /**
     * Returns the canonical name of the peer.
     *
     * @return the name, or null if it is unknown
     */
    public @Nullable String destinationName() {
        return destinationName;
    }

    /**
     * Returns the route in the form that the option RDMA_OPTION_IB_PATH takes: an array of
     * {@code struct ibv_path_data}.
     *
     * @return a copy; empty if the route has not been resolved yet
     */
    public byte[] route() {
        return route.clone();
    }

    boolean hasAddress() {
        return (isPassive() ? source : destination).length > 0;
    }

    /** Returns port space, queue pair type and address. */
    @Override
    public String toString() {
        return portSpace() + " " + queuePairType() + (isPassive() ? " at " + source() : " to " + destination());
    }
}
