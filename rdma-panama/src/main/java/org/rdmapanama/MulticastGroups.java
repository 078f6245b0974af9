package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashSet;
import java.util.Set;
import org.rdmapanama.address.Gid;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.internal.AddressStructs;
import org.rdmapanama.queue.QueuePairType;

/** The multicast groups that a queue pair is attached to. */
final class MulticastGroups {
    private final QueuePair queuePair;

    /** Guarded by the arena's lock. */
    private final Set<Group> groups = new LinkedHashSet<>();

    private record Group(Gid gid, int lid) {
        Group {
            if (!gid.isMulticast()) {
                throw new IllegalArgumentException("group must be a multicast address, which begins with ff or is an"
                        + " IPv4-mapped address from 224.0.0.0 to 239.255.255.255: " + gid);
            }
            if (lid < 0 || lid > 0xffff) {
                throw new IllegalArgumentException("lid must be between 0 and 65535: " + lid);
            }
        }

        @Override
        public String toString() {
            return "group " + gid + ", LID " + lid;
        }
    }

    MulticastGroups(QueuePair queuePair) {
        this.queuePair = queuePair;
    }

    /** For {@link QueuePair#attachMulticast}. */
    void attach(Gid gid, int lid) {
        Group group = new Group(gid, lid);
        change(() -> {
            requireOneLid(group);
            check("ibv_attach_mcast", call(group, true), group, Cures.NONE);
            groups.add(group);
        });
    }

    /** For {@link QueuePair#detachMulticast}. */
    void detach(Gid gid, int lid) {
        Group group = new Group(gid, lid);
        change(() -> {
            check(
                    "ibv_detach_mcast",
                    call(group, false),
                    group,
                    errno -> errno == Errno.EINVAL && !groups.contains(group)
                            ? "the queue pair is not attached to this group"
                            : null);
            groups.remove(group);
        });
    }

    /** Takes the arena's lock, so that nothing is attached while the queue pair closes. */
    private void change(Runnable change) {
        if (queuePair.type() != QueuePairType.UD) {
            throw new IllegalArgumentException("multicast needs a queue pair of type UD: " + queuePair);
        }
        queuePair.arena.lock().lock();
        try {
            queuePair.checkOpen();
            change.run();
        } finally {
            queuePair.arena.lock().unlock();
        }
    }

    /**
     * A group has one LID. Soft-RoCE compares only the GID: with a second LID it attaches nothing, so detaching fails,
     * and the kernel, which has counted both, never destroys the queue pair.
     */
    private void requireOneLid(Group group) {
        for (Group attached : groups) {
            if (attached.gid.equals(group.gid) && attached.lid != group.lid) {
                throw new IllegalArgumentException(queuePair + " is attached to group " + group.gid + " with LID "
                        + attached.lid + ", not " + group.lid + "; detach it first");
            }
        }
    }

    private void check(String verb, int result, Group group, Cures cures) {
        if (result < 0) {
            throw queuePair.context.failure(
                    verb,
                    -result,
                    queuePair + ", " + group,
                    cures,
                    "DeviceAttributes.maxMulticastGroups, which is then 0");
        }
    }

    private int call(Group group, boolean attach) {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment gid = temporary.allocate(Gid.BYTES, Long.BYTES);
            AddressStructs.writeGid(group.gid, gid, 0);
            return attach
                    ? queuePair.provider.attachMulticast(queuePair.address, gid.address(), group.lid)
                    : queuePair.provider.detachMulticast(queuePair.address, gid.address(), group.lid);
        }
    }

    /**
     * Detaches the queue pair from all groups, because the kernel does not destroy it otherwise. If this fails,
     * destroying it fails, which is reported. The caller must hold the arena's lock.
     */
    void detachAll() {
        for (Group group : groups) {
            call(group, false);
        }
        groups.clear();
    }
}
