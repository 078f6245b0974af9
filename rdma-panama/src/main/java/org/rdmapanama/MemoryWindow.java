package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_mw;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * A memory window, {@code struct ibv_mw}: a remote key of its own for a part of a region, which is given and taken away
 * by work requests, much cheaper than by registering memory.
 *
 * <p>{@snippet :
 * MemoryRegion region = pd.register(memory, LOCAL_WRITE, MW_BIND);
 * MemoryWindow window = pd.allocateMemoryWindow(MemoryWindowType.TYPE_2);
 * MemoryWindowBinding part = new MemoryWindowBinding(region, 4096, 512, REMOTE_WRITE);
 * qp.postSend(SendWorkRequest.allocate(arena, 0).bindMemoryWindow(window, window.nextRkey(), part));
 * send(part.remoteAddress(), window.rkey());     // to the peer, through the same queue pair
 * }
 *
 * <p>A window of type 1 is bound by {@link QueuePair#bind}, again and again, and unbound by a binding of length 0. One of
 * type 2 is bound by {@link SendWorkRequest#bindMemoryWindow}; before it is bound again it must be invalidated, by
 * {@link SendWorkRequest#localInvalidate} or by the peer with {@link SendWorkRequest#sendWithInvalidate}, or be new.
 *
 * <p>Lifetimes: a bound window keeps its region, so closing a region closes the windows that are bound to it. A window
 * of type 2 belongs to the queue pair that it was bound through: closing that queue pair closes it, too, whether or not
 * it was invalidated since. Both happen by themselves, first the window and then what it needs.
 *
 * <p>Soft-RoCE of Linux 6.1 checks the access of a window, but lets peers reach all of the region that it is bound to.
 *
 * <p>Threads: as its {@link VerbsArena} says. The key may be read by any thread.
 */
public final class MemoryWindow extends ContextObject {
    static final Ending ENDING = new Ending("ibv_dealloc_mw", ProviderContext::deallocateMemoryWindow);

    final ProtectionDomain protectionDomain;
    private final MemoryWindowType type;
    private final MemorySegment struct;
    private volatile int rkey;

    /** Where it may be bound, so that it is forgotten there when it goes. */
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
            throw new IllegalArgumentException("a memory window is of type 1 or 2");
        }
        int code = type.code();
        return protectionDomain.context.create(
                "ibv_alloc_mw",
                ENDING,
                type.toString(),
                null,
                "DeviceCapability.MEM_WINDOW, MEM_WINDOW_TYPE_2A or MEM_WINDOW_TYPE_2B in"
                        + " DeviceAttributes.capabilities",
                () -> {
                    protectionDomain.checkOpen();
                    return protectionDomain.provider.allocateMemoryWindow(protectionDomain.address, code);
                },
                mw -> new MemoryWindow(protectionDomain, mw));
    }

    /**
     * Makes a window for one that other code of this process has made. Where that code has bound it is not known here:
     * it is to see to it that the window goes before its region and queue pair.
     *
     * @param protectionDomain of the window
     * @param nativeAddress address of the {@code struct ibv_mw}
     * @param ownership whether closing this object ends the native one
     * @return the window
     * @throws IllegalArgumentException when the address is 0 or has an object already
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the protection domain is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static MemoryWindow ofNativeAddress(
            ProtectionDomain protectionDomain, long nativeAddress, Ownership ownership) {
        return protectionDomain.context.wrap(nativeAddress, ownership, mw -> {
            protectionDomain.checkOpen();
            return new MemoryWindow(protectionDomain, mw);
        });
    }

    /**
     * How it is bound.
     *
     * @return the type
     */
    public MemoryWindowType type() {
        return type;
    }

    /**
     * The protection domain that this belongs to.
     *
     * @return the protection domain
     */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /**
     * The key for work requests of peers, as the last binding that was posted gave it. It is good once that binding has
     * completed; a send on the same queue pair may carry it to the peer at once.
     *
     * @return the remote key, 32 bits
     */
    public int rkey() {
        return rkey;
    }

    /**
     * The next key that a window of type 2 can be bound under.
     *
     * @return {@link #rkey()} with its low eight bits counted up by one
     * @verb ibv_inc_rkey
     */
    public int nextRkey() {
        return nextRkey(rkey);
    }

    /**
     * The key after a key: the device chooses the upper 24 bits, the program the other eight.
     *
     * @param rkey a remote key
     * @return the same with its low eight bits counted up by one, 0 after 255
     * @verb ibv_inc_rkey
     */
    public static int nextRkey(int rkey) {
        return (rkey & ~0xff) | ((rkey + 1) & 0xff);
    }

    /**
     * Takes back what {@link #rkey()} says, after a binding that was posted failed. Drivers pass the key that the window
     * has now when they bind it: with a wrong one every further binding fails, too.
     *
     * @param before the key before that binding was posted
     * @throws IllegalArgumentException when the key cannot be one of this window
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
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
                    "a key of %s has the upper 24 bits of 0x%x, unlike 0x%x: see nextRkey".formatted(this, rkey, key));
        }
    }

    /** A binding under a key was posted. Between {@link #enter} and {@link #exit}, of the queue pair's as well. */
    void bound(QueuePair queuePair, int key) {
        queuePair.windows.add(this);
        queuePairs.add(queuePair);
        setRkey(key);
    }

    private void setRkey(int key) {
        ibv_mw.rkey(struct, key);
        rkey = key;
    }

    /** Reads the key that the driver chose. Between {@link #enter} and {@link #exit}. */
    void boundByDriver() {
        rkey = ibv_mw.rkey(struct);
    }

    void requireSameDomain(QueuePair queuePair, MemoryRegion region) {
        ProtectionDomain root = protectionDomain.root;
        if (root != queuePair.protectionDomain().root || root != region.protectionDomain().root) {
            throw new IllegalArgumentException(
                    "a window, its region and the queue pair must be of the same protection domain: " + this + ", "
                            + region + ", " + queuePair);
        }
    }

    /** As {@link #bound}, for a window that may be closed by now. */
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
     * Holds this and a region open while a driver follows pointers to them, and remembers that they may be bound
     * together from then on.
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

    /** Closes windows, with the arena's lock held, before what they are bound to goes. */
    static void closeAll(Set<MemoryWindow> windows) {
        for (MemoryWindow window : List.copyOf(windows)) {
            Closing closing = new Closing(window.arena);
            window.closeTree(closing);
            if (closing.failure() != null) {
                Log.LOGGER.error("{}", closing.failure().getMessage());
            }
        }
    }

    /** A region has gone. */
    static void forget(Set<MemoryWindow> windows, MemoryRegion region) {
        windows.forEach(window -> window.regions.remove(region));
    }

    /** A queue pair has gone. */
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

    /** Before queue pairs: there are drivers where a window of type 2 refers to the one that it was bound through. */
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
