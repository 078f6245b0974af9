package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;

/**
 * A protection domain, {@code struct ibv_pd}: only memory regions and queue pairs of the same one go together.
 *
 * <p>Threads: as its {@link VerbsArena} says.
 */
public final class ProtectionDomain extends ContextObject {
    ProtectionDomain(Context context, long address) {
        super(context, address, context);
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
     * @throws IllegalArgumentException when an object that the type needs is missing or belongs to another context, or
     *     when {@linkplain QueuePairOptions#sendOperations send operations} are asked for
     * @throws IllegalStateException when this or an object among the options is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have such queue pairs
     * @throws VerbsException when the verb fails otherwise, for example because a size exceeds the device
     *
     * @verb ibv_create_qp
     * @verb ibv_create_qp_ex
     */
    public QueuePair createQueuePair(QueuePairOptions options) {
        return QueuePair.create(this, options);
    }

    /**
     * Makes a queue pair whose sends can also be posted call by call; see ibv_create_qp_ex(3). It starts in state RESET.
     *
     * @param options type, completion queues, sizes, and the {@linkplain QueuePairOptions#sendOperations operations} that
     *     are to be posted, one at least
     * @return a new one
     * @throws IllegalArgumentException when an object that the type needs is missing or belongs to another context, or
     *     when there are no send operations
     * @throws IllegalStateException when this or an object among the options is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have such queue pairs, or not all of the operations
     * @throws VerbsException when the verb fails otherwise, for example because a size exceeds the device
     *
     * @verb ibv_create_qp_ex
     * @verb ibv_qp_to_qp_ex
     */
    public ExtendedQueuePair createExtendedQueuePair(QueuePairOptions options) {
        return ExtendedQueuePair.createExtended(this, options);
    }

    /**
     * Makes an address handle, which says where a datagram goes; see ibv_create_ah(3).
     *
     * @param path the way to the peer
     * @return a new one
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the verb fails; ETIMEDOUT means that the address was not resolved
     */
    public AddressHandle createAddressHandle(AddressVector path) {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_ah_attr.layout());
            path.write(attributes);
            return context.create(
                    "ibv_create_ah",
                    path.toString(),
                    errno -> errno == Errno.ETIMEDOUT.number
                            ? "no host answers at " + path.destination() + ": check the address and the route to it"
                            : null,
                    () -> {
                        checkOpen();
                        return provider.createAddressHandle(address, attributes.address());
                    },
                    ah -> new AddressHandle(this, ah, path));
        }
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
