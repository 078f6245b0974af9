package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;

/**
 * A protection domain, {@code struct ibv_pd}: only memory regions and queue pairs of the same one go together.
 *
 * <p>Threads: as its {@link VerbsArena} says.
 */
public sealed class ProtectionDomain extends ContextObject permits ParentDomain {
    /** What objects of one protection domain have in common: the domain that all parent domains come from. */
    final ProtectionDomain root;

    ProtectionDomain(Context context, long address) {
        super(context, address, context);
        root = this;
    }

    /** A parent domain: both are its parents, and may be the same. */
    ProtectionDomain(ProtectionDomain made, ContextObject other, long address) {
        super(made.context, address, made, other);
        root = made.root;
    }

    /**
     * Makes a protection domain for one that other code of this process has made.
     *
     * @param context the open device that it was made on
     * @param nativeAddress address of the {@code struct ibv_pd}
     * @param ownership whether closing this object ends the native one
     * @return the protection domain
     * @throws IllegalArgumentException when the address is 0 or has an object already
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static ProtectionDomain ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, pd -> new ProtectionDomain(context, pd));
    }

    /**
     * Registers memory, so that the device may use it; see ibv_reg_mr(3).
     *
     * <p>The memory must live as long as the device may use it. Therefore it comes from the {@link VerbsArena} of this
     * protection domain, which frees its memory last; from the global arena, which never frees; or it is a direct
     * buffer, which the region keeps from being collected. Memory of any other arena could be freed while it is
     * registered and is refused.
     *
     * @param memory native memory, of any size from one byte; a slice and a mapped file are fine
     * @param access what may be done to it; nothing named means that the device only reads it for sends and writes
     * @return the region
     * @throws IllegalArgumentException when the memory is on the heap, empty, of another arena, or is read-only and
     *     the access needs writing; or when remote writes or atomics are asked for without local writes
     * @throws IllegalStateException when the memory's arena or this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the verb fails; for want of locked memory the message names the limit
     */
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        flags.addAll(Arrays.asList(access));
        RegistrableMemory.check(memory, flags, arena);
        return context.create(
                "ibv_reg_mr",
                memory.byteSize() + " bytes at 0x" + Long.toHexString(memory.address()) + ", access " + flags,
                errno -> RegistrableMemory.cure(errno, memory),
                () -> {
                    checkOpen();
                    return provider.registerMemory(
                            address, memory.address(), memory.byteSize(), memory.address(), AccessFlag.mask(flags));
                },
                mr -> new MemoryRegion(this, mr, memory, flags));
    }

    /**
     * Registers a direct buffer from its position to its limit: short for registering
     * {@link MemorySegment#ofBuffer(java.nio.Buffer)}.
     *
     * @param memory a direct buffer, also a mapped one
     * @param access what may be done to it
     * @return the region, which keeps the buffer from being collected
     * @throws IllegalArgumentException when the buffer is on the heap, has nothing remaining, is a view of another
     *     arena's memory, or is read-only and the access needs writing; or when remote writes or atomics are asked for
     *     without local writes
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the verb fails; for want of locked memory the message names the limit
     */
    public MemoryRegion register(ByteBuffer memory, AccessFlag... access) {
        return register(MemorySegment.ofBuffer(memory), access);
    }

    /**
     * Makes a queue pair; see ibv_create_qp(3). It starts in state RESET: {@link QueuePair#connect} or
     * {@link QueuePair#modify} takes it further.
     *
     * @param options type, completion queues and sizes
     * @return a new one
     * @throws IllegalArgumentException when a completion queue is missing or belongs to another context
     * @throws IllegalStateException when this or a completion queue is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the verb fails, for example because a size exceeds the device
     */
    public QueuePair createQueuePair(QueuePairOptions options) {
        return QueuePair.create(this, options);
    }

    /**
     * Makes an address handle, which says where a datagram goes; see ibv_create_ah(3).
     *
     * @param path the way to the peer
     * @return a new one
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the verb fails; ETIMEDOUT means that the address was not resolved
     *
     * @verb ibv_create_ah
     */
    public AddressHandle createAddressHandle(AddressVector path) {
        return AddressHandle.create(this, path);
    }

    /**
     * Makes an address handle for the answer to a datagram; see ibv_create_ah_from_wc(3).
     * {@link Context#addressVectorOf} tells more of the arguments.
     *
     * @param completions in which the datagram's completion is
     * @param index which completion
     * @param routingHeader what the device put in front of the datagram; 40 bytes of it count
     * @param port where the datagram came in, from 1
     * @return a new one
     * @throws IndexOutOfBoundsException when the index is not below {@link WorkCompletions#count()}
     * @throws IllegalArgumentException when the completion is of no datagram that arrived well, there are less than 40
     *     bytes, or there is no such port
     * @throws VerbsException when a verb fails: with EINVAL when the datagram was sent to a multicast group; ETIMEDOUT
     *     means that the sender's address was not resolved
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_create_ah_from_wc
     */
    public AddressHandle createAddressHandle(
            WorkCompletions completions, int index, MemorySegment routingHeader, int port) {
        return AddressHandle.create(this, completions, index, routingHeader, port);
    }

    /**
     * Makes a parent domain of this, to be used instead of it; see ibv_alloc_parent_domain(3).
     *
     * @param options what it adds to this
     * @return a new one, below this
     * @throws IllegalArgumentException when the thread domain belongs to another context
     * @throws UnsupportedVerbException when the driver has no parent domains
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this or the thread domain is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_alloc_parent_domain
     */
    public ParentDomain createParentDomain(ParentDomainOptions options) {
        return ParentDomain.create(this, options);
    }

    @Override
    int destroy() {
        return provider.deallocateProtectionDomain(address);
    }

    @Override
    String destroyVerb() {
        return "ibv_dealloc_pd";
    }

    @Override
    int closingOrder() {
        return 6;
    }

    /** Which device it is on. */
    @Override
    public String toString() {
        return "protection domain of " + context;
    }
}
