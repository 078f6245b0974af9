package org.rdmapanama.soft;

import org.rdmapanama.soft.memory.NativeBlock;

/**
 * Memory that a local or remote key gives access to: a memory region, or a memory window. {@link MemoryVerbs} creates
 * it, {@link ScatterGatherCursor} and {@link Responder} check every access with it. Callers must hold the lock of the device.
 */
final class KeyedMemory {
    /** The protection domain's number, which a key must share with the queue pair that uses it. */
    final int protectionDomain;

    /** The memory of the C structure. */
    final NativeBlock struct;

    /** True for a window, false for a region. */
    final boolean window;

    /** Of enum ibv_mw_type, for windows; 0 for regions. */
    final int windowType;

    /** The key; that of a type 2 window changes with every binding. */
    int key;

    /** False for an unbound window, which gives no access. */
    boolean valid;

    /** The first address, as holders of the key see it. */
    long start;

    long length;

    /** The difference between the real address and that of the holders. */
    long shift;

    int access;

    /** The queue pair that a type 2 window is bound to, or null. */
    SoftQueuePair boundTo;

    /** The region that a window is bound to, or null. */
    KeyedMemory region;

    /** The number of windows that are bound to this region. */
    int windows;

    KeyedMemory(int protectionDomain, NativeBlock struct, boolean window, int windowType) {
        this.protectionDomain = protectionDomain;
        this.struct = struct;
        this.window = window;
        this.windowType = windowType;
    }

    /** Returns whether the memory contains the whole range. */
    boolean covers(long address, long bytes) {
        long offset = address - start;
        return offset >= 0 && offset <= length && bytes <= length - offset;
    }

    boolean allowsRemote() {
        return (access & (VerbsConstants.REMOTE_READ | VerbsConstants.REMOTE_WRITE | VerbsConstants.REMOTE_ATOMIC))
                != 0;
    }

    boolean allows(int flags) {
        return (access & flags) == flags;
    }
}
