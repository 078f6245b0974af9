package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_mw;
import org.rdmapanama.ffm.verbs.ibv_mw_bind;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Log;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.memory.MemoryWindowType;

/**
 * A memory window, {@code struct ibv_mw}: a separate remote key for a part of a region. Work requests grant and revoke
 * it, at a much lower cost than registering memory.
 *
 * <p>{@snippet :
 * MemoryRegion region = pd.register(memory, LOCAL_WRITE, MW_BIND);
 * MemoryWindow window = pd.allocateMemoryWindow(MemoryWindowType.TYPE_2);
 * MemoryWindowBinding part = new MemoryWindowBinding(region, 4096, 512, REMOTE_WRITE);
 * qp.postSend(SendWorkRequest.allocate(arena, 0).bindMemoryWindow(window, window.nextRkey(), part));
 * send(part.remoteAddress(), window.rkey());     // to the peer, through the same queue pair
 * }
 *
 * <p>A window of type 1 is bound by {@link QueuePair#bind}, again and again, and unbound by a binding of length 0. One
 * of type 2 is bound by {@link SendWorkRequest#bindMemoryWindow}; before it is bound again it must be invalidated, by
 * {@link SendWorkRequest#localInvalidate} or by the peer with {@link SendWorkRequest#sendWithInvalidate}, or be new.
 *
 * <p>Lifetimes: a bound window keeps its region, so closing a region first closes the windows that are bound to it. A
 * window of type 2 belongs to the queue pair through which it was bound; closing that queue pair first closes the
 * window, even if it has been invalidated.
 *
 * <p>Soft-RoCE of Linux 6.1 checks the access of a window, but lets peers access the whole region to which it is bound.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread. The key may be read by any thread.
 */
public final class MemoryWindow extends ContextObject {
    static final Ending ENDING = new Ending("ibv_dealloc_mw", ProviderContext::deallocateMemoryWindow);

    final ProtectionDomain protectionDomain;
    private final MemoryWindowType type;
    private final MemorySegment struct;
    private volatile int rkey;

    /** The regions to which this may be bound, which must forget it when it is closed. */
    private final Set<MemoryRegion> regions = ConcurrentHashMap.newKeySet(2);

    private final Set<QueuePair> queuePairs = ConcurrentHashMap.newKeySet(2);

    private MemoryWindow(ProtectionDomain protectionDomain, long address) {
        super(protectionDomain.context, address, protectionDomain);
        this.protectionDomain = protectionDomain;
        struct = Native.struct(address, ibv_mw.layout());
        type = MemoryWindowType.of(ibv_mw.type(struct));
        rkey = ibv_mw.rkey(struct);
    }

    static MemoryWindow create(ProtectionDomain protectionDomain, MemoryWindowType type) {
        if (type == MemoryWindowType.UNKNOWN) {
            throw new IllegalArgumentException("type must be TYPE_1 or TYPE_2: " + type);
        }
        int code = type.code();
        return protectionDomain.context.create(
                new Creation("ibv_alloc_mw", ENDING)
                        .arguments(type::toString)
                        .capability("DeviceCapability.MEM_WINDOW, MEM_WINDOW_TYPE_2A or MEM_WINDOW_TYPE_2B in"
                                + " DeviceAttributes.capabilities"),
                () -> {
                    protectionDomain.checkOpen();
                    return protectionDomain.provider.allocateMemoryWindow(protectionDomain.address, code);
                },
                mw -> new MemoryWindow(protectionDomain, mw));
    }

    /**
     * Wraps a window that other code in this process has created. Its bindings are not known here: the other code must
     * ensure that the window is closed before its region and queue pair.
     *
     * @param protectionDomain the protection domain of the window
     * @param nativeAddress address of the {@code struct ibv_mw}
     * @param ownership whether closing this object destroys the native one
     * @return the window
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the protection domain is closed
     */
    @CheckReturnValue
    public static MemoryWindow ofNativeAddress(
            ProtectionDomain protectionDomain, long nativeAddress, Ownership ownership) {
        return protectionDomain.context.wrap(nativeAddress, ownership, mw -> {
            protectionDomain.checkOpen();
            return new MemoryWindow(protectionDomain, mw);
        });
    }

    /** {@return the type, which determines how the window is bound} */
    public MemoryWindowType type() {
        return type;
    }

    /** {@return the protection domain that this object belongs to} */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /**
     * {@return the remote key, 32 bits, that the last posted binding gives the window} It is valid once that binding
     * has completed; a send on the same queue pair may carry it to the peer at once.
     */
    public int rkey() {
        return rkey;
    }

    /**
     * Returns the next key under which a window of type 2 can be bound.
     *
     * @return {@link #rkey()} with its low eight bits incremented
     * @verb ibv_inc_rkey
     */
    public int nextRkey() {
        return nextRkey(rkey);
    }

    /**
     * Returns the key that follows a key. The device chooses the upper 24 bits and the program the other eight.
     *
     * @param rkey a remote key
     * @return the key with its low eight bits incremented, 0 after 255
     * @verb ibv_inc_rkey
     */
    public static int nextRkey(int rkey) {
        return (rkey & ~0xff) | ((rkey + 1) & 0xff);
    }

