package org.rdmapanama.internal.provider;

import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.Ownership;
import org.rdmapanama.PollCursor;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.internal.ObjectModelAccess;
import org.rdmapanama.queue.SendOperation;

/** Objects of the model that a driver's own functions create or ask about, for modules that know the driver. */
public final class DriverObjects {
    private DriverObjects() {}

    /**
     * Creates a queue pair as {@link ProtectionDomain#createQueuePair} does, with the same exceptions.
     *
     * @param function takes a struct ibv_qp_init_attr_ex
     */
    public static QueuePair createQueuePair(
            ProtectionDomain protectionDomain, QueuePairOptions options, DriverFunction function) {
        return ObjectModelAccess.get().createQueuePair(protectionDomain, options, function);
    }

    /**
     * Creates a queue pair as {@link ProtectionDomain#createExtendedQueuePair} does, with the same exceptions.
     *
     * @param function takes a struct ibv_qp_init_attr_ex
     */
    public static ExtendedQueuePair createExtendedQueuePair(
            ProtectionDomain protectionDomain, QueuePairOptions options, DriverFunction function) {
        return ObjectModelAccess.get().createExtendedQueuePair(protectionDomain, options, function);
    }

    /**
     * Creates an initiator of the dynamically connected transport as {@link ProtectionDomain#createExtendedQueuePair} does,
     * with the same exceptions.
     *
     * @param function takes a struct ibv_qp_init_attr_ex
     */
    public static ExtendedQueuePair createDcInitiator(
            ProtectionDomain protectionDomain,
            QueuePairOptions options,
            DriverFunction function,
            DcRole.Initiator role) {
        return ObjectModelAccess.get().createDcInitiator(protectionDomain, options, function, role);
    }

    /**
     * Creates a target of the dynamically connected transport as {@link ProtectionDomain#createQueuePair} does, with the same
     * exceptions.
     *
     * @param function takes a struct ibv_qp_init_attr_ex
     */
    public static QueuePair createDcTarget(
            ProtectionDomain protectionDomain, QueuePairOptions options, DriverFunction function, DcRole.Target role) {
        return ObjectModelAccess.get().createDcTarget(protectionDomain, options, function, role);
    }

    /**
     * Wraps a native initiator of the dynamically connected transport as {@link ExtendedQueuePair#ofNativeAddress} wraps
     * other queue pairs, with the same exceptions.
     */
    public static ExtendedQueuePair wrapDcInitiator(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            Set<SendOperation> sendOperations,
            long nativeAddress,
            Ownership ownership,
            DcRole.Initiator role) {
        return ObjectModelAccess.get()
                .wrapDcInitiator(
                        protectionDomain, sendQueue, receiveQueue, sendOperations, nativeAddress, ownership, role);
    }

    /**
     * Wraps a native target of the dynamically connected transport as {@link QueuePair#ofNativeAddress(ProtectionDomain,
     * CompletionQueue, CompletionQueue, long, Ownership)} wraps other queue pairs, with the same exceptions.
     */
    public static QueuePair wrapDcTarget(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            long nativeAddress,
            Ownership ownership,
            DcRole.Target role) {
        return ObjectModelAccess.get()
                .wrapDcTarget(protectionDomain, sendQueue, receiveQueue, nativeAddress, ownership, role);
    }

    /**
     * Creates a completion queue as {@link Context#createCompletionQueue(CompletionQueueOptions)} does, with the same
     * exceptions.
     *
     * @param function takes a struct ibv_cq_init_attr_ex
     */
    public static ExtendedCompletionQueue createCompletionQueue(
            Context context, CompletionQueueOptions options, DriverFunction function) {
        return ObjectModelAccess.get().createCompletionQueue(context, options, function);
    }

    /**
     * Calls a driver's function while a device is open.
     *
     * @param function the C name, for messages
     * @param capability where to look for support of it
     * @param call returns zero or more, or a negated errno
     * @return the result
     * @throws org.rdmapanama.UnsupportedVerbException when it reports that it is not supported
     * @throws org.rdmapanama.VerbsException when it fails otherwise
     * @throws IllegalStateException when the device is closed
     * @throws WrongThreadException when its arena is confined to another thread
     */
    public static long call(Context context, String function, String capability, LongSupplier call) {
        return ObjectModelAccess.get().call(context, function, capability, call);
    }

    /**
     * Calls a driver's function while an address handle is open, with the exceptions of {@link #call(Context, String,
     * String, LongSupplier)}.
     *
     * @param function the C name, for messages
     * @param capability where to look for support of it
     * @param call returns zero or more, or a negated errno
     * @return the result
     */
    public static long call(AddressHandle handle, String function, String capability, LongSupplier call) {
        return ObjectModelAccess.get().call(handle, function, capability, call);
    }

    /**
     * Returns the queue of a cursor, whose current completion may be read until the cursor moves on.
     *
     * @return the queue
     * @throws IllegalStateException when the calling thread has no batch open, or it has no current completion
     */
    public static ExtendedCompletionQueue queueOf(PollCursor cursor) {
        return ObjectModelAccess.get().queueOf(cursor);
    }

    /**
     * Returns what reads the ring of a completion queue instead of its driver.
     *
     * @return the direct queue, or null if the driver reads it
     */
    public static @Nullable DirectCompletionQueue directOf(CompletionQueue queue) {
        return ObjectModelAccess.get().directOf(queue);
    }
}
