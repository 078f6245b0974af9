package org.rdmapanama.soft.connect;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.ffm.verbs.rdma_addr;
import org.rdmapanama.ffm.verbs.rdma_cm_id;
import org.rdmapanama.ffm.verbs.rdma_ib_addr;
import org.rdmapanama.ffm.verbs.rdma_route;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.net.Gids;
import org.rdmapanama.soft.net.SocketStructs;

/**
 * The local and the remote address of an id, as its struct rdma_cm_id holds them, and the sockets at which the peer's
 * device may be. {@link SoftCmId} owns one; {@link CmExchange} reads it to address datagrams. Callers must hold the
 * lock of the device.
 */
final class CmAddresses {
    /** The hop limit of the packets of a connection. */
    static final int HOPS = 64;

    private static final int ADDRESS_BYTES = 128;

    private final SoftManagement management;

    /** The address of the struct rdma_cm_id. */
    private final long id;

    private final CmCandidates peers = new CmCandidates();
    private InetSocketAddress local;
    private InetSocketAddress remote;
    private int index = -1;

    CmAddresses(SoftManagement management, long id) {
        this.management = management;
        this.id = id;
    }

    private MemorySegment struct() {
        return Native.struct(id, rdma_cm_id.layout());
    }

    /** Returns the address of the struct rdma_addr: two socket addresses, followed by two GIDs. */
    private long sockets() {
        return rdma_route.addr(rdma_cm_id.route(struct())).address();
    }

    private long gids() {
        return sockets() + rdma_addr.sizeof() - rdma_ib_addr.sizeof();
    }

    /** Returns the sockets at which the peer's device may be. */
    CmCandidates peers() {
        return peers;
    }

    /** Returns the local address, or null before the id is bound. */
    InetSocketAddress local() {
        return local;
    }

    /** Returns the remote address, or null before it is resolved. */
    InetSocketAddress remote() {
        return remote;
    }

    /** Returns the index of the local address in the GID table; -1 if the address does not belong to the device. */
    int index() {
        return index;
    }

    /** Sets the local address; unless it is the wildcard address, this also binds the id to the device. */
    void setLocal(InetSocketAddress address) {
        local = address;
        index = management.addresses().indexOf(address.getAddress());
        SocketStructs.write(address, sockets());
        if (index >= 0) {
            rdma_cm_id.verbs(struct(), MemorySegment.ofAddress(management.context.address()));
            rdma_cm_id.port_num(struct(), (byte) 1);
            management.addresses().writeGid(index, gids() + rdma_ib_addr.sgid$offset());
        }
    }

    /** Forgets the local address, because another process has the port. */
    void clearLocal() {
        local = null;
        index = -1;
        Memory.zero(sockets(), ADDRESS_BYTES);
        rdma_cm_id.verbs(struct(), MemorySegment.NULL);
        rdma_cm_id.port_num(struct(), (byte) 0);
    }

    /** Sets the remote address. */
    void setRemote(InetSocketAddress address) {
        remote = address;
        SocketStructs.write(address, sockets() + ADDRESS_BYTES);
        writeRemoteGid();
    }

    /** Writes the GID of the peer, which contains the port of its device if that is not 4791. */
    void writeRemoteGid() {
        long gid = gids() + rdma_ib_addr.dgid$offset();
        Memory.putNetLong(gid, remoteHigh());
        Memory.putNetLong(gid + Long.BYTES, remoteLow());
    }

    /** Records that the peer's device is the one at the given socket. */
    void settle(InetSocketAddress place) {
        peers.settle(place);
        writeRemoteGid();
    }

    long localHigh() {
        return management.addresses().high(index);
    }

    long localLow() {
        return management.addresses().low(index);
    }

    long remoteHigh() {
        return peers.isEmpty() ? Gids.high(remote.getAddress()) : Gids.high(peers.current());
    }

    long remoteLow() {
        return Gids.low(remote.getAddress());
    }

    // Conflicts with other ids, and matching of listeners.

    boolean isWildcard() {
        return local.getAddress().isAnyLocalAddress();
    }

    boolean overlaps(InetAddress address, boolean familyOnly) {
        return includes(address, familyOnly) || SoftManagement.isWildcardOf(address, local.getAddress(), false);
    }

    /** Returns whether the local address is, or as a wildcard covers, the given address. */
    boolean includes(InetAddress address, boolean familyOnly) {
        InetAddress own = local.getAddress();
        return own.equals(address) || SoftManagement.isWildcardOf(own, address, familyOnly);
    }

    // Routes.

    /** Writes the address vector of the peer, a struct ibv_ah_attr. */
    void writeRoute(MemorySegment address, int trafficClass) {
        writeRoute(address, remoteHigh(), remoteLow(), trafficClass);
    }

    /** Writes the address vector of a GID. */
    void writeRoute(MemorySegment address, long high, long low, int trafficClass) {
        MemorySegment route = ibv_ah_attr.grh(address);
        long gid = ibv_global_route.dgid(route).address();
        Memory.putNetLong(gid, high);
        Memory.putNetLong(gid + Long.BYTES, low);
        ibv_global_route.sgid_index(route, (byte) index);
        ibv_global_route.hop_limit(route, (byte) HOPS);
        ibv_global_route.traffic_class(route, (byte) trafficClass);
        ibv_ah_attr.is_global(address, (byte) 1);
        ibv_ah_attr.port_num(address, (byte) 1);
    }
}
