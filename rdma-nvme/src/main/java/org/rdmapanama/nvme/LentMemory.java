package org.rdmapanama.nvme;

import java.util.Objects;
import java.util.Set;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.MemoryWindow;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.device.DeviceCapability;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;

/**
 * Lends memory to the controller by memory windows, one for each slot of a queue: just the memory of the command, just for
 * reading or for writing, just to the queue pair of this queue, and just until the command has ended. The window is bound
 * before the capsule goes, which names its key. The controller invalidates that with its response; if it does not, this host
 * does, and the command has not ended before.
 *
 * <p>The send queue must have room for three requests of each slot: the binding, the capsule, and an invalidation.
 *
 * <p>Threads: the lock of the queue guards it.
 */
final class LentMemory implements AutoCloseable {
    /** How many requests of a slot can be in the send queue. */
    static final int REQUESTS = 3;

    /** The driver of Soft-RoCE. */
    private static final String SOFT_ROCE = "rxe";

    private final QueuePair queuePair;
    private final MemoryWindow[] windows;
    private final SendWorkRequest[] bindings;
    private final SendWorkRequest[] invalidations;

    /** The key of each slot's window, and whether the controller has it. */
    private final int[] keys;

    private final boolean[] lent;

    /**
     * Whether completions say by another flag that a key was invalidated. Soft-RoCE of Linux 6.1 passes the flag as the kernel
     * numbers it.
     */
    private final boolean usesOtherFlag;

    private long localInvalidations;

    /**
     * Allocates the windows.
     *
     * @param capsules what sends the capsule of each slot; a binding and the capsule are posted together
     */
    LentMemory(QueuePair queuePair, SendWorkRequest[] capsules) {
        this.queuePair = queuePair;
        usesOtherFlag = queuePair.context().driverName().equals(SOFT_ROCE);
        int slots = capsules.length;
        windows = new MemoryWindow[slots];
        bindings = new SendWorkRequest[slots];
        invalidations = new SendWorkRequest[slots];
        keys = new int[slots];
        lent = new boolean[slots];
        try {
            for (int i = 0; i < slots; i++) {
                windows[i] = Objects.requireNonNull(queuePair.protectionDomain())
                        .allocateMemoryWindow(MemoryWindowType.TYPE_2);
                bindings[i] = SendWorkRequest.allocate(queuePair, 0).id(i).next(capsules[i]);
                invalidations[i] = SendWorkRequest.allocate(queuePair, 0).id(i).signaled(true);
            }
        } catch (RuntimeException | Error e) {
            try {
                close();
            } catch (RuntimeException alsoFailed) {
                e.addSuppressed(alsoFailed);
            }
            throw e;
        }
    }

    /**
     * Checks that a device has windows that only one queue pair can use.
     *
     * @throws IllegalStateException when it has not
     */
    static void check(Context context) {
        check(context.deviceName(), context.queryDevice().capabilities());
    }

    static void check(String device, Set<DeviceCapability> capabilities) {
        if (!capabilities.contains(DeviceCapability.MEM_WINDOW_TYPE_2B)
                && !capabilities.contains(DeviceCapability.MEM_WINDOW_TYPE_2A)) {
            throw new IllegalStateException("the device " + device + " has no memory windows of type 2, which"
                    + " NvmeOptions.remoteInvalidation needs: connect without that option, or by another device"
                    + " (NvmeOptions.localAddress)");
        }
    }

    /**
     * Returns what lends the memory of a command and sends its capsule, which is prepared then. After it was posted, {@link
     * #lent} says so.
     *
     * @param access REMOTE_READ or REMOTE_WRITE
     */
    SendWorkRequest binding(int slot, MemoryRegion region, long offset, int length, AccessFlag access) {
        MemoryWindow window = windows[slot];
        keys[slot] = window.nextRkey();
        return bindings[slot].bindMemoryWindow(window, keys[slot], region, offset, length, access);
    }

    /** The key that the controller gets for the memory of a slot. */
    int key(int slot) {
        return keys[slot];
    }

    /** The memory of a slot is lent from now on. */
    void lent(int slot) {
        lent[slot] = true;
    }

    boolean isLent(int slot) {
        return lent[slot];
    }

    /** The key of a slot is invalid from now on. */
    void returned(int slot) {
        lent[slot] = false;
    }

    /** Invalidates the key of a slot, which is {@linkplain #returned} when that has completed. */
    void takeBack(int slot) {
        localInvalidations++;
        queuePair.postSend(invalidations[slot].localInvalidate(keys[slot]));
    }

    /** Whether the sender of a response has invalidated a key with it. */
    boolean isInvalidated(WorkCompletions completions, int index) {
        return completions.hasInvalidatedRkey(index) || (usesOtherFlag && completions.checksumOk(index));
    }

    /** How many keys this host had to invalidate. */
    long localInvalidations() {
        return localInvalidations;
    }

    /** How many windows there are, bound or not. */
    int windows() {
        int count = 0;
        for (MemoryWindow each : windows) {
            if (each != null && each.isOpen()) {
                count++;
            }
        }
        return count;
    }

    /** Frees the windows, so that nothing can be reached by them. */
    @Override
    public void close() {
        RuntimeException failure = null;
        for (MemoryWindow each : windows) {
            try {
                if (each != null) {
                    each.close();
                }
            } catch (RuntimeException e) {
                failure = e;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
