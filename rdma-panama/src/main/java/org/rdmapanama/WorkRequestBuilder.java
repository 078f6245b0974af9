package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_data_buf;
import org.rdmapanama.ffm.verbs.ibv_mw_bind_info;
import org.rdmapanama.ffm.verbs.ibv_qp_ex;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.SendVerbs;

/**
 * A batch of work requests for the send queue of an {@link ExtendedQueuePair}; see ibv_wr_post(3).
 *
 * <p>A work request is made in this order: identifier and flags, which hold until they are changed; the operation; and
 * then, in any order, where it goes and its data. The next operation, or {@link #complete}, begins when all is said
 * about the one before.
 *
 * <p>{@snippet :
 * try (WorkRequestBuilder batch = qp.startWorkRequests()) {
 *     batch.id(1).signaled(true)
 *             .send().to(handle, peerQueuePair, peerQkey).segment(region, 0, 100).segment(region, 512, 100);
 *     batch.id(2)
 *             .sendWithImmediate(42).to(handle, peerQueuePair, peerQkey).inlineData(text);
 *     if (batch.complete() == QueuePair.QUEUE_FULL) { ... }
 * }
 * }
 *
 * <p>Nothing reaches the device before {@link #complete}, and then all or nothing. Wrong use, which in C destroys the
 * queue, is refused by an exception; what was wrong can be set right or the batch {@link #abort aborted}, which closing
 * this does as well. Nothing here allocates.
 *
 * <p>Threads: the one that started the batch.
 */
public final class WorkRequestBuilder implements AutoCloseable {
    private static final long WR_ID = ibv_qp_ex.wr_id$offset() + Pthread.MUTEX_GROWTH;
    private static final long WR_FLAGS = ibv_qp_ex.wr_flags$offset() + Pthread.MUTEX_GROWTH;

    private static final long SGE_SIZE = ibv_sge.sizeof();
    private static final long SGE_ADDR = ibv_sge.addr$offset();
    private static final long SGE_LENGTH = ibv_sge.length$offset();
    private static final long SGE_LKEY = ibv_sge.lkey$offset();
    private static final long BUFFER_SIZE = ibv_data_buf.sizeof();
    private static final long BUFFER_ADDR = ibv_data_buf.addr$offset();
    private static final long BUFFER_LENGTH = ibv_data_buf.length$offset();
    private static final int SIGNALED = rdma_h.IBV_SEND_SIGNALED();
    private static final int SOLICITED = rdma_h.IBV_SEND_SOLICITED();
    private static final int FENCE = rdma_h.IBV_SEND_FENCE();
    private static final int INLINE = rdma_h.IBV_SEND_INLINE();
    private static final int IP_CSUM = rdma_h.IBV_SEND_IP_CSUM();
    private static final int MAX_SHORT = 0xffff;
    private static final int SEND = SendOperation.SEND.code();
    private static final int RDMA_READ = SendOperation.RDMA_READ.code();
    private static final int RDMA_WRITE = SendOperation.RDMA_WRITE.code();
    private static final int ATOMICS =
            SendOperation.mask(EnumSet.of(SendOperation.ATOMIC_CMP_AND_SWP, SendOperation.ATOMIC_FETCH_AND_ADD));
    private static final int LOCAL = SendOperation.mask(EnumSet.of(SendOperation.LOCAL_INV, SendOperation.BIND_MW));
    private static final int WITHOUT_DATA =
            LOCAL | SendOperation.mask(EnumSet.of(SendOperation.FLUSH, SendOperation.ATOMIC_WRITE));
    private static final int INLINE_POSSIBLE = SendOperation.mask(EnumSet.of(
            SendOperation.SEND,
            SendOperation.SEND_WITH_IMM,
            SendOperation.SEND_WITH_INV,
            SendOperation.RDMA_WRITE,
            SendOperation.RDMA_WRITE_WITH_IMM));

    /** Pieces of inline data beyond these lengthen the last one, behind which they lie. */
    private static final int MAX_BUFFERS = 16;

    private final ExtendedQueuePair queuePair;
    private final VerbsArena arena;
    private final Batch batch;
    private final SendVerbs verbs;

    /** The struct ibv_qp_ex. */
    private final long extended;

    private final QueuePairCapabilities sizes;
    private final int maxSegments;
    private final int maxTsoHeader;

    /** The operations that the queue pair was made for: the driver has no function for the others. */
    private final int allowed;

    private final boolean addressed;
    private final boolean mustBeAddressed;
    private final boolean xrc;

    /** The struct ibv_sge of the work request in the making. */
    private final MemorySegment segments;

