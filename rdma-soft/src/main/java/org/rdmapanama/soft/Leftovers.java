package org.rdmapanama.soft;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongToIntFunction;
import java.util.function.ToLongFunction;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.soft.memory.Memory;

/**
 * Destroys the objects that a program left behind when it closed a context, as a kernel does when the file is closed.
 * The device may outlive the context, and peers must not be able to reach its memory any longer.
 *
 * <p>{@link SoftContext#close} calls it on the closing thread, without a lock; it takes the lock of the device itself.
 */
final class Leftovers {
    private static final Logger LOG = Logging.logger(Leftovers.class);

    private final SoftContext context;
    private final SoftDevice device;

    private Leftovers(SoftContext context) {
        this.context = context;
        device = context.device();
    }

    /** Destroys all objects of a context, users before what they use. */
    static void destroy(SoftContext context) {
        new Leftovers(context).destroyAll();
    }

    private void destroyAll() {
        device.lock();
        try {
            device.queuePairs.forEach(pair -> {
                if (isOurs(pair.struct.address())) {
                    device.groups.leave(pair);
                }
            });
        } finally {
            device.unlock();
        }
        destroy(device.queuePairs, pair -> pair.struct.address(), context::destroyQueuePair);
        destroy(device.addressHandles, handle -> handle.struct.address(), context::destroyAddressHandle);
        // Windows first, then the regions they are bound to.
        destroy(device.keys, key -> key.window ? key.struct.address() : 0, context::deallocateMemoryWindow);
        destroy(device.keys, key -> key.struct.address(), context::deregisterMemory);
        destroy(device.sharedReceives, queue -> queue.struct.address(), context::destroySharedReceiveQueue);
        destroy(device.completionQueues, queue -> queue.struct.address(), context::destroyCompletionQueue);
        destroy(device.channels, channel -> channel.struct.address(), context::destroyCompletionChannel);
        destroy(device.protectionDomains, domain -> domain.struct.address(), context::deallocateProtectionDomain);
    }

    /** Destroys all objects of one kind; {@code struct} returns the C structure of an object, or 0 to keep it. */
    private <T> void destroy(HandleTable<T> all, ToLongFunction<T> struct, LongToIntFunction destroyVerb) {
        List<Long> found = new ArrayList<>();
        device.lock();
        try {
            all.forEach(each -> {
                long address = struct.applyAsLong(each);
                if (address != 0 && isOurs(address)) {
                    found.add(address);
                }
            });
        } finally {
            device.unlock();
        }
        for (long each : found) {
            int result = destroyVerb.applyAsInt(each);
            if (result != 0) {
                LOG.warn(
                        "{}: cannot destroy an object of a closed context, because another context still uses it: errno {}",
                        SoftDevice.NAME,
                        -result);
            }
        }
    }

    /** Returns whether an object belongs to this context, whose address every C structure starts with. */
    private boolean isOurs(long struct) {
        return Memory.getLong(struct) == context.address();
    }
}
