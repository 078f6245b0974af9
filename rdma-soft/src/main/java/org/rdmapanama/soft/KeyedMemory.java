package org.rdmapanama.soft;

/** Memory that a key gives access to: a memory region, or a memory window. */
final class KeyedMemory {
    /** The protection domain's number, which a key must share with the queue pair that uses it. */
    final int protectionDomain;

    /** Of the C structure. */
    final NativeBlock struct;

    /** A region, or a window on one. */
    final boolean window;

    /** Of enum ibv_mw_type, for windows; 0 for regions. */
    final int windowType;

    /** The key itself; that of a window of type 2 changes as it is bound. */
    int key;

    /** Access goes nowhere while this is not set: by a window that is not bound. */
    boolean valid;

    /** Where the memory begins, as keys' holders know it. */
    long start;

    long length;

    /** What to add to an address of the holders to have the memory's own. */
    long shift;

    int access;

    /** The queue pair that a window of type 2 is bound to. */
    SoftQueuePair boundTo;

    /** What a window is bound to. */
    KeyedMemory region;

    /** Windows that are bound to this region. */
    int windows;

    KeyedMemory(int protectionDomain, NativeBlock struct, boolean window, int windowType) {
        this.protectionDomain = protectionDomain;
        this.struct = struct;
        this.window = window;
        this.windowType = windowType;
    }

    /** Whether all of a range belongs to it. */
    boolean covers(long address, long bytes) {
        long offset = address - start;
        return offset >= 0 && offset <= length && bytes <= length - offset;
    }

    boolean allowsRemote() {
        return (access & (Verbs.REMOTE_READ | Verbs.REMOTE_WRITE | Verbs.REMOTE_ATOMIC)) != 0;
    }

    boolean allows(int flags) {
        return (access & flags) == flags;
    }
}