    /** A copy of its inline data, and the struct ibv_data_buf that point into it. */
    private final MemorySegment inline;

    private final MemorySegment buffers;

    /** A copy of its headers, or its struct ibv_mw_bind_info, or the value of an atomic write. */
    private final MemorySegment extra;

    private long id;
    private int flags;

    /** The code of the operation of the work request in the making, or 0; and what it was given. */
    private int operation;

    private long operationId;
    private int operationFlags;
    private int number;
    private long remoteAddress;
    private int rkey;
    private long first;
    private long second;
    private MemoryWindow window;
    private MemoryRegion boundRegion;
    private AddressHandle handle;
    private int remoteQueuePair;
    private int qkey;
    private boolean sharedReceiveQueueGiven;
    private int sharedReceiveQueue;

    /** The first segment, which is in {@link #segments} as soon as there is a second one. */
    private long segmentAddress;

    private int segmentLength;
    private int segmentLkey;
    private int segmentCount;
    private long segmentBytes;
    private int bufferCount;
    private int inlineBytes;

    /** A window that was given to the driver with a key, but not posted yet. */
    private record Bound(MemoryWindow window, int key) {
        void posted(QueuePair queuePair) {
            window.boundIfOpen(queuePair, key);
        }
    }

    /** Windows that the batch binds. */
    private final List<Bound> bound = new ArrayList<>();

    /** The driver has seen a part of a work request, and the rest failed. */
    private boolean torn;

    WorkRequestBuilder(ExtendedQueuePair queuePair, long extended, int maxTsoHeader) {
        this.queuePair = queuePair;
        batch = new Batch(queuePair, "complete() or abort()", this::start);
        this.extended = extended;
        arena = queuePair.arena;
        verbs = queuePair.provider.sendVerbs();
        sizes = queuePair.capabilities();
        maxSegments = sizes.maxSendSegments();
        this.maxTsoHeader = maxTsoHeader;
        allowed = SendOperation.mask(queuePair.sendOperations());
        QueuePairType type = queuePair.type();
        mustBeAddressed = type == QueuePairType.UD;
        addressed = mustBeAddressed || type == QueuePairType.DRIVER;
        xrc = type == QueuePairType.XRC_SEND;
        segments = arena.allocate(Math.max(1, sizes.maxSendSegments()) * SGE_SIZE, Long.BYTES);
        inline = arena.allocate(Math.max(1, sizes.maxInlineData()), Long.BYTES);
        buffers = arena.allocate(MAX_BUFFERS * BUFFER_SIZE, Long.BYTES);
        extra = arena.allocate(Math.max(ibv_mw_bind_info.sizeof(), maxTsoHeader), Long.BYTES);
    }

    Batch batch() {
        return batch;
    }

    private boolean start() {
        verbs.wrStart(extended);
        id = 0;
        flags = 0;
        torn = false;
        return true;
    }

    private void checkMine() {
        if (!batch.isMine()) {
            queuePair.checkOpen();
            throw new IllegalStateException(
                    "this thread has no batch open on " + queuePair + ": see ExtendedQueuePair.startWorkRequests");
        }
    }

    /**
     * Sets the identifier that the completions of the following work requests will carry. It is 0 when a batch starts.
     *
     * @param id any 64 bits
     * @return this
     * @throws IllegalStateException when no batch of this thread is open
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public WorkRequestBuilder id(long id) {
        checkMine();
        this.id = id;
        return this;
    }

    /**
     * Sets whether the following work requests complete visibly when they succeed. Failures always do. It is off when a
     * batch starts.
     *
     * @param on true to get completions
     * @return this
     * @throws IllegalStateException when no batch of this thread is open
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public WorkRequestBuilder signaled(boolean on) {
        return flag(SIGNALED, on);
    }

    /**
     * Sets whether the following work requests wake a receiver that only waits for solicited completions. It is off when
     * a batch starts.
     *
     * @param on true to wake it
     * @return this
     * @throws IllegalStateException when no batch of this thread is open
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public WorkRequestBuilder solicited(boolean on) {
        return flag(SOLICITED, on);
    }

    /**
     * Sets whether the following work requests wait for the RDMA reads and atomics before them. It is off when a batch
     * starts.
     *
     * @param on true to wait
     * @return this
     * @throws IllegalStateException when no batch of this thread is open
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public WorkRequestBuilder fence(boolean on) {
        return flag(FENCE, on);
    }

    /**
     * Sets whether the device computes the checksums of IPv4, TCP and UDP in the following work requests. For raw packets
     * and datagrams, on devices that have it. It is off when a batch starts.
     *
     * @param on true to compute them
     * @return this
     * @throws IllegalStateException when no batch of this thread is open
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public WorkRequestBuilder ipChecksum(boolean on) {
        return flag(IP_CSUM, on);
    }

    private WorkRequestBuilder flag(int bit, boolean on) {
        checkMine();
        flags = on ? flags | bit : flags & ~bit;
        return this;
    }

    /**
     * Begins a SEND: the data goes into the peer's next receive.
     *
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for SEND, or the
     *     work request before is not complete
     * @throws UnsupportedVerbException when the work request before is one that this driver would spoil
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_send
     */
    public WorkRequestBuilder send() {
        begin(SendOperation.SEND);
        return this;
    }

