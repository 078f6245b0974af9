package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import java.net.Inet4Address;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.rdma_ud_param;

/** The groups that an id has joined. Only the word of it: datagrams to them stay on this device. */
final class CmGroups {
    private static final int MULTICAST_QUEUE_PAIR = 0xff_ffff;

    /** Of an IPv4 group: global, and not permanent. */
    private static final long MULTICAST_GID = 0xff0e_0000_0000_0000L;

    private final SoftCmId id;
    private final List<InetSocketAddress> joined = new ArrayList<>();

    CmGroups(SoftCmId id) {
        this.id = id;
    }

    void join(InetSocketAddress group, long context) {
        joined.add(group);
        SoftCmEvent event = new SoftCmEvent(id, null, rdma_h.RDMA_CM_EVENT_MULTICAST_JOIN(), 0);
        MemorySegment datagram = event.datagram();
        rdma_ud_param.private_data(datagram, MemorySegment.ofAddress(context));
        rdma_ud_param.qp_num(datagram, MULTICAST_QUEUE_PAIR);
        rdma_ud_param.qkey(datagram, CmQueuePair.DATAGRAM_QKEY);
        boolean version4 = group.getAddress() instanceof Inet4Address;
        long high = version4 ? MULTICAST_GID : LocalAddresses.high(group.getAddress());
        id.addresses()
                .writeRoute(
                        rdma_ud_param.ah_attr(datagram),
                        high,
                        LocalAddresses.low(group.getAddress()),
                        id.typeOfService());
        id.tell(event);
    }

    /** Whether it was a member. */
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
