package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.internal.ObjectModelAccess;
import org.rdmapanama.internal.provider.DcRole;
import org.rdmapanama.internal.provider.DirectCompletionQueue;
import org.rdmapanama.internal.provider.DriverFunction;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.SendOperation;

/** Opens what other packages of this module need, but not programs. */
final class ModelAccess extends ObjectModelAccess {
    @Override
    public List<QueuePair> queuePairsOf(Context context) {
        return context.queuePairs();
    }

    @Override
    public int knownPortsOf(Context context) {
        return context.knownPorts();
    }

    @Override
    public VerbsArena arenaOf(ProtectionDomain protectionDomain) {
        return protectionDomain.arena;
    }

    @Override
    public VerbsArena arenaOf(MemoryRegion region) {
        return region.arena;
    }

    @Override
    public void addDependent(VerbsArena arena, AutoCloseable dependent) {
        arena.addDependent(dependent);
    }

    @Override
    public void removeDependent(VerbsArena arena, AutoCloseable dependent) {
        arena.removeDependent(dependent);
    }

    @Override
    public MemoryRegion registerOwn(
            ProtectionDomain protectionDomain, long byteSize, long byteAlignment, AccessFlag... access) {
        return protectionDomain.registerOwn(byteSize, byteAlignment, access);
    }

    @Override
    public DeviceAttributes attributes(Context context) {
        return context.attributes();
    }

    @Override
    public void modify(QueuePair queuePair, MemorySegment attributes, int mask) {
        queuePair.modify(attributes, mask);
    }

    @Override
    public QueuePair createQueuePair(
            ProtectionDomain protectionDomain, QueuePairOptions options, DriverFunction function) {
        return QueuePairCreation.createPlain(protectionDomain, options, function, null);
    }

    @Override
    public ExtendedQueuePair createExtendedQueuePair(
            ProtectionDomain protectionDomain, QueuePairOptions options, DriverFunction function) {
        return ExtendedQueuePair.createExtended(protectionDomain, options, function, null);
    }

    @Override
    public ExtendedQueuePair createDcInitiator(
            ProtectionDomain protectionDomain,
            QueuePairOptions options,
            DriverFunction function,
            DcRole.Initiator role) {
        return ExtendedQueuePair.createExtended(protectionDomain, options, function, role);
    }

    @Override
    public QueuePair createDcTarget(
            ProtectionDomain protectionDomain, QueuePairOptions options, DriverFunction function, DcRole.Target role) {
        return QueuePairCreation.createPlain(protectionDomain, options, function, role);
    }

    @Override
    public ExtendedQueuePair wrapDcInitiator(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            Set<SendOperation> sendOperations,
            long nativeAddress,
            Ownership ownership,
            DcRole.Initiator role) {
        return ExtendedQueuePair.wrap(
                protectionDomain, sendQueue, receiveQueue, sendOperations, nativeAddress, ownership, role);
    }

    @Override
    public QueuePair wrapDcTarget(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            long nativeAddress,
            Ownership ownership,
            DcRole.Target role) {
        return QueuePairCreation.wrapPlain(protectionDomain, sendQueue, receiveQueue, nativeAddress, ownership, role);
    }

    @Override
    public ExtendedCompletionQueue createCompletionQueue(
            Context context, CompletionQueueOptions options, DriverFunction function) {
        return CompletionQueueCreation.createExtended(context, options, function);
    }

    @Override
    public long call(Context context, String function, String capability, LongSupplier call) {
        return context.check(function, context.call(call), "", capability);
    }

    @Override
    public long call(AddressHandle handle, String function, String capability, LongSupplier call) {
        handle.enter();
        try {
            return handle.context.check(function, call.getAsLong(), handle.toString(), capability);
        } finally {
            handle.exit();
        }
    }

    @Override
    public ExtendedCompletionQueue queueOf(PollCursor cursor) {
        return cursor.queueOfCurrent();
    }

    @Override
    public @Nullable DirectCompletionQueue directOf(CompletionQueue queue) {
        return queue.direct();
    }

    @Override
    public boolean isShared(VerbsArena arena) {
        return arena.owner() == null;
    }

    @Override
    public void checkThread(VerbsArena arena) {
        arena.checkThread();
    }

    @Override
    public void checkOpen(ProtectionDomain protectionDomain) {
        protectionDomain.checkOpen();
    }

    @Override
    public void checkOpen(MemoryRegion region) {
        region.checkOpen();
    }

    @Override
    public void watch(QueuePair queuePair, Supplier<String> peerName, Runnable failed) {
        queuePair.failures().watch(peerName, failed);
    }

    @Override
    public void checkAccess(Set<AccessFlag> access) {
        RegistrableMemory.checkAccess(access);
    }

    @Override
    public VerbsException failure(String verb, int errno, String arguments, String cure) {
        return new VerbsException(verb, errno, arguments, cure);
    }
}