    /**
     * Begins a SEND_WITH_IMM: as {@link #send}, with 32 bits for the completion of the receive.
     *
     * @param immediate what {@link WorkCompletions#immediate} gives the peer
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for
     *     SEND_WITH_IMM, or the work request before is not complete
     * @throws UnsupportedVerbException when the work request before is one that this driver would spoil
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_send_imm
     */
    public WorkRequestBuilder sendWithImmediate(int immediate) {
        begin(SendOperation.SEND_WITH_IMM);
        number = toNetworkOrder(immediate);
        return this;
    }

    /**
     * Begins a SEND_WITH_INV: as {@link #send}, and before the receive completes the peer's device takes away one of
     * the peer's remote keys.
     *
     * @param remoteKey a remote key of the peer, of a memory window of type 2
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for
     *     SEND_WITH_INV, or the work request before is not complete
     * @throws UnsupportedVerbException when the work request before is one that this driver would spoil
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_send_inv
     */
    public WorkRequestBuilder sendWithInvalidate(int remoteKey) {
        begin(SendOperation.SEND_WITH_INV);
        rkey = remoteKey;
        return this;
    }

    /**
     * Begins an RDMA_READ: data comes from the peer's memory into the segments.
     *
     * @param address from where, in the peer's address space
     * @param remoteKey the remote key of the peer's region
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for RDMA_READ,
     *     or the work request before is not complete
     * @throws UnsupportedVerbException when the work request before is one that this driver would spoil
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_rdma_read
     */
    public WorkRequestBuilder rdmaRead(long address, int remoteKey) {
        return remote(SendOperation.RDMA_READ, address, remoteKey);
    }

    /**
     * Begins an RDMA_WRITE: the data goes into the peer's memory, of which the peer notices nothing.
     *
     * @param address where, in the peer's address space
     * @param remoteKey the remote key of the peer's region
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for RDMA_WRITE,
     *     or the work request before is not complete
     * @throws UnsupportedVerbException when the work request before is one that this driver would spoil
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_rdma_write
     */
    public WorkRequestBuilder rdmaWrite(long address, int remoteKey) {
        return remote(SendOperation.RDMA_WRITE, address, remoteKey);
    }

    /**
     * Begins an RDMA_WRITE_WITH_IMM: as {@link #rdmaWrite}, and then it uses up one of the peer's receives, whose
     * completion carries 32 bits.
     *
     * @param address where, in the peer's address space
     * @param remoteKey the remote key of the peer's region
     * @param immediate what {@link WorkCompletions#immediate} gives the peer
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for
     *     RDMA_WRITE_WITH_IMM, or the work request before is not complete
     * @throws UnsupportedVerbException when the work request before is one that this driver would spoil
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_rdma_write_imm
     */
    public WorkRequestBuilder rdmaWriteWithImmediate(long address, int remoteKey, int immediate) {
        remote(SendOperation.RDMA_WRITE_WITH_IMM, address, remoteKey);
        number = toNetworkOrder(immediate);
        return this;
    }

    /**
     * Begins an ATOMIC_CMP_AND_SWP: eight bytes of the peer's memory become {@code desired} if they are {@code
     * expected}. What they were before comes into the segment, which has eight bytes.
     *
     * @param address of the eight bytes, a multiple of 8
     * @param remoteKey the remote key of the peer's region
     * @param expected what they must be
     * @param desired what they become
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for
     *     ATOMIC_CMP_AND_SWP, or the work request before is not complete
     * @throws UnsupportedVerbException when the work request before is one that this driver would spoil
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_atomic_cmp_swp
     */
    public WorkRequestBuilder compareAndSwap(long address, int remoteKey, long expected, long desired) {
        remote(SendOperation.ATOMIC_CMP_AND_SWP, address, remoteKey);
        first = expected;
        second = desired;
        return this;
    }

