package org.rdmapanama.soft;

import org.rdmapanama.soft.memory.Memory;

/**
 * Binds and unbinds memory windows. {@link SoftQueuePair} calls it for bind work requests, {@link MemoryVerbs} and
 * {@link Responder} to unbind. Callers must hold the lock of the device.
 */
final class MemoryWindows {
    /** The bits of a key that its owner may change. */
    private static final int CHANGES = (1 << SoftDevice.KEY_OWNER_BITS) - 1;

    private final HandleTable<KeyedMemory> keys;

    /** Creates the windows of a device, given its keys. */
    MemoryWindows(HandleTable<KeyedMemory> keys) {
        this.keys = keys;
    }

    /** Returns the key that follows a key of a window. */
    static int next(int key) {
        return (key & ~CHANGES) | ((key + 1) & CHANGES);
    }

    /** Executes a bind work request. Returns its status. */
    int bind(SoftQueuePair queuePair, long slot) {
        int handle = Memory.getInt(slot + SendQueue.WINDOW);
        KeyedMemory window = keys.getChanged(handle);
        long length = Memory.getLong(slot + SendQueue.WINDOW_LENGTH);
        // Since the request was posted, the window may have been destroyed and its number given to another object.
        if (window == null
                || !window.window
                || MemoryVerbs.handleOfWindow(window.struct.address()) != handle
                || window.protectionDomain != queuePair.protectionDomain) {
            return VerbsConstants.MW_BIND_ERR;
        }
        int newKey = Memory.getInt(slot + SendQueue.RKEY);
        boolean type2 = window.windowType == VerbsConstants.MW_TYPE_2;
        boolean changesOthers = ((newKey ^ window.key) & ~CHANGES) != 0;
        if (changesOthers || (type2 && (window.valid || length == 0))) {
            return VerbsConstants.MW_BIND_ERR;
        }
        KeyedMemory region = keys.get(Memory.getInt(slot + SendQueue.WINDOW_REGION));
        if (length == 0) {
            unbind(window);
        } else if (!canBind(window, region, slot)) {
            return VerbsConstants.MW_BIND_ERR;
        } else {
            unbind(window);
            bind(window, region, slot);
            window.boundTo = type2 ? queuePair : null;
        }
        keys.renumber(window.key, newKey);
        window.key = newKey;
        return VerbsConstants.SUCCESS;
    }

    private boolean canBind(KeyedMemory window, KeyedMemory region, long slot) {
        int access = Memory.getInt(slot + SendQueue.WINDOW_ACCESS);
        boolean writes = (access & (VerbsConstants.REMOTE_WRITE | VerbsConstants.REMOTE_ATOMIC)) != 0;
        return region != null
                && region.valid
                && !region.window
                && region.protectionDomain == window.protectionDomain
                && region.allows(VerbsConstants.MW_BIND)
                && (region.access & VerbsConstants.ZERO_BASED) == 0
                && (!writes || region.allows(VerbsConstants.LOCAL_WRITE))
                && region.covers(
                        Memory.getLong(slot + SendQueue.WINDOW_START), Memory.getLong(slot + SendQueue.WINDOW_LENGTH));
    }

    private static void bind(KeyedMemory window, KeyedMemory region, long slot) {
        long start = Memory.getLong(slot + SendQueue.WINDOW_START);
        window.access = Memory.getInt(slot + SendQueue.WINDOW_ACCESS);
        window.length = Memory.getLong(slot + SendQueue.WINDOW_LENGTH);
        boolean fromZero = (window.access & VerbsConstants.ZERO_BASED) != 0;
        window.start = fromZero ? 0 : start;
        window.shift = region.shift + (fromZero ? start : 0);
        window.region = region;
        window.valid = true;
        region.windows++;
    }

    KeyedMemory of(long memoryWindow) {
        return keys.getChanged(MemoryVerbs.handleOfWindow(memoryWindow));
    }

    /** Unbinds all windows of a queue pair that is being destroyed. */
    void unbindAllOf(SoftQueuePair queuePair) {
        keys.forEach(memory -> {
            if (memory.boundTo == queuePair) {
                unbind(memory);
            }
        });
    }

    /** Unbinds a window: its key gives no access from now on. */
    void unbind(KeyedMemory window) {
        if (window.region != null) {
            window.region.windows--;
            window.region = null;
        }
        window.boundTo = null;
        window.valid = false;
    }
}
