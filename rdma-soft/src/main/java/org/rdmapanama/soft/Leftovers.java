package org.rdmapanama.soft;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongToIntFunction;
import java.util.function.ToLongFunction;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.soft.wire.Memory;

/**
 * What is still there of a context that is closed. A kernel destroys that when the file is closed, and so does this: the
 * device outlives the context, and peers must not reach what is nobody's any more.
 */
final class Leftovers {
    private static final Logger LOG = LogManager.getLogger(Leftovers.class);

    private final SoftContext context;
    private final SoftDevice device;

    private Leftovers(SoftContext context) {
        this.context = context;
        device = context.device();
    }

    /** Destroys all of it, those that use others first. */
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
        // Regions end after the windows on them.
        destroy(device.keys, key -> key.window ? key.struct.address() : 0, context::deallocateMemoryWindow);
        destroy(device.keys, key -> key.struct.address(), context::deregisterMemory);
        destroy(device.sharedReceives, queue -> queue.struct.address(), context::destroySharedReceiveQueue);
        destroy(device.completionQueues, queue -> queue.struct.address(), context::destroyCompletionQueue);
        destroy(device.channels, channel -> channel.struct.address(), context::destroyCompletionChannel);
        destroy(device.protectionDomains, domain -> domain.struct.address(), context::deallocateProtectionDomain);
    }

    /** Destroys those of one kind: {@code struct} tells the C structure of one, or 0 for one to keep. */
    private <T> void destroy(Numbered<T> all, ToLongFunction<T> struct, LongToIntFunction destroyVerb) {
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
                        "{}: another context uses what a closed one had, so it stays: errno {}",
                        SoftDevice.NAME,
                        -result);
            }
        }
    }

    /** All the C structures begin with the address of the context that they were made with. */
    private boolean isOurs(long struct) {
        return Memory.getLong(struct) == context.address();
    }
}