    /**
     * Begins an ATOMIC_FETCH_AND_ADD: a number is added to eight bytes of the peer's memory. What they were before
     * comes into the segment, which has eight bytes.
     *
     * @param address of the eight bytes, a multiple of 8
     * @param remoteKey the remote key of the peer's region
     * @param delta what is added
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for
     *     ATOMIC_FETCH_AND_ADD, or the work request before is not complete
     * @throws UnsupportedVerbException when the work request before is one that this driver would spoil
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_atomic_fetch_add
     */
    public WorkRequestBuilder fetchAndAdd(long address, int remoteKey, long delta) {
        remote(SendOperation.ATOMIC_FETCH_AND_ADD, address, remoteKey);
        first = delta;
        return this;
    }

    /**
     * Begins an ATOMIC_WRITE: eight bytes of the peer's memory are written at once, behind all that was written before.
     * It has no segments.
     *
     * @param address of the eight bytes, a multiple of 8
     * @param remoteKey the remote key of the peer's region
     * @param value what they become, in this machine's byte order
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for
     *     ATOMIC_WRITE, or the work request before is not complete
     * @throws UnsupportedVerbException when the work request before is one that this driver would spoil
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_atomic_write
     */
    public WorkRequestBuilder atomicWrite(long address, int remoteKey, long value) {
        remote(SendOperation.ATOMIC_WRITE, address, remoteKey);
        first = value;
        return this;
    }

    /**
     * Begins a LOCAL_INV: takes away a remote key of this side. It has no segments.
     *
     * @param localRkey a remote key of this side, of a memory window of type 2
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for LOCAL_INV,
     *     or the work request before is not complete
     * @throws UnsupportedVerbException when the work request before is one that this driver would spoil
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_local_inv
     */
    public WorkRequestBuilder localInvalidate(int localRkey) {
        begin(SendOperation.LOCAL_INV);
        rkey = localRkey;
        return this;
    }

    /**
     * Begins a FLUSH: completes when what was written before is visible or persistent at the peer. It has no segments.
     *
     * @param remoteAddress where the range begins, in the peer's address space
     * @param remoteKey the remote key of the peer's region
     * @param length how long the range is, in bytes
     * @param types what the data is to be safe from, one at least; the region must allow it
     * @param level whether the range counts, or all of the region
     * @return this
     * @throws IllegalArgumentException when no type is given or the length is negative
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for FLUSH, or the
     *     work request before is not complete
     * @throws NullPointerException when an argument is null
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_flush
     */
    public WorkRequestBuilder flush(
            long remoteAddress, int remoteKey, long length, Set<FlushType> types, FlushLevel level) {
        if (length < 0) {
            throw new IllegalArgumentException("a range has no negative length: " + length);
        }
        int mask = (types.contains(FlushType.GLOBAL) ? FlushType.GLOBAL.code() : 0)
                | (types.contains(FlushType.PERSISTENT) ? FlushType.PERSISTENT.code() : 0);
        if (mask == 0) {
            throw new IllegalArgumentException("a flush is to make data visible or persistent: no type is given");
        }
        int selectivity = level.code();
        remote(SendOperation.FLUSH, remoteAddress, remoteKey);
        first = length;
        second = mask;
        number = selectivity;
        return this;
    }

    /**
     * Begins a TSO: the data is cut into TCP segments, each behind a copy of the headers. For raw packets and datagrams,
     * on devices that have it.
     *
     * @param headers all headers up to that of TCP, at most as long as {@link QueuePairOptions#maxTsoHeader} says; copied
     * @param maxSegmentSize data of one segment in bytes, 1 to 65535
     * @return this
     * @throws IllegalArgumentException when the headers are too long or the size is out of range
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for TSO, the work
     *     request before is not complete, or the memory is closed
     * @throws WrongThreadException when the arena, or the memory, is confined to another thread
     *
     * @verb ibv_wr_send_tso
     */
    public WorkRequestBuilder sendTso(MemorySegment headers, int maxSegmentSize) {
        if (headers.byteSize() > maxTsoHeader) {
            throw new IllegalArgumentException("headers of " + headers.byteSize() + " bytes, and " + queuePair
                    + " takes " + maxTsoHeader + ": see QueuePairOptions.maxTsoHeader");
        }
        if (maxSegmentSize < 1 || maxSegmentSize > MAX_SHORT) {
            throw new IllegalArgumentException(
                    "a segment has between 1 and " + MAX_SHORT + " bytes, not " + maxSegmentSize);
        }
        begin(SendOperation.TSO);
        operation = 0;
        MemorySegment.copy(headers, 0, extra, 0, headers.byteSize());
        operation = SendOperation.TSO.code();
        first = headers.byteSize();
        number = maxSegmentSize;
        return this;
    }

