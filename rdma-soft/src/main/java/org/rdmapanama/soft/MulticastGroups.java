package org.rdmapanama.soft;

import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.soft.wire.Memory;

/** The queue pairs of this device in multicast groups, which go no further. Whoever calls has the device's lock. */
final class MulticastGroups {
    private final List<Member> members = new ArrayList<>();

    private record Member(SoftQueuePair queuePair, long gidHigh, long gidLow) {}

    int attach(SoftQueuePair queuePair, long gid) {
        if (queuePair.type != Verbs.UD) {
            return Verbs.EINVAL;
        }
        Member member = member(queuePair, gid);
        if (!members.contains(member)) {
            members.add(member);
        }
        return 0;
    }

    int detach(SoftQueuePair queuePair, long gid) {
        return members.remove(member(queuePair, gid)) ? 0 : Verbs.EINVAL;
    }

    private static Member member(SoftQueuePair queuePair, long gid) {
        return new Member(queuePair, Memory.getNetLong(gid), Memory.getNetLong(gid + Long.BYTES));
    }

    boolean has(SoftQueuePair queuePair) {
        for (Member member : members) {
            if (member.queuePair == queuePair) {
                return true;
            }
        }
        return false;
    }

    /** It is a member of no group from now on. */
    void leave(SoftQueuePair queuePair) {
        members.removeIf(member -> member.queuePair == queuePair);
    }

    /** Gives a datagram to all members of a group on this device, but the sender. */
    void deliver(SoftQueuePair from, long slot, SoftAddressHandle to, int key, Segments segments) {
        for (int i = 0; i < members.size(); i++) {
            Member member = members.get(i);
            if (member.queuePair != from && member.gidHigh == to.gidHigh && member.gidLow == to.gidLow) {
                DatagramRequester.deliver(from, member.queuePair, slot, to, key, segments);
            }
        }
    }
}
