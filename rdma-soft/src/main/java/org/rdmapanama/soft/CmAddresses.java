package org.rdmapanama.soft;

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
import org.rdmapanama.soft.wire.Memory;

/** The addresses of both sides of an id, which its struct rdma_cm_id tells, and where the other side's device is. */
final class CmAddresses {
    /** In the packets of a connection. */
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

    /** Two socket addresses, and two GIDs behind them. */
    private long sockets() {
        return rdma_route.addr(rdma_cm_id.route(struct())).address();
    }

    private long gids() {
        return sockets() + rdma_addr.sizeof() - rdma_ib_addr.sizeof();
    }

    CmCandidates peers() {
        return peers;
    }

    /** Null before there is one. */
    InetSocketAddress local() {
        return local;
    }

    /** Null before there is one. */
    InetSocketAddress remote() {
        return remote;
    }

    /** Place of the local address in the device's table; -1 before it is one of a device. */
    int index() {
        return index;
    }

    /** The local address, and with it the device, unless it is the wildcard. */
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

    void setRemote(InetSocketAddress address) {
        remote = address;
        SocketStructs.write(address, sockets() + ADDRESS_BYTES);
        writeRemoteGid();
    }

    /** Where the other side's device is may be told by its GID. */
    void writeRemoteGid() {
        long gid = gids() + rdma_ib_addr.dgid$offset();
        Memory.putNetLong(gid, remoteHigh());
        Memory.putNetLong(gid + Long.BYTES, remoteLow());
    }

    /** The other side's device is the one at this place. */
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
        return peers.isEmpty() ? LocalAddresses.high(remote.getAddress()) : LocalAddresses.high(peers.current());
    }

    long remoteLow() {
        return LocalAddresses.low(remote.getAddress());
    }

    // Who else may have, or listen at, the same.

    boolean isWildcard() {
        return local.getAddress().isAnyLocalAddress();
    }

    boolean overlaps(InetAddress address, boolean familyOnly) {
        return includes(address, familyOnly) || SoftManagement.isWildcardOf(address, local.getAddress(), false);
    }

    /** Whether what is for an address is for the local one. */
    boolean includes(InetAddress address, boolean familyOnly) {
        InetAddress own = local.getAddress();
        return own.equals(address) || SoftManagement.isWildcardOf(own, address, familyOnly);
    }

    // Routes.

    /** The way to the other side, a struct ibv_ah_attr. */
    void writeRoute(MemorySegment address, int trafficClass) {
        writeRoute(address, remoteHigh(), remoteLow(), trafficClass);
    }

    /** The way to a GID. */
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