    /**
     * Begins a BIND_MW: a memory window of type 2 opens a part of a region to the peer of the queue pair. It has no
     * segments. Once {@link #complete} has returned, {@link MemoryWindow#rkey()} is the new key; if the completion says
     * that it failed, give the old one back with {@link MemoryWindow#restoreRkey}. Bind a window once in a batch.
     *
     * @param memoryWindow which window: a new one, or one that was invalidated
     * @param newRkey the key it is to have, mostly its {@link MemoryWindow#nextRkey()}
     * @param binding what it opens
     * @return this
     * @throws NullPointerException when the window or the binding is null
     * @throws IllegalArgumentException when the window is of type 1; when it, the region and the queue pair are not of
     *     the same protection domain; when the key cannot be one of the window; when nothing is to be opened; or when
     *     the queue pair is of another type than RC, UC and XRC_SEND
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not made for BIND_MW, the
     *     work request before is not complete, or the window or the region is closed
     * @throws UnsupportedVerbException when the work request before is one that this driver would spoil
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_bind_mw
     */
    public WorkRequestBuilder bindMemoryWindow(MemoryWindow memoryWindow, int newRkey, MemoryWindowBinding binding) {
        binding.checkFits(memoryWindow, newRkey);
        queuePair.requireConnected();
        memoryWindow.requireSameDomain(queuePair, binding.region());
        begin(SendOperation.BIND_MW);
        window = memoryWindow;
        boundRegion = binding.region();
        rkey = newRkey;
        binding.write(extra, 0);
        return this;
    }

    private static int toNetworkOrder(int value) {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Integer.reverseBytes(value);
    }

    private WorkRequestBuilder remote(SendOperation next, long address, int remoteKey) {
        begin(next);
        remoteAddress = address;
        rkey = remoteKey;
        return this;
    }

    private void begin(SendOperation next) {
        checkMine();
        int code = next.code();
        if ((allowed & code) == 0) {
            throw new IllegalStateException(
                    queuePair + " was not made to post " + next + ": name it in QueuePairOptions.sendOperations");
        }
        emit();
        operation = code;
        operationId = id;
        operationFlags = flags;
    }

    /**
     * Says where a datagram goes.
     *
     * @param target the way to the peer
     * @param queuePairNumber the peer's queue pair, 24 bits
     * @param remoteQkey the peer's Q_Key
     * @return this
     * @throws IllegalArgumentException when the handle belongs to another protection domain, or this queue pair has a
     *     peer
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, or the handle is closed
     * @throws NullPointerException when the handle is null
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_set_ud_addr
     */
    public WorkRequestBuilder to(AddressHandle target, int queuePairNumber, int remoteQkey) {
        checkBegun("to");
        if (!addressed) {
            throw new IllegalArgumentException(queuePair + " does not send datagrams");
        }
        if (target.protectionDomain.root != queuePair.protectionDomain().root) {
            throw new IllegalArgumentException(target + " belongs to another protection domain than " + queuePair);
        }
        target.checkOpen();
        handle = target;
        remoteQueuePair = queuePairNumber;
        qkey = remoteQkey;
        return this;
    }

    /**
     * Says which shared receive queue of the peer takes a message, on a queue pair of type XRC_SEND.
     *
     * @param queueNumber the peer's shared receive queue
     * @return this
     * @throws IllegalArgumentException when this queue pair is of another type
     * @throws IllegalStateException when no batch of this thread is open, or no operation has begun
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_set_xrc_srqn
     */
    public WorkRequestBuilder toSharedReceiveQueue(int queueNumber) {
        checkBegun("toSharedReceiveQueue");
        if (!xrc) {
            throw new IllegalArgumentException(queuePair + " is not of type XRC_SEND");
        }
        sharedReceiveQueueGiven = true;
        sharedReceiveQueue = queueNumber;
        return this;
    }

    /**
     * Adds a part of a region, behind the parts added before.
     *
     * @param region where the data is, or goes
     * @param offset where it begins in the region, in bytes
     * @param length how long it is, in bytes, up to 2 to the 32 minus 1
     * @return this
     * @throws IndexOutOfBoundsException when the part is not inside the region
     * @throws IllegalArgumentException when the region belongs to another arena, or the queue pair takes no further
     *     segment
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, the operation has no
     *     data or has inline data already, or the region is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_set_sge
     * @verb ibv_wr_set_sge_list
     */
    public WorkRequestBuilder segment(MemoryRegion region, long offset, long length) {
        checkSegment(region, length);
        MemoryRegion.Registration is = region.registration();
        addSegment(is.lkey(), region.addressOf(is, offset, length), length);
        return this;
    }

