package org.rdmapanama.soft.connect;

import java.lang.foreign.MemorySegment;
import java.net.Inet4Address;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.rdma_ud_param;
import org.rdmapanama.soft.net.Gids;

/**
 * The multicast groups that an id has joined. Joining sends no IGMP or MLD: datagrams to a group stay on this device,
 * see {@link MulticastTable}. {@link SoftCmId} owns one. Callers must hold the lock of the device.
 */
final class CmGroups {
    private static final int MULTICAST_QUEUE_PAIR = 0xff_ffff;

    /** First half of the multicast GID of an IPv4 group: global scope, transient. */
    private static final long MULTICAST_GID = 0xff0e_0000_0000_0000L;

    private final SoftCmId id;
    private final List<InetSocketAddress> joined = new ArrayList<>();

    CmGroups(SoftCmId id) {
        this.id = id;
    }

    /** Joins a group and queues the MULTICAST_JOIN event. */
    void join(InetSocketAddress group, long context) {
        joined.add(group);
        SoftCmEvent event = new SoftCmEvent(id, null, rdma_h.RDMA_CM_EVENT_MULTICAST_JOIN(), 0);
        MemorySegment datagram = event.datagram();
        rdma_ud_param.private_data(datagram, MemorySegment.ofAddress(context));
        rdma_ud_param.qp_num(datagram, MULTICAST_QUEUE_PAIR);
        rdma_ud_param.qkey(datagram, CmQueuePair.DATAGRAM_QKEY);
        boolean version4 = group.getAddress() instanceof Inet4Address;
        long high = version4 ? MULTICAST_GID : Gids.high(group.getAddress());
        id.addresses()
                .writeRoute(rdma_ud_param.ah_attr(datagram), high, Gids.low(group.getAddress()), id.typeOfService());
        id.tell(event);
    }

    /** Leaves a group. Returns false if the id was not a member. */
    boolean leave(InetSocketAddress group) {
        for (InetSocketAddress each : joined) {
            if (each.getAddress().equals(group.getAddress())) {
                joined.remove(each);
                return true;
            }
        }
        return false;
    }
}
