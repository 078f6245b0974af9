package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Memory;

/** What memory windows are bound to. Whoever calls has the device's lock. */
final class MemoryWindows {
    /** The part of a key that its owner changes. */
    private static final int CHANGES = (1 << SoftDevice.KEY_OWNER_BITS) - 1;

    private final Numbered<KeyedMemory> keys;

    /** Among the keys of a device. */
    MemoryWindows(Numbered<KeyedMemory> keys) {
        this.keys = keys;
    }

    /** The key of a window after this one. */
    static int next(int key) {
        return (key & ~CHANGES) | ((key + 1) & CHANGES);
    }

    /** Binds a memory window as a work request says; the status of that. */
    int bind(SoftQueuePair queuePair, long slot) {
        int handle = Memory.getInt(slot + SendQueue.WINDOW);
        KeyedMemory window = keys.atPlaceOf(handle);
        long length = Memory.getLong(slot + SendQueue.WINDOW_LENGTH);
        // Since the request was posted, the window may have gone, and something else have come to its place.
        if (window == null
                || !window.window
                || SoftContext.handleOfWindow(window.struct.address()) != handle
                || window.protectionDomain != queuePair.protectionDomain) {
            return Verbs.MW_BIND_ERR;
        }
        int newKey = Memory.getInt(slot + SendQueue.RKEY);
        boolean type2 = window.windowType == Verbs.MW_TYPE_2;
        boolean changesOthers = ((newKey ^ window.key) & ~CHANGES) != 0;
        if (changesOthers || (type2 && (window.valid || length == 0))) {
            return Verbs.MW_BIND_ERR;
        }
        KeyedMemory region = keys.get(Memory.getInt(slot + SendQueue.WINDOW_REGION));
        if (length == 0) {
            unbind(window);
        } else if (!canBind(window, region, slot)) {
            return Verbs.MW_BIND_ERR;
        } else {
            unbind(window);
            bind(window, region, slot);
            window.boundTo = type2 ? queuePair : null;
        }
        keys.renumber(window.key, newKey);
        window.key = newKey;
        return Verbs.SUCCESS;
    }

    private boolean canBind(KeyedMemory window, KeyedMemory region, long slot) {
        int access = Memory.getInt(slot + SendQueue.WINDOW_ACCESS);
        boolean writes = (access & (Verbs.REMOTE_WRITE | Verbs.REMOTE_ATOMIC)) != 0;
        return region != null
                && region.valid
                && !region.window
                && region.protectionDomain == window.protectionDomain
                && region.allows(Verbs.MW_BIND)
                && (region.access & Verbs.ZERO_BASED) == 0
                && (!writes || region.allows(Verbs.LOCAL_WRITE))
                && region.covers(
                        Memory.getLong(slot + SendQueue.WINDOW_START), Memory.getLong(slot + SendQueue.WINDOW_LENGTH));
    }

    private static void bind(KeyedMemory window, KeyedMemory region, long slot) {
        long start = Memory.getLong(slot + SendQueue.WINDOW_START);
        window.access = Memory.getInt(slot + SendQueue.WINDOW_ACCESS);
        window.length = Memory.getLong(slot + SendQueue.WINDOW_LENGTH);
        boolean fromZero = (window.access & Verbs.ZERO_BASED) != 0;
        window.start = fromZero ? 0 : start;
        window.shift = region.shift + (fromZero ? start : 0);
        window.region = region;
        window.valid = true;
        region.windows++;
    }

    KeyedMemory of(long memoryWindow) {
        return keys.atPlaceOf(SoftContext.handleOfWindow(memoryWindow));
    }

    /** No window stays bound to a queue pair that ends. */
    void unbindAllOf(SoftQueuePair queuePair) {
        keys.forEach(memory -> {
            if (memory.boundTo == queuePair) {
                unbind(memory);
            }
        });
    }

    /** A window's key leads nowhere from now on. */
    void unbind(KeyedMemory window) {
        if (window.region != null) {
            window.region.windows--;
            window.region = null;
        }
        window.boundTo = null;
        window.valid = false;
    }
}