    /**
     * Adds a slice of a region, behind the parts added before.
     *
     * @param region where the data is, or goes
     * @param slice a slice of the region's memory; of a region of everything, any memory that could be registered
     * @return this
     * @throws IndexOutOfBoundsException when the slice is not inside the region
     * @throws IllegalArgumentException when the slice is on the heap, the region belongs to another arena, or the queue
     *     pair takes no further segment
     * @throws UnsupportedOperationException when the region has no memory of this process
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, the operation has no
     *     data or has inline data already, or the region is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_set_sge
     * @verb ibv_wr_set_sge_list
     */
    public WorkRequestBuilder segment(MemoryRegion region, MemorySegment slice) {
        checkSegment(region, slice.byteSize());
        MemoryRegion.Registration is = region.registration();
        addSegment(is.lkey(), region.addressOf(is, slice), slice.byteSize());
        return this;
    }

    private void checkSegment(MemoryRegion region, long length) {
        checkData("segment");
        if (bufferCount > 0) {
            throw new IllegalStateException("the data of a work request is inline, or in segments, but not both");
        }
        if (region.arena != arena) {
            throw new IllegalArgumentException(region + " belongs to another arena than the queue pair");
        }
        region.checkOpen();
        if (segmentCount == maxSegments) {
            throw new IllegalArgumentException(
                    queuePair + " takes " + segmentCount + " segments: see QueuePairOptions.maxSegments");
        }
        Segments.checkLength(length);
    }

    private void addSegment(int lkey, long address, long length) {
        if (segmentCount == 0) {
            segmentAddress = address;
            segmentLength = (int) length;
            segmentLkey = lkey;
        } else {
            if (segmentCount == 1) {
                writeSegment(0, segmentAddress, segmentLength, segmentLkey);
            }
            writeSegment(segmentCount, address, (int) length, lkey);
        }
        segmentCount++;
        segmentBytes += length;
    }

    private void writeSegment(int index, long address, int length, int lkey) {
        long at = index * SGE_SIZE;
        segments.set(JAVA_LONG, at + SGE_ADDR, address);
        segments.set(JAVA_INT, at + SGE_LENGTH, length);
        segments.set(JAVA_INT, at + SGE_LKEY, lkey);
    }

    /**
     * Adds a buffer of a pool, as a whole, behind the parts added before.
     *
     * @param buffer where the data is, or goes
     * @return this
     * @throws IndexOutOfBoundsException when it is longer than 2 to the 32 minus 1 bytes
     * @throws IllegalArgumentException when it belongs to another arena, or the queue pair takes no further segment
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, the operation has no
     *     data or has inline data already, or the buffer or its pool is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_set_sge
     * @verb ibv_wr_set_sge_list
     */
    public WorkRequestBuilder segment(RegisteredBuffer buffer) {
        return segment(buffer, 0, buffer.byteSize());
    }

    /**
     * Adds a part of a buffer of a pool, behind the parts added before.
     *
     * @param buffer where the data is, or goes
     * @param offset where it begins in the buffer, in bytes
     * @param length how long it is, in bytes, up to 2 to the 32 minus 1
     * @return this
     * @throws IndexOutOfBoundsException when the part is not inside the buffer
     * @throws IllegalArgumentException when it belongs to another arena, or the queue pair takes no further segment
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, the operation has no
     *     data or has inline data already, or the buffer or its pool is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_set_sge
     * @verb ibv_wr_set_sge_list
     */
    public WorkRequestBuilder segment(RegisteredBuffer buffer, long offset, long length) {
        return segment(buffer.region(), buffer.offsetOf(offset, length), length);
    }

