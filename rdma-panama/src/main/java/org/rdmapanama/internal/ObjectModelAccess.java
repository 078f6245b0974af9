package org.rdmapanama.internal;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.Ownership;
import org.rdmapanama.PollCursor;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.internal.provider.DcRole;
import org.rdmapanama.internal.provider.DirectCompletionQueue;
import org.rdmapanama.internal.provider.DriverFunction;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.SendOperation;

/**
 * What other packages of this module need of the object model, and programs do not. The object model implements it when
 * {@link VerbsArena} is initialized.
 */
public abstract class ObjectModelAccess {
    private static volatile ObjectModelAccess access;

    /** For the object model. */
    protected ObjectModelAccess() {}

    /** Returns the only instance. */
    public static ObjectModelAccess get() {
        if (access == null) {
            try {
                MethodHandles.lookup().ensureInitialized(VerbsArena.class);
            } catch (IllegalAccessException e) {
                throw new AssertionError(e);
            }
        }
        return access;
    }

    /** For the object model, once. */
    public static void set(ObjectModelAccess ofObjectModel) {
        access = ofObjectModel;
    }

    /** Returns the open queue pairs of a context that this process destroys. */
    public abstract List<QueuePair> queuePairsOf(Context context);

    /** Returns how many ports a device has; 1 as long as nobody has asked the device. */
    public abstract int knownPortsOf(Context context);

    /** Returns the arena that owns a protection domain. */
    public abstract VerbsArena arenaOf(ProtectionDomain protectionDomain);

    /** Returns the arena that owns a region. */
    public abstract VerbsArena arenaOf(MemoryRegion region);

    /** For {@link org.rdmapanama.internal.provider.RegionMemory}. */
    public abstract MemoryRegion registerOwn(
            ProtectionDomain protectionDomain, long byteSize, long byteAlignment, AccessFlag... access);

    /** Returns the attributes of a device, which are queried once while it is open. */
    public abstract DeviceAttributes attributes(Context context);

    /** For {@link org.rdmapanama.internal.provider.NativeModify}. */
    public abstract void modify(QueuePair queuePair, MemorySegment attributes, int mask);

    /** For {@link org.rdmapanama.internal.provider.DriverObjects}. */
    public abstract QueuePair createQueuePair(
            ProtectionDomain protectionDomain, QueuePairOptions options, DriverFunction function);

    /** For {@link org.rdmapanama.internal.provider.DriverObjects}. */
    public abstract ExtendedQueuePair createExtendedQueuePair(
            ProtectionDomain protectionDomain, QueuePairOptions options, DriverFunction function);

    /** For {@link org.rdmapanama.internal.provider.DriverObjects}. */
    public abstract ExtendedQueuePair createDcInitiator(
            ProtectionDomain protectionDomain,
            QueuePairOptions options,
            DriverFunction function,
            DcRole.Initiator role);

    /** For {@link org.rdmapanama.internal.provider.DriverObjects}. */
    public abstract QueuePair createDcTarget(
            ProtectionDomain protectionDomain, QueuePairOptions options, DriverFunction function, DcRole.Target role);

    /** For {@link org.rdmapanama.internal.provider.DriverObjects}. */
    public abstract ExtendedQueuePair wrapDcInitiator(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            Set<SendOperation> sendOperations,
            long nativeAddress,
            Ownership ownership,
            DcRole.Initiator role);

    /** For {@link org.rdmapanama.internal.provider.DriverObjects}. */
    public abstract QueuePair wrapDcTarget(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            long nativeAddress,
            Ownership ownership,
            DcRole.Target role);

    /** For {@link org.rdmapanama.internal.provider.DriverObjects}. */
    public abstract ExtendedCompletionQueue createCompletionQueue(
            Context context, CompletionQueueOptions options, DriverFunction function);

    /** For {@link org.rdmapanama.internal.provider.DriverObjects}. */
    public abstract long call(Context context, String function, String capability, LongSupplier call);

    /** For {@link org.rdmapanama.internal.provider.DriverObjects}. */
    public abstract long call(AddressHandle handle, String function, String capability, LongSupplier call);

    /** For {@link org.rdmapanama.internal.provider.DriverObjects}. */
    public abstract ExtendedCompletionQueue queueOf(PollCursor cursor);

    /** For {@link org.rdmapanama.internal.provider.DriverObjects}. */
    public abstract @Nullable DirectCompletionQueue directOf(CompletionQueue queue);

    /** Has an arena close an object of another module before everything else. */
    public abstract void addDependent(VerbsArena arena, AutoCloseable dependent);

    /** Has an arena forget an object of another module, which has been closed. */
    public abstract void removeDependent(VerbsArena arena, AutoCloseable dependent);

    /** Whether every thread may use the objects of an arena. */
    public abstract boolean isShared(VerbsArena arena);

    /**
     * Checks that the calling thread may use the objects of an arena.
     *
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public abstract void checkThread(VerbsArena arena);

    /**
     * Checks that a protection domain is open and that the calling thread may use it.
     *
     * @throws IllegalStateException when it is closed
     * @throws WrongThreadException when its arena is confined to another thread
     */
    public abstract void checkOpen(ProtectionDomain protectionDomain);

    /**
     * Checks that a region is open and that the calling thread may use it.
     *
     * @throws IllegalStateException when it is closed
     * @throws WrongThreadException when its arena is confined to another thread
     */
    public abstract void checkOpen(MemoryRegion region);

    /**
     * Names the peer of a queue pair, and watches for its failure.
     *
     * @param peerName called for messages; returns null while the peer is not known
     * @param failed called once, by a thread that polls or takes an event; must neither wait nor throw
     */
    public abstract void watch(QueuePair queuePair, Supplier<String> peerName, Runnable failed);

    /**
     * Checks that a set of operations may be allowed together.
     *
     * @throws IllegalArgumentException when peers may write, and this side may not
     */
    public abstract void checkAccess(Set<AccessFlag> access);

    /**
     * Returns an exception for a failed call.
     *
     * @param verb the C function that failed
     * @param errno the reason, a positive value of errno(3)
     * @param arguments the arguments of the call, for people to read
     * @param cure what to do about it, or null
     */
    public abstract VerbsException failure(String verb, int errno, String arguments, String cure);
}