    /**
     * Restores {@link #rkey()} after a posted binding has failed. Drivers pass the present key when they bind a window,
     * so with a wrong one all further bindings fail too.
     *
     * @param before the key that the window had before that binding was posted
     * @throws IllegalArgumentException when the key cannot be one of this window
     * @throws IllegalStateException when this is closed
     */
    public void restoreRkey(int before) {
        checkKey(before);
        enter();
        try {
            setRkey(before);
        } finally {
            exit();
        }
    }

    void checkKey(int key) {
        if ((key ^ rkey) >>> 8 != 0) {
            throw new IllegalArgumentException(
                    "key of %s must have the upper 24 bits of 0x%x: 0x%x; see nextRkey".formatted(this, rkey, key));
        }
    }

    /**
     * Records that a binding under a key was posted. Called between {@link #enter} and {@link #exit}, also those of the
     * queue pair.
     */
    void bound(QueuePair queuePair, int key) {
        queuePair.windows.add(this);
        queuePairs.add(queuePair);
        setRkey(key);
    }

    private void setRkey(int key) {
        ibv_mw.rkey(struct, key);
        rkey = key;
    }

    /**
     * For {@link QueuePair#bind}, between {@link #enter} and {@link #exit} of the queue pair, which must be ready to
     * send.
     */
    int bind(QueuePair queuePair, MemoryWindowBinding binding, long id, boolean signaled) {
        MemoryRegion region = binding.region();
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment request = temporary.allocate(ibv_mw_bind.layout());
            ibv_mw_bind.wr_id(request, id);
            ibv_mw_bind.send_flags(request, signaled ? rdma_h.IBV_SEND_SIGNALED() : 0);
            binding.write(request, ibv_mw_bind.bind_info$offset());
            hold(queuePair, region);
            try {
                int result = provider.bindMemoryWindow(queuePair.address, address, request.address());
                if (result == 0) {
                    // The driver has chosen the key.
                    rkey = ibv_mw.rkey(struct);
                } else if (result != QueuePair.QUEUE_FULL) {
                    throw context.failure(
                            "ibv_bind_mw",
                            -result,
                            queuePair + ", " + this + ", " + binding,
                            Cures.NONE,
                            "DeviceCapability.MEM_WINDOW in DeviceAttributes.capabilities");
                }
                return result;
            } finally {
                release(region);
            }
        }
    }

    void requireSameDomain(QueuePair queuePair, MemoryRegion region) {
        ProtectionDomain root = protectionDomain.root;
        if (root != queuePair.domain().root || root != region.protectionDomain().root) {
            throw new IllegalArgumentException(
                    "the window, its region and the queue pair must be in the same protection domain: " + this + ", "
                            + region + ", " + queuePair);
        }
    }

    /** Like {@link #bound}, for a window that may be closed by now. */
    void boundIfOpen(QueuePair queuePair, int key) {
        try {
            enter();
        } catch (IllegalStateException closed) {
            return;
        }
        try {
            bound(queuePair, key);
        } finally {
            exit();
        }
    }

    /**
     * Holds this and a region open while a driver follows pointers to them, and records that this may be bound to the
     * region from then on.
     */
    void hold(QueuePair queuePair, MemoryRegion region) {
        requireSameDomain(queuePair, region);
        enter();
        try {
            region.enter();
        } catch (IllegalStateException closed) {
            exit();
            throw closed;
        }
        region.windows.add(this);
        regions.add(region);
    }

    /** Ends what {@link #hold} began. */
    void release(MemoryRegion region) {
        region.exit();
        exit();
    }

    /** Closes windows before the object to which they are bound is destroyed. The caller must hold the arena's lock. */
    static void closeAll(Set<MemoryWindow> windows) {
        for (MemoryWindow window : List.copyOf(windows)) {
            Closing closing = new Closing(window.arena);
            window.closeTree(closing);
            if (closing.failure() != null) {
                Log.LOGGER.error("{}", closing.failure().getMessage());
            }
        }
    }

    /** Called when a region has been destroyed. */
    static void forget(Set<MemoryWindow> windows, MemoryRegion region) {
        windows.forEach(window -> window.regions.remove(region));
    }

    /** Called when a queue pair has been destroyed. */
    static void forget(Set<MemoryWindow> windows, QueuePair queuePair) {
        windows.forEach(window -> window.queuePairs.remove(queuePair));
    }

    @Override
    void ended() {
        super.ended();
        regions.forEach(region -> region.windows.remove(this));
        queuePairs.forEach(queuePair -> queuePair.windows.remove(this));
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    /**
     * Closed before queue pairs, because in some drivers a window of type 2 refers to the queue pair through which it
     * was bound.
     */
    @Override
    int closingOrder() {
        return 0;
    }

    /** Type, key and device. */
    @Override
    public String toString() {
        return "memory window of %s of %s, rkey 0x%x".formatted(type, context, rkey);
    }
}