    /**
     * Adds inline data, behind that added before. It is copied: its memory is free at once. For sends and writes only.
     *
     * @param data any memory, also on the heap
     * @return this
     * @throws IllegalArgumentException when the queue pair does not take so much
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, the operation takes no
     *     inline data or has segments already, or the memory is closed
     * @throws WrongThreadException when the arena, or the memory, is confined to another thread
     *
     * @verb ibv_wr_set_inline_data
     * @verb ibv_wr_set_inline_data_list
     */
    public WorkRequestBuilder inlineData(MemorySegment data) {
        checkData("inlineData");
        if ((operation & INLINE_POSSIBLE) == 0) {
            throw new IllegalStateException(SendOperation.of(operation) + " takes no inline data");
        }
        if (segmentCount > 0) {
            throw new IllegalStateException("the data of a work request is inline, or in segments, but not both");
        }
        long size = data.byteSize();
        if (size > sizes.maxInlineData() - inlineBytes) {
            throw new IllegalArgumentException(size + " bytes behind " + inlineBytes + " inline, and " + queuePair
                    + " takes " + sizes.maxInlineData() + ": see QueuePairOptions.maxInlineData");
        }
        MemorySegment.copy(data, 0, inline, inlineBytes, size);
        if (bufferCount == MAX_BUFFERS) {
            long last = (MAX_BUFFERS - 1) * BUFFER_SIZE + BUFFER_LENGTH;
            buffers.set(JAVA_LONG, last, buffers.get(JAVA_LONG, last) + size);
        } else {
            long at = bufferCount * BUFFER_SIZE;
            buffers.set(JAVA_LONG, at + BUFFER_ADDR, inline.address() + inlineBytes);
            buffers.set(JAVA_LONG, at + BUFFER_LENGTH, size);
            bufferCount++;
        }
        inlineBytes += (int) size;
        return this;
    }

    private void checkBegun(String setter) {
        checkMine();
        if (operation == 0) {
            throw new IllegalStateException(
                    setter + " belongs to an operation, and none has begun: send(), for example");
        }
    }

    private void checkData(String setter) {
        checkBegun(setter);
        if (!hasData()) {
            throw new IllegalStateException(SendOperation.of(operation) + " has no data");
        }
    }

    private boolean hasData() {
        return (operation & WITHOUT_DATA) == 0;
    }

    /**
     * Hands the work request in the making to the driver, once it is known to be whole. Drivers count on being told all
     * about one before the next begins, and some take its flags before they see its data.
     */
    private void emit() {
        if (operation == 0) {
            return;
        }
        checkWhole();
        hold();
        try {
            torn = true;
            Native.MEMORY.set(JAVA_LONG, extended + WR_ID, operationId);
            // Soft-RoCE goes by the flag, and the other drivers do not mind it.
            Native.MEMORY.set(
                    JAVA_INT, extended + WR_FLAGS, bufferCount > 0 ? operationFlags | INLINE : operationFlags);
            emitOperation();
            if (handle != null) {
                verbs.wrSetUdAddr(extended, handle.address, remoteQueuePair, qkey);
            }
            if (sharedReceiveQueueGiven) {
                verbs.wrSetXrcSrqn(extended, sharedReceiveQueue);
            }
            if (hasData()) {
                emitData();
            }
            torn = false;
        } finally {
            release();
            forget();
        }
    }

    private void checkWhole() {
        if (mustBeAddressed && handle == null) {
            throw new IllegalStateException("a datagram must go somewhere: see to(...)");
        }
        if (xrc && !sharedReceiveQueueGiven && (operation & LOCAL) == 0) {
            throw new IllegalStateException(
                    SendOperation.of(operation) + " needs the peer's queue: see toSharedReceiveQueue(...)");
        }
        if ((operation & ATOMICS) != 0 && segmentBytes != Long.BYTES) {
            throw new IllegalStateException(SendOperation.of(operation)
                    + " brings eight bytes: give it a segment of so many, not of " + segmentBytes);
        }
        if (segmentCount > 1) {
            String fault = verbs.faultOfSgeList(segmentCount, segments.address());
            if (fault != null) {
                throw new UnsupportedVerbException(
                        "ibv_wr_set_sge_list",
                        Errno.EOPNOTSUPP.number,
                        queuePair.context.deviceName(),
                        segmentCount + " segments of different length",
                        fault);
            }
        }
    }

    /** Drivers follow the pointers to other objects at once. */
    private void hold() {
        if (handle != null) {
            handle.enter();
        } else if (window != null) {
            window.hold(queuePair, boundRegion);
        }
    }

    private void release() {
        if (handle != null) {
            handle.exit();
        } else if (window != null) {
            window.release(boundRegion);
        }
    }

    private void emitOperation() {
        if (operation == RDMA_WRITE) {
            verbs.wrRdmaWrite(extended, rkey, remoteAddress);
        } else if (operation == SEND) {
            verbs.wrSend(extended);
        } else if (operation == RDMA_READ) {
            verbs.wrRdmaRead(extended, rkey, remoteAddress);
        } else {
            emitRareOperation();
        }
    }

