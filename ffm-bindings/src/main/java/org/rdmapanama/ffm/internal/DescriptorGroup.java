package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Descriptors that threads wait for together: an epoll(7) descriptor, which is readable while one of them is. That costs
 * whoever makes one of them readable some time, also if nobody waits: {@link #ignore} spares it. Not thread-safe, but
 * threads may wait for the descriptor meanwhile.
 */
public final class DescriptorGroup implements AutoCloseable {
    private final int epoll;
    private final int[] members;
    private final MemorySegment event = Arena.ofAuto().allocate(Libc.EPOLL_EVENT_BYTES, 8);
    private final MemorySegment errno = Errno.allocate(Arena.ofAuto());

    /** The first members, so many, are watched. */
    private int watched;

    private DescriptorGroup(int epoll, int... members) {
        this.epoll = epoll;
        this.members = members.clone();
    }

    /**
     * Creates a group, on Linux.
     *
     * @param descriptors its members, open until it is closed
     * @return a new group, or null where the system has none left or does not take one of the descriptors
     */
    public static DescriptorGroup of(int... descriptors) {
        int epoll = Libc.epoll();
        if (epoll < 0) {
            return null;
        }
        DescriptorGroup group = new DescriptorGroup(epoll, descriptors);
        if (!group.watch()) {
            group.close();
            return null;
        }
        return group;
    }

    /**
     * Has the descriptor of the group be readable while a member is, as it is from the beginning. Allocates nothing.
     *
     * @return false if the system has no memory for it now
     */
    public boolean watch() {
        while (watched < members.length && Libc.watch(epoll, event, errno, members[watched]) == 0) {
            watched++;
        }
        return watched == members.length;
    }

    /** Has the descriptor of the group not be readable, until {@link #watch}. Allocates nothing. */
    public void ignore() {
        while (watched > 0) {
            watched--;
            // Fails only if the member has been closed, and then the group has forgotten it.
            Libc.forget(epoll, event, errno, members[watched]);
        }
    }

    /**
     * Returns the descriptor to wait for.
     *
     * @return a descriptor that is readable while a member is, unless they are ignored
     */
    public int descriptor() {
        return epoll;
    }

    /** Closes the descriptor of the group; the members stay open. */
    @Override
    public void close() {
        Libc.close(epoll);
    }
}
