package org.rdmapanama.soft;

import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.soft.memory.Memory;

/**
 * The queue pairs of this device that are attached to multicast groups. Datagrams to a group never leave the device.
 * {@link SoftContext} attaches and detaches, {@link DatagramRequester} delivers. Callers must hold the lock of the
 * device.
 */
final class MulticastTable {
    private final List<Member> members = new ArrayList<>();

    private record Member(SoftQueuePair queuePair, long gidHigh, long gidLow) {}

    int attach(SoftQueuePair queuePair, long gid) {
        if (queuePair.type != VerbsConstants.UD) {
            return Errno.EINVAL;
        }
        Member member = member(queuePair, gid);
        if (!members.contains(member)) {
            members.add(member);
        }
        return 0;
    }

    int detach(SoftQueuePair queuePair, long gid) {
        return members.remove(member(queuePair, gid)) ? 0 : Errno.EINVAL;
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

    /** Removes a queue pair from all groups. */
    void leave(SoftQueuePair queuePair) {
        members.removeIf(member -> member.queuePair == queuePair);
    }

    /** Delivers a datagram to all members of a group, except the sender. */
    void deliver(DatagramRequester from, long slot, SoftAddressHandle to, int key) {
        for (int i = 0; i < members.size(); i++) {
            Member member = members.get(i);
            if (member.queuePair != from.queuePair && member.gidHigh == to.gidHigh && member.gidLow == to.gidLow) {
                from.deliver(member.queuePair, slot, to, key);
            }
        }
    }
}