    /** Compilers do not inline what is long. */
    private void emitRareOperation() {
        switch (SendOperation.of(operation)) {
            case SEND, RDMA_READ, RDMA_WRITE -> throw new AssertionError(operation);
            case SEND_WITH_IMM -> verbs.wrSendImm(extended, number);
            case SEND_WITH_INV -> verbs.wrSendInv(extended, rkey);
            case TSO -> verbs.wrSendTso(extended, extra.address(), (short) first, (short) number);
            case RDMA_WRITE_WITH_IMM -> verbs.wrRdmaWriteImm(extended, rkey, remoteAddress, number);
            case ATOMIC_CMP_AND_SWP -> verbs.wrAtomicCmpSwp(extended, rkey, remoteAddress, first, second);
            case ATOMIC_FETCH_AND_ADD -> verbs.wrAtomicFetchAdd(extended, rkey, remoteAddress, first);
            case ATOMIC_WRITE -> {
                extra.set(JAVA_LONG, 0, first);
                verbs.wrAtomicWrite(extended, rkey, remoteAddress, extra.address());
            }
            case FLUSH -> verbs.wrFlush(extended, rkey, remoteAddress, first, (byte) second, (byte) number);
            case BIND_MW -> {
                verbs.wrBindMw(extended, window.address, rkey, extra.address());
                bound.add(new Bound(window, rkey));
            }
            case LOCAL_INV -> verbs.wrLocalInv(extended, rkey);
        }
    }

    /** Exactly one of these functions is called, also for an empty message: some drivers finish a request there. */
    private void emitData() {
        if (bufferCount == 1) {
            verbs.wrSetInlineData(extended, inline.address(), inlineBytes);
        } else if (bufferCount > 1) {
            verbs.wrSetInlineDataList(extended, bufferCount, buffers.address());
        } else if (segmentCount == 1) {
            verbs.wrSetSge(extended, segmentLkey, segmentAddress, segmentLength);
        } else {
            verbs.wrSetSgeList(extended, segmentCount, segments.address());
        }
    }

    private void forget() {
        operation = 0;
        handle = null;
        window = null;
        boundRegion = null;
        sharedReceiveQueueGiven = false;
        segmentCount = 0;
        segmentBytes = 0;
        bufferCount = 0;
        inlineBytes = 0;
    }

    /**
     * Posts the batch, all of it or nothing, and ends it; see ibv_wr_complete(3).
     *
     * @return {@link QueuePair#POSTED}, or {@link QueuePair#QUEUE_FULL} when it did not fit: nothing of it is posted
     * @throws IllegalStateException when no batch of this thread is open; when the last work request is not complete,
     *     and then the batch stays open; or when the queue pair is not yet in state RTS, and then it has ended
     * @throws UnsupportedVerbException when the last work request is one that this driver would spoil; the batch stays
     *     open
     * @throws VerbsException when the driver refuses the batch, which has ended
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_complete
     */
    public int complete() {
        checkMine();
        emit();
        if (torn) {
            abort();
            throw new IllegalStateException("a call of this batch failed half-way: the batch has been aborted");
        }
        try {
            queuePair.requireReadyToSend();
        } catch (IllegalStateException tooSoon) {
            abort();
            throw tooSoon;
        }
        int result = verbs.wrComplete(extended);
        if (result == QueuePair.POSTED) {
            for (int i = 0; i < bound.size(); i++) {
                bound.get(i).posted(queuePair);
            }
        }
        end();
        if (result == QueuePair.POSTED || result == QueuePair.QUEUE_FULL) {
            return result;
        }
        throw queuePair.refused("ibv_wr_complete", result);
    }

    /**
     * Ends the batch without posting any of it; see ibv_wr_abort(3).
     *
     * @throws IllegalStateException when no batch of this thread is open
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_abort
     */
    public void abort() {
        checkMine();
        verbs.wrAbort(extended);
        end();
    }

    private void end() {
        if (operation != 0) {
            forget();
        }
        if (!bound.isEmpty()) {
            bound.clear();
        }
        batch.end();
    }

    /** Aborts the batch if it is still open and of this thread. */
    @Override
    public void close() {
        if (batch.isMine()) {
            abort();
        }
    }

    /** Ends the batch of a thread that is no more, which nobody else can. With the arena's lock held. */
    void abortIfAbandoned() {
        if (batch.isAbandoned()) {
            verbs.wrAbort(extended);
            end();
        }
    }

    /** Ends the closing thread's batch, and lets no other one in. */
    void abortForGood() {
        if (batch.isMine()) {
            verbs.wrAbort(extended);
            forget();
            bound.clear();
            batch.endForGood();
        }
    }

    /** Which queue pair, and the work request in the making. */
    @Override
    public String toString() {
        return "work requests of " + queuePair
                + (operation == 0 ? "" : ", " + SendOperation.of(operation) + " in the making");
    }
}
