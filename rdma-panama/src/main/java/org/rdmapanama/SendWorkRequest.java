package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.WorkRequestOpcode;

/**
 * A work request for a send queue, {@code struct ibv_send_wr}: encoded once in native memory, posted any number of
 * times, and changed in place in between; see ibv_post_send(3).
 *
 * <p>{@snippet :
 * SendWorkRequest write = SendWorkRequest.allocate(arena, 1)
 *         .id(7)
 *         .rdmaWrite(peerMemory)
 *         .add(region, 0, 4096)
 *         .signaled(true);
 * qp.postSend(write);
 * }
 *
 * <p>The request itself may be changed or posted again as soon as posting returns. The memory that it points to must
 * not be modified until it has completed, unless the data is {@link #inline}.
 *
 * <p>Threads: one at a time. It lives as long as its arena, or as the queue pair that it was
 * allocated for. Methods that use a region throw {@link
 * WrongThreadException} when the arena is confined to another thread.
 */
public final class SendWorkRequest extends ChainedRequest<SendWorkRequest> {
    private static final ValueLayout.OfInt NETWORK_INT = JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN);
    private static final long SIZE = ibv_send_wr.sizeof();
    private static final long WR_ID = ibv_send_wr.wr_id$offset();
    private static final long NEXT = ibv_send_wr.next$offset();
    private static final long SG_LIST = ibv_send_wr.sg_list$offset();
    private static final long NUM_SGE = ibv_send_wr.num_sge$offset();
    private static final long OPCODE = ibv_send_wr.opcode$offset();
    private static final long SEND_FLAGS = ibv_send_wr.send_flags$offset();
    private static final long IMM_DATA = ibv_send_wr.imm_data$offset();
    private static final long WR = ibv_send_wr.wr$offset();
    private static final long RDMA_REMOTE_ADDR = WR + ibv_send_wr.wr.rdma.remote_addr$offset();
    private static final long RDMA_RKEY = WR + ibv_send_wr.wr.rdma.rkey$offset();
    private static final long ATOMIC_REMOTE_ADDR = WR + ibv_send_wr.wr.atomic.remote_addr$offset();
    private static final long ATOMIC_COMPARE_ADD = WR + ibv_send_wr.wr.atomic.compare_add$offset();
    private static final long ATOMIC_SWAP = WR + ibv_send_wr.wr.atomic.swap$offset();
    private static final long ATOMIC_RKEY = WR + ibv_send_wr.wr.atomic.rkey$offset();
    private static final long UD_AH = WR + ibv_send_wr.wr.ud.ah$offset();
    private static final long UD_REMOTE_QPN = WR + ibv_send_wr.wr.ud.remote_qpn$offset();
    private static final long UD_REMOTE_QKEY = WR + ibv_send_wr.wr.ud.remote_qkey$offset();
    private static final long INVALIDATE_RKEY = ibv_send_wr.invalidate_rkey$offset();
    private static final long BIND_MW_MW = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.mw$offset();
    private static final long BIND_MW_RKEY = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.rkey$offset();
    private static final long BIND_MW_INFO = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.bind_info$offset();
    private static final long XRC_REMOTE_SRQN =
            ibv_send_wr.qp_type$offset() + ibv_send_wr.qp_type.xrc.remote_srqn$offset();
    private static final long TSO_HDR = ibv_send_wr.tso$offset() + ibv_send_wr.tso.hdr$offset();
    private static final long TSO_HDR_SZ = ibv_send_wr.tso$offset() + ibv_send_wr.tso.hdr_sz$offset();
    private static final long TSO_MSS = ibv_send_wr.tso$offset() + ibv_send_wr.tso.mss$offset();
    private static final int MAX_SHORT = 0xffff;
    private static final int SEND = rdma_h.IBV_WR_SEND();
    private static final int SEND_WITH_IMM = rdma_h.IBV_WR_SEND_WITH_IMM();
    private static final int RDMA_WRITE = rdma_h.IBV_WR_RDMA_WRITE();
    private static final int RDMA_WRITE_WITH_IMM = rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM();
    private static final int RDMA_READ = rdma_h.IBV_WR_RDMA_READ();
    private static final int ATOMIC_CMP_AND_SWP = rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP();
    private static final int ATOMIC_FETCH_AND_ADD = rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD();
    private static final int SEND_WITH_INV = rdma_h.IBV_WR_SEND_WITH_INV();
    private static final int LOCAL_INV = rdma_h.IBV_WR_LOCAL_INV();
    private static final int BIND_MW = rdma_h.IBV_WR_BIND_MW();
    private static final int TSO = rdma_h.IBV_WR_TSO();
    private static final int SIGNALED = rdma_h.IBV_SEND_SIGNALED();
    private static final int SOLICITED = rdma_h.IBV_SEND_SOLICITED();
    private static final int FENCE = rdma_h.IBV_SEND_FENCE();
    private static final int INLINE = rdma_h.IBV_SEND_INLINE();
    private static final int IP_CSUM = rdma_h.IBV_SEND_IP_CSUM();

    private @Nullable SendWorkRequest next;

    /** Whether this is, or was, chained to another request. */
    private boolean chained;

    /**
     * The sizes of the queue pair that accepted the rest of the chain at the last check, and the number of changes at
     * that time.
     */
    private @Nullable QueuePairCapabilities fits;

    private long fitsSince;

    /** The number of requests of the chain that was checked last. */
    private int checkedLength;

    /** The sizes of the queue pair that this was last found to fit, without its chain; null once it may no longer fit. */
    private @Nullable QueuePairCapabilities fitsAlone;

    /** The number of segments and the length of inline data at the last check. */
    private int segmentsSeen;

    private long inlineSeen;

    /**
     * The handle's address shares its bytes with the remote address, so this becomes null when a remote address is
     * written.
     */
    private @Nullable AddressHandle addressHandle;

    private boolean inline;

    /** The window that the operation binds, or null. */
    private @Nullable MemoryWindow window;

    private @Nullable MemoryRegion windowRegion;

    /** Keeps the header of a segmented send from being collected. */
    private @Nullable MemorySegment header;

    private SendWorkRequest(QueuePair queuePair, int maxSegments) {
        super(queuePair, maxSegments, SIZE, SG_LIST, NUM_SGE);
        struct.set(JAVA_INT, OPCODE, SEND);
    }

    private SendWorkRequest(VerbsArena arena, int maxSegments) {
        super(arena, maxSegments, SIZE, SG_LIST, NUM_SGE);
        struct.set(JAVA_INT, OPCODE, SEND);
    }

    /**
     * Creates a work request, initially an empty, unsignaled send.
     *
     * @param arena the arena of the queue pairs that it will be posted to
     * @param maxSegments the maximum number of segments, 0 to 65535
     * @return the new object
     * @throws IllegalArgumentException when the number is out of its range
     * @throws IllegalStateException when the arena is closed
     */
    @CheckReturnValue
    public static SendWorkRequest allocate(VerbsArena arena, int maxSegments) {
        return new SendWorkRequest(arena, Segments.checkCount(maxSegments));
    }

    /**
     * Creates a work request, initially an empty, unsignaled send, for one queue pair: its memory is freed when the queue pair closes, not only with the arena. So a
     * program whose queue pairs come and go needs no more of it with time.
     *
     * @param queuePair the only queue pair that it can be posted to
     * @param maxSegments the maximum number of segments, 0 to 65535
     * @return the new object; once the queue pair is closed, its methods throw IllegalStateException
     * @throws IllegalArgumentException when the number is out of its range
     * @throws IllegalStateException when the queue pair is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    @CheckReturnValue
    public static SendWorkRequest allocate(QueuePair queuePair, int maxSegments) {
        return new SendWorkRequest(queuePair, Segments.checkCount(maxSegments));
    }

    @Override
    @Nullable
    SendWorkRequest following() {
        return next;
    }

    /**
     * Sets the identifier that the completion will carry.
     *
     * @param id any 64 bits
     * @return this
     */
    public SendWorkRequest id(long id) {
        struct.set(JAVA_LONG, WR_ID, id);
        return this;
    }

    /** {@return the identifier that the completion carries, 0 if none was set} */
    public long id() {
        return struct.get(JAVA_LONG, WR_ID);
    }

    /**
     * Makes this a SEND: the data goes into the peer's next receive.
     *
     * @return this
     */
    public SendWorkRequest send() {
        begin(SEND);
        return this;
    }

    /**
     * Makes this a SEND_WITH_IMM: like {@link #send()}, with 32 bits for the completion of the receive.
     *
     * @param immediate the value that the peer reads with {@link WorkCompletions#immediate}
     * @return this
     */
    public SendWorkRequest sendWithImmediate(int immediate) {
        begin(SEND_WITH_IMM);
        struct.set(NETWORK_INT, IMM_DATA, immediate);
        return this;
    }

    /** Starts a new operation and drops the references of the previous one. */
    private void begin(int opcode) {
        struct.set(JAVA_INT, OPCODE, opcode);
        struct.set(JAVA_INT, IMM_DATA, 0);
        window = null;
        windowRegion = null;
        header = null;
    }

    /**
     * Makes this a TSO: the data is cut into TCP segments, each preceded by a copy of the headers. For raw packets and
     * datagrams, on devices that support it.
     *
     * @param headers all headers up to that of TCP, at most {@link QueuePairOptions#maxTsoHeader} bytes; read when this
     *     is posted
     * @param maxSegmentSize the data of one segment in bytes, 1 to 65535
     * @return this
     * @throws IllegalArgumentException when the headers are on the heap, belong to an arena other than this one, the
     *     global one or an automatic one, or exceed 65535 bytes, or when the size is out of range
     */
    public SendWorkRequest tso(MemorySegment headers, int maxSegmentSize) {
        if (!headers.isNative() || !RegistrableMemory.hasKnownLife(headers, arena)) {
            throw new IllegalArgumentException(
                    "headers must lie in native memory that is not freed before the request is posted;"
                            + " allocate it from the VerbsArena or from Arena.ofAuto()");
        }
        if (headers.byteSize() > MAX_SHORT) {
            throw new IllegalArgumentException(
                    "headers must have at most " + MAX_SHORT + " bytes: " + headers.byteSize());
        }
        if (maxSegmentSize < 1 || maxSegmentSize > MAX_SHORT) {
            throw new IllegalArgumentException(
                    "maxSegmentSize must be between 1 and " + MAX_SHORT + ": " + maxSegmentSize);
        }
        begin(TSO);
        header = headers;
        changed();
        struct.set(JAVA_LONG, TSO_HDR, headers.address());
        struct.set(JAVA_SHORT, TSO_HDR_SZ, (short) headers.byteSize());
        struct.set(JAVA_SHORT, TSO_MSS, (short) maxSegmentSize);
        return this;
    }

    /**
     * Makes this an RDMA_WRITE: the data goes into the peer's memory without notice to the peer's program.
     *
     * @param remoteAddress the destination in the peer's address space
     * @param rkey the remote key of the peer's region
     * @return this
     */
    public SendWorkRequest rdmaWrite(long remoteAddress, int rkey) {
        begin(RDMA_WRITE);
        return remote(remoteAddress, rkey);
    }

    /**
     * Makes this an RDMA_WRITE: the data goes to the start of memory of the peer, without notice to the peer's program.
     *
     * @param remote the destination; its length is not compared with that of the data
     * @return this
     * @throws NullPointerException when the memory is null
     */
    public SendWorkRequest rdmaWrite(RemoteMemory remote) {
        return rdmaWrite(remote.address(), remote.rkey());
    }

    /**
     * Makes this an RDMA_WRITE_WITH_IMM: like {@link #rdmaWrite(long, int)}, and then it consumes one of the peer's receives,
     * whose completion carries 32 bits.
     *
     * @param remoteAddress the destination in the peer's address space
     * @param rkey the remote key of the peer's region
     * @param immediate the value that the peer reads with {@link WorkCompletions#immediate}
     * @return this
     */
    public SendWorkRequest rdmaWriteWithImmediate(long remoteAddress, int rkey, int immediate) {
        begin(RDMA_WRITE_WITH_IMM);
        struct.set(NETWORK_INT, IMM_DATA, immediate);
        return remote(remoteAddress, rkey);
    }

    /**
     * Makes this an RDMA_WRITE_WITH_IMM: like {@link #rdmaWrite(RemoteMemory)}, and then it consumes one of the peer's
     * receives, whose completion carries 32 bits.
     *
     * @param remote the destination; its length is not compared with that of the data
     * @param immediate the value that the peer reads with {@link WorkCompletions#immediate}
     * @return this
     * @throws NullPointerException when the memory is null
     */
    public SendWorkRequest rdmaWriteWithImmediate(RemoteMemory remote, int immediate) {
        return rdmaWriteWithImmediate(remote.address(), remote.rkey(), immediate);
    }

    /**
     * Makes this an RDMA_READ: data goes from the peer's memory into the segments of this request.
     *
     * @param remoteAddress the source in the peer's address space
     * @param rkey the remote key of the peer's region
     * @return this
     */
    public SendWorkRequest rdmaRead(long remoteAddress, int rkey) {
        begin(RDMA_READ);
        return remote(remoteAddress, rkey);
    }

    /**
     * Makes this an RDMA_READ: data goes from the start of memory of the peer into the segments of this request.
     *
     * @param remote the source; its length is not compared with that of the data
     * @return this
     * @throws NullPointerException when the memory is null
     */
    public SendWorkRequest rdmaRead(RemoteMemory remote) {
        return rdmaRead(remote.address(), remote.rkey());
    }

    private SendWorkRequest remote(long remoteAddress, int rkey) {
        addressHandle = null;
        struct.set(JAVA_LONG, RDMA_REMOTE_ADDR, remoteAddress);
        struct.set(JAVA_INT, RDMA_RKEY, rkey);
        return this;
    }

    /**
     * Changes only the remote address of an RDMA write or read.
     *
     * @param remoteAddress the destination in the peer's address space
     * @return this
     */
    public SendWorkRequest remoteAddress(long remoteAddress) {
        addressHandle = null;
        struct.set(JAVA_LONG, RDMA_REMOTE_ADDR, remoteAddress);
        return this;
    }

    /**
     * Makes this an ATOMIC_CMP_AND_SWP: eight bytes of the peer's memory become {@code desired} if they are {@code
     * expected}. Their previous value goes into the segment of this request, which must have eight bytes.
     *
     * @param remoteAddress the address of the eight bytes, a multiple of 8
     * @param rkey the remote key of the peer's region
     * @param expected the value they must have
     * @param desired the value they get
     * @return this
     */
    public SendWorkRequest compareAndSwap(long remoteAddress, int rkey, long expected, long desired) {
        addressHandle = null;
        begin(ATOMIC_CMP_AND_SWP);
        struct.set(JAVA_LONG, ATOMIC_REMOTE_ADDR, remoteAddress);
        struct.set(JAVA_LONG, ATOMIC_COMPARE_ADD, expected);
        struct.set(JAVA_LONG, ATOMIC_SWAP, desired);
        struct.set(JAVA_INT, ATOMIC_RKEY, rkey);
        return this;
    }

    /**
     * Makes this an ATOMIC_CMP_AND_SWP of the first eight bytes of memory of the peer; see {@link #compareAndSwap(long,
     * int, long, long)}.
     *
     * @param remote memory of at least eight bytes, whose address is a multiple of 8
     * @param expected the value they must have
     * @param desired the value they get
     * @return this
     * @throws IllegalArgumentException when the memory is shorter, or its address is not a multiple of 8
     * @throws NullPointerException when the memory is null
     */
    public SendWorkRequest compareAndSwap(RemoteMemory remote, long expected, long desired) {
        return compareAndSwap(atomicAddress(remote), remote.rkey(), expected, desired);
    }

    /**
     * Makes this an ATOMIC_FETCH_AND_ADD: a number is added to eight bytes of the peer's memory. Their previous value
     * goes into the segment of this request, which must have eight bytes.
     *
     * @param remoteAddress the address of the eight bytes, a multiple of 8
     * @param rkey the remote key of the peer's region
     * @param delta the number to add
     * @return this
     */
    public SendWorkRequest fetchAndAdd(long remoteAddress, int rkey, long delta) {
        addressHandle = null;
        begin(ATOMIC_FETCH_AND_ADD);
        struct.set(JAVA_LONG, ATOMIC_REMOTE_ADDR, remoteAddress);
        struct.set(JAVA_LONG, ATOMIC_COMPARE_ADD, delta);
        struct.set(JAVA_INT, ATOMIC_RKEY, rkey);
        return this;
    }

    /**
     * Makes this an ATOMIC_FETCH_AND_ADD to the first eight bytes of memory of the peer; see {@link #fetchAndAdd(long,
     * int, long)}.
     *
     * @param remote memory of at least eight bytes, whose address is a multiple of 8
     * @param delta the number to add
     * @return this
     * @throws IllegalArgumentException when the memory is shorter, or its address is not a multiple of 8
     * @throws NullPointerException when the memory is null
     */
    public SendWorkRequest fetchAndAdd(RemoteMemory remote, long delta) {
        return fetchAndAdd(atomicAddress(remote), remote.rkey(), delta);
    }

    /** Returns the address of memory for an atomic operation. */
    static long atomicAddress(RemoteMemory remote) {
        if (remote.length() < Long.BYTES || remote.address() % Long.BYTES != 0) {
            throw new IllegalArgumentException("an atomic operation needs eight bytes at a multiple of 8, not "
                    + remote.length() + " bytes at 0x" + Long.toHexString(remote.address()));
        }
        return remote.address();
    }

    /**
     * Makes this a SEND_WITH_INV: like {@link #send()}, and then one of the peer's keys becomes invalid: that of a
     * memory window of type 2 that is bound through the receiving queue pair, or of a region that was registered for
     * this purpose.
     *
     * @param rkey the peer's remote key, which it reads with {@link WorkCompletions#invalidatedRkey}
     * @return this
     * @verb ibv_post_send
     */
    public SendWorkRequest sendWithInvalidate(int rkey) {
        begin(SEND_WITH_INV);
        struct.set(JAVA_INT, INVALIDATE_RKEY, rkey);
        return this;
    }

    /**
     * Makes this a LOCAL_INV: a key of this side becomes invalid, that of a memory window of type 2 that is bound
     * through the same queue pair. It has no segments.
     *
     * @param rkey the remote key
     * @return this
     * @verb ibv_post_send
     */
    public SendWorkRequest localInvalidate(int rkey) {
        begin(LOCAL_INV);
        struct.set(JAVA_INT, INVALIDATE_RKEY, rkey);
        return this;
    }

    /**
     * Makes this a BIND_MW: a memory window of type 2 opens a part of a region to the peer of the queue pair. It has no
     * segments. Once this is posted, {@link MemoryWindow#rkey()} is the new key; if the completion says that the
     * binding failed, restore the old key with {@link MemoryWindow#restoreRkey}. Bind a window only once in a chain.
     *
     * @param memoryWindow the window, which must be new or have been invalidated
     * @param rkey the new key, usually {@link MemoryWindow#nextRkey()}
     * @param binding the part to open
     * @return this
     * @throws NullPointerException when the window or the binding is null
     * @throws IllegalArgumentException when the window is of type 1, or belongs to another protection domain than the
     *     region; when the key cannot be one of the window; or when the length of the binding is 0
     * @throws IllegalStateException when the window or the region is closed
     * @verb ibv_post_send
     */
    public SendWorkRequest bindMemoryWindow(MemoryWindow memoryWindow, int rkey, MemoryWindowBinding binding) {
        binding.checkFits(memoryWindow, rkey);
        bind(memoryWindow, rkey, binding.region());
        binding.write(struct, BIND_MW_INFO);
        return this;
    }

    /**
     * Makes this a BIND_MW, as {@link #bindMemoryWindow(MemoryWindow, int, MemoryWindowBinding)} does, for one kind of
     * access. It is for programs that open another part each time: it allocates nothing.
     *
     * @param memoryWindow the window, which must be new or have been invalidated
     * @param rkey the new key, usually {@link MemoryWindow#nextRkey()}
     * @param region the region, registered with {@link AccessFlag#MW_BIND}, and with LOCAL_WRITE if the peer may change
     *     it
     * @param offset where the part begins in the region, in bytes
     * @param length the length of the part in bytes, 1 or more
     * @param access REMOTE_WRITE, REMOTE_READ or REMOTE_ATOMIC
     * @return this
     * @throws NullPointerException when the window, the region or the access is null
     * @throws IndexOutOfBoundsException when the part is not inside the region
     * @throws IllegalArgumentException when the window is of type 1, or belongs to another protection domain than the
     *     region; when the key cannot be one of the window; when the length is 0, or the access another one; when the
     *     region lacks a flag, or is a region of everything
     * @throws IllegalStateException when the window or the region is closed, or the region can no longer be used
     * @verb ibv_post_send
     */
    public SendWorkRequest bindMemoryWindow(
            MemoryWindow memoryWindow, int rkey, MemoryRegion region, long offset, long length, AccessFlag access) {
        long start = MemoryWindowBinding.check(memoryWindow, rkey, region, offset, length, access);
        bind(memoryWindow, rkey, region);
        MemoryWindowBinding.write(struct, BIND_MW_INFO, region, start, length, access.code());
        return this;
    }

    private void bind(MemoryWindow memoryWindow, int rkey, MemoryRegion region) {
        begin(BIND_MW);
        window = memoryWindow;
        changed();
        windowRegion = region;
        struct.set(JAVA_LONG, BIND_MW_MW, memoryWindow.address);
        struct.set(JAVA_INT, BIND_MW_RKEY, rkey);
    }

    /**
     * Sets the destination of a datagram. Every send on a queue pair of type UD or DRIVER needs it.
     *
     * @param handle the path to the peer
     * @param queuePairNumber the peer's queue pair, 24 bits
     * @param qkey the peer's Q_Key
     * @return this
     * @throws IllegalArgumentException when the handle belongs to another arena
     * @throws NullPointerException when the handle is null
     */
    public SendWorkRequest to(AddressHandle handle, int queuePairNumber, int qkey) {
        if (handle.arena != arena) {
            throw new IllegalArgumentException(handle + " belongs to another arena than the work request");
        }
        addressHandle = handle;
        struct.set(JAVA_LONG, UD_AH, handle.address);
        struct.set(JAVA_INT, UD_REMOTE_QPN, queuePairNumber);
        struct.set(JAVA_INT, UD_REMOTE_QKEY, qkey);
        return this;
    }

    /**
     * Sets the peer's shared receive queue that a message goes to. Every send, and every write with immediate data, on
     * an XRC_SEND queue pair needs it.
     *
     * @param number the peer's {@link SharedReceiveQueue#number}, 24 bits
     * @return this
     */
    public SendWorkRequest toSharedReceiveQueue(int number) {
        struct.set(JAVA_INT, XRC_REMOTE_SRQN, number);
        return this;
    }

    /** Only growing data can invalidate an earlier check; other data of the same size cannot. */
    private void grown() {
        if (segments.count() > segmentsSeen || inlineLength() > inlineSeen) {
            changed();
        }
    }

    /** How many bytes of data this has. */
    long dataLength() {
        return segments.totalLength();
    }

    /** Whether this asks for a completion. */
    boolean isSignaled() {
        return (struct.get(JAVA_INT, SEND_FLAGS) & SIGNALED) != 0;
    }

    private long inlineLength() {
        return inline ? segments.totalLength() : 0;
    }

    /** Records that a queue that accepted this may no longer accept it. */
    private void changed() {
        fitsAlone = null;
        if (chained) {
            arena.chainChanged();
        }
    }

    /**
     * Checks the whole chain against the sizes of a queue pair. Drivers are not careful here: some report too many
     * segments as a full queue, and some copy inline data of any length. The requests after this one are not checked
     * again as long as no chain of the arena changes and this goes to the same queue pair.
     *
     * @param sizes the sizes of the queue pair, always the same object
     * @return how many requests the chain has; negated if one of them binds a memory window
     */
    @SuppressWarnings("ReferenceEquality") // of this queue pair, and not of one that looks alike
    int checkFits(QueuePairCapabilities sizes, int maxTsoHeader) {
        checkAlone(sizes, maxTsoHeader);
        boolean binding = window != null;
        if (next == null) {
            return binding ? -1 : 1;
        }
        long changes = arena.chainChanges();
        if (fits == sizes && fitsSince == changes) {
            return binding ? -checkedLength : checkedLength;
        }
        boolean bindingBehind = false;
        int length = 1;
        for (SendWorkRequest request = next; request != null; request = request.next) {
            request.checkAlone(sizes, maxTsoHeader);
            bindingBehind |= request.window != null;
            length++;
        }
        if (!bindingBehind) {
            checkedLength = length;
            fits = sizes;
            fitsSince = changes;
        }
        return binding || bindingBehind ? -length : length;
    }

    @SuppressWarnings("ReferenceEquality") // of this queue pair, and not of one that looks alike
    private void checkAlone(QueuePairCapabilities sizes, int maxTsoHeader) {
        if (fitsAlone == sizes) {
            return;
        }
        segments.checkFits(sizes.maxSendSegments());
        segmentsSeen = segments.count();
        inlineSeen = inlineLength();
        if (inlineSeen > sizes.maxInlineData()) {
            throw new IllegalArgumentException(
                    this + " has " + segments.totalLength() + " bytes inline, and the queue pair takes at most "
                            + sizes.maxInlineData() + "; see QueuePairOptions.maxInlineData");
        }
        if (header != null && header.byteSize() > maxTsoHeader) {
            throw new IllegalArgumentException(
                    this + " has " + header.byteSize() + " bytes of headers, and the queue pair takes at most "
                            + maxTsoHeader + "; see QueuePairOptions.maxTsoHeader");
        }
        fitsAlone = sizes;
    }

    /**
     * Keeps the objects that this points to open until {@link #release}, because drivers follow the pointers when they
     * post.
     */
    void hold(QueuePair queuePair) {
        if (queuePair.isAddressed()) {
            holdAddressHandle(queuePair.domain());
        } else if (window != null) {
            window.hold(queuePair, Objects.requireNonNull(windowRegion));
        }
    }

    private void holdAddressHandle(ProtectionDomain protectionDomain) {
        if (addressHandle == null || addressHandle.protectionDomain.root != protectionDomain.root) {
            throw new IllegalArgumentException(
                    "a datagram needs an address handle of the queue pair's protection domain; call to(...)");
        }
        addressHandle.enter();
    }

    void release(QueuePair queuePair) {
        if (queuePair.isAddressed()) {
            Objects.requireNonNull(addressHandle).exit();
        } else if (window != null) {
            window.release(Objects.requireNonNull(windowRegion));
        }
    }

    /** Called when this was posted and is still held. */
    void posted(QueuePair queuePair) {
        if (window != null) {
            window.bound(queuePair, struct.get(JAVA_INT, BIND_MW_RKEY));
        }
    }

    /**
     * Sets whether this generates a completion when it succeeds. Failures always do.
     *
     * @param on true to get a completion
     * @return this
     */
    public SendWorkRequest signaled(boolean on) {
        return flag(SIGNALED, on);
    }

    /**
     * Sets whether this wakes a receiver that waits only for solicited completions.
     *
     * @param on true to wake it
     * @return this
     */
    public SendWorkRequest solicited(boolean on) {
        return flag(SOLICITED, on);
    }

    /**
     * Sets whether this waits for the RDMA reads and atomics posted before it.
     *
     * @param on true to wait
     * @return this
     */
    public SendWorkRequest fence(boolean on) {
        return flag(FENCE, on);
    }

    /**
     * Sets whether the data is copied when this is posted, so that its memory can be reused at once. It must not exceed
     * the queue pair's {@link QueuePairCapabilities#maxInlineData()}. For sends and writes only.
     *
     * @param on true to copy
     * @return this
     * @throws IllegalArgumentException when a part belongs to a region without memory of this process
     */
    public SendWorkRequest inline(boolean on) {
        segments.inline(on);
        inline = on;
        grown();
        return flag(INLINE, on);
    }

    /**
     * Sets whether the device computes the checksums of IPv4, TCP and UDP. For raw packets and datagrams, on devices
     * that support it.
     *
     * @param on true to compute them
     * @return this
     */
    public SendWorkRequest ipChecksum(boolean on) {
        return flag(IP_CSUM, on);
    }

    private SendWorkRequest flag(int bit, boolean on) {
        int flags = struct.get(JAVA_INT, SEND_FLAGS);
        struct.set(JAVA_INT, SEND_FLAGS, on ? flags | bit : flags & ~bit);
        return this;
    }

    /**
     * Adds a part of a region, after the parts added before.
     *
     * @param region the region of the data
     * @param offset the start of the part in the region, in bytes
     * @param length the length of the part in bytes, up to 2<sup>32</sup> - 1
     * @return this
     * @throws IndexOutOfBoundsException when the part is not inside the region
     * @throws IllegalArgumentException when the region belongs to another arena
     * @throws IllegalStateException when the region is closed or no further segment fits
     */
    public SendWorkRequest add(MemoryRegion region, long offset, long length) {
        segments.add(arena, region, offset, length);
        grown();
        return this;
    }

    /**
     * Adds a slice of a region, after the parts added before.
     *
     * @param region the region of the data
     * @param slice a slice of the region's memory; for a region of everything, any memory that could be registered
     * @return this
     * @throws IndexOutOfBoundsException when the slice is not inside the region
     * @throws IllegalArgumentException when the region belongs to another arena, or the slice is on the heap
     * @throws IllegalStateException when the region is closed or no further segment fits
     * @throws UnsupportedOperationException when the region has no memory of this process
     */
    public SendWorkRequest add(MemoryRegion region, MemorySegment slice) {
        segments.add(arena, region, slice);
        grown();
        return this;
    }

    /**
     * Adds a buffer of a pool, as a whole, after the parts added before.
     *
     * @param buffer the buffer of the data
     * @return this
     * @throws IndexOutOfBoundsException when it is longer than 2<sup>32</sup> - 1 bytes
     * @throws IllegalArgumentException when it belongs to another arena
     * @throws IllegalStateException when the buffer or its pool is closed, or no further segment fits
     */
    public SendWorkRequest add(RegisteredBuffer buffer) {
        return add(buffer, 0, buffer.byteSize());
    }

    /**
     * Adds a part of a buffer of a pool, after the parts added before.
     *
     * @param buffer the buffer of the data
     * @param offset the start of the part in the buffer, in bytes
     * @param length the length of the part in bytes, up to 2<sup>32</sup> - 1
     * @return this
     * @throws IndexOutOfBoundsException when the part is not inside the buffer
     * @throws IllegalArgumentException when the buffer belongs to another arena
     * @throws IllegalStateException when the buffer or its pool is closed, or no further segment fits
     */
    public SendWorkRequest add(RegisteredBuffer buffer, long offset, long length) {
        segments.add(arena, buffer.region(), Segments.offsetOf(buffer, offset, length), length);
        grown();
        return this;
    }

    /**
     * Changes one part in place.
     *
     * @param index the index of the part, in the order of adding
     * @param region the region of the data
     * @param offset the start of the part in the region, in bytes
     * @param length the length of the part in bytes, up to 2<sup>32</sup> - 1
     * @return this
     * @throws IndexOutOfBoundsException when there is no such part, or the new one is not inside the region
     * @throws IllegalArgumentException when the region belongs to another arena
     * @throws IllegalStateException when the region is closed
     */
    public SendWorkRequest set(int index, MemoryRegion region, long offset, long length) {
        segments.set(arena, index, region, offset, length);
        grown();
        return this;
    }

    /**
     * Removes all parts.
     *
     * @return this
     */
    public SendWorkRequest clear() {
        segments.clear();
        return this;
    }

    /**
     * Chains another work request behind this one: posting this one posts both.
     *
     * @param following the request that follows this one, or null for none
     * @return this
     * @throws IllegalArgumentException when it belongs to another arena, or to a queue pair that this one does not
     *     belong to, or the chain would be a ring
     */
    public SendWorkRequest next(@Nullable SendWorkRequest following) {
        requireNoRing(following);
        struct.set(JAVA_LONG, NEXT, following == null ? 0 : following.addressBehind(this));
        next = following;
        fits = null;
        changed();
        if (following != null) {
            following.chained = true;
        }
        return this;
    }

    /** {@return the work request that is chained behind this one, or null} */
    public @Nullable SendWorkRequest next() {
        return next;
    }

    /** Identifier, opcode and number of segments. */
    @Override
    public String toString() {
        return "send work request " + id() + " (" + WorkRequestOpcode.of(struct.get(JAVA_INT, OPCODE)) + ", " + segments
                + ")";
    }
}
