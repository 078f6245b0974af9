package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;

/** Descriptors that threads wait for together: an epoll(7) descriptor, which is readable while one of them is. */
public final class DescriptorGroup implements AutoCloseable {
    private final int epoll;

    private DescriptorGroup(int epoll) {
        this.epoll = epoll;
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
        try (Arena arena = Arena.ofConfined()) {
            for (int each : descriptors) {
                if (Libc.watch(epoll, arena.allocate(Libc.EPOLL_EVENT_BYTES, 8), Errno.allocate(arena), each) < 0) {
                    Libc.close(epoll);
                    return null;
                }
            }
        }
        return new DescriptorGroup(epoll);
    }

    /**
     * Returns the descriptor to wait for.
     *
     * @return a descriptor that is readable while a member is
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
