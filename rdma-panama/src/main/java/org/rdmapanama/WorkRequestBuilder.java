package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_data_buf;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.Traffic;
import org.rdmapanama.internal.provider.DcRole;
import org.rdmapanama.internal.provider.SendVerbs;
import org.rdmapanama.memory.FlushLevel;
import org.rdmapanama.memory.FlushType;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;

/**
 * A batch of work requests for the send queue of an {@link ExtendedQueuePair}; see ibv_wr_post(3).
 *
 * <p>A work request is built in this order: identifier and flags, which stay in effect until they are changed; the
 * operation; and then, in any order, its destination and its data. The next operation, or {@link #complete}, ends the
 * work request.
 *
 * <p>{@snippet :
 * try (WorkRequestBuilder batch = qp.startWorkRequests()) {
 *     batch.id(1).signaled(true)
 *             .send().to(handle, peerQueuePair, peerQkey).add(region, 0, 100).add(region, 512, 100);
 *     batch.id(2)
 *             .sendWithImmediate(42).to(handle, peerQueuePair, peerQkey).inlineData(text);
 *     batch.complete();
 * }
 * }
 *
 * <p>Nothing reaches the device before {@link #complete}, and then all or nothing. Incorrect use, which corrupts the
 * queue in C, is refused with an exception. The caller can then correct the request or {@link #abort} the batch;
 * closing this also aborts it. No method allocates.
 *
 * <p>Threads: the one that started the batch. Methods throw {@link WrongThreadException} when the arena is confined to
 * another thread.
 */
public final class WorkRequestBuilder implements AutoCloseable {
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
    private static final int MAX_NUMBER = 0xff_ffff;
    private static final int SEND = SendOperation.SEND.code();
    private static final int RDMA_READ = SendOperation.RDMA_READ.code();
    private static final int RDMA_WRITE = SendOperation.RDMA_WRITE.code();
    private static final int ATOMICS = Codes.mask(
            EnumSet.of(SendOperation.ATOMIC_CMP_AND_SWP, SendOperation.ATOMIC_FETCH_AND_ADD), SendOperation::code);
    private static final int LOCAL =
            Codes.mask(EnumSet.of(SendOperation.LOCAL_INV, SendOperation.BIND_MW), SendOperation::code);
    private static final int WITHOUT_DATA =
            LOCAL | Codes.mask(EnumSet.of(SendOperation.FLUSH, SendOperation.ATOMIC_WRITE), SendOperation::code);

    /** What {@link SendVerbs#build} does in one call. */
    private static final int FREQUENT = SEND | RDMA_READ | RDMA_WRITE;

    private static final int INLINE_POSSIBLE = Codes.mask(
            EnumSet.of(
                    SendOperation.SEND,
                    SendOperation.SEND_WITH_IMM,
                    SendOperation.SEND_WITH_INV,
                    SendOperation.RDMA_WRITE,
                    SendOperation.RDMA_WRITE_WITH_IMM),
            SendOperation::code);

    /** Further pieces of inline data extend the last one, which they directly follow in memory. */
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

    /** The operations that the queue pair was created for; the driver has no function for others. */
    private final int allowed;

    private final boolean addressed;
    private final boolean mustBeAddressed;

    /** Names the target of a send of the dynamically connected transport; null in other queue pairs. */
    private final DcRole.@Nullable TargetSetter targets;

    private final boolean xrc;

    /** Whether a work request may have a destination. */
    private final boolean mayBeAddressed;

    /** The struct ibv_sge of the work request under construction. */
    private final MemorySegment segments;

    /** A copy of its inline data, and the struct ibv_data_buf that point into it. */
    private final MemorySegment inline;

    private final MemorySegment buffers;

    private final RareOperation rare;

    private long id;
    private int flags;

    /** The operation code of the work request under construction, or 0. */
    private int operation;

    private long operationId;
    private int operationFlags;
    private long remoteAddress;

    /** The remote key, or the local one that is made invalid, or the new one of the window. */
    private int rkey;

    /** The window that is bound, or null. */
    private @Nullable MemoryWindow window;

    private @Nullable MemoryRegion boundRegion;
    private @Nullable AddressHandle handle;
    private int remoteQueuePair;
    private int qkey;
    private long accessKey;
    private boolean sharedReceiveQueueGiven;
    private int sharedReceiveQueue;

    /** The first segment, which is copied to {@link #segments} when there is a second one. */
    private long segmentAddress;

    private int segmentLength;
    private int segmentLkey;
    private int segmentCount;
    private long segmentBytes;
    private int bufferCount;
    private int inlineBytes;

    /** A window that was passed to the driver with a key, but is not posted yet. */
    private record Bound(MemoryWindow window, int key) {
        void posted(QueuePair queuePair) {
            window.boundIfOpen(queuePair, key);
        }
    }

    /** Windows that the batch binds. */
    private final List<Bound> bound = new ArrayList<>();

    /** Whether the driver has seen a part of a work request whose rest failed. */
    private boolean torn;

    /** How many work requests of the batch the driver has got. */
    private int emitted;

    WorkRequestBuilder(ExtendedQueuePair queuePair, long extended, int maxTsoHeader) {
        this.queuePair = queuePair;
        batch = new Batch(queuePair, "complete() or abort()", this::start, this::giveUp);
        this.extended = extended;
        arena = queuePair.arena;
        verbs = queuePair.sendVerbs();
        sizes = queuePair.capabilities();
        maxSegments = sizes.maxSendSegments();
        this.maxTsoHeader = maxTsoHeader;
        allowed = Codes.mask(queuePair.sendOperations(), SendOperation::code);
        QueuePairType type = queuePair.type();
        mustBeAddressed = queuePair.sendsDatagrams();
        targets = queuePair.role() instanceof DcRole.Initiator initiator
                ? initiator.addressing().of(extended)
                : null;
        addressed = targets == null && (mustBeAddressed || type == QueuePairType.DRIVER);
        xrc = type == QueuePairType.XRC_SEND;
        mayBeAddressed = addressed || xrc || targets != null;
        segments = queuePair.allocate(Math.max(1, sizes.maxSendSegments()) * SGE_SIZE, Long.BYTES);
        inline = queuePair.allocate(Math.max(1, sizes.maxInlineData()), Long.BYTES);
        buffers = queuePair.allocate(MAX_BUFFERS * BUFFER_SIZE, Long.BYTES);
        rare = new RareOperation(queuePair, verbs, extended, maxTsoHeader);
    }

    Batch batch() {
        return batch;
    }

    private boolean start() {
        verbs.wrStart(extended);
        id = 0;
        flags = 0;
        torn = false;
        emitted = 0;
        if (Traffic.COUNTED) {
            queuePair.trafficCounts().begin();
        }
        return true;
    }

    private void checkMine() {
        if (!batch.isMine()) {
            queuePair.checkOpen();
            throw new IllegalStateException("this thread has no batch open on " + queuePair
                    + "; call ExtendedQueuePair.startWorkRequests first");
        }
    }

    /**
     * Sets the identifier that the completions of the following work requests will carry. It is 0 when a batch starts.
     *
     * @param id any 64 bits
     * @return this
     * @throws IllegalStateException when no batch of this thread is open
     */
    public WorkRequestBuilder id(long id) {
        checkMine();
        this.id = id;
        return this;
    }

    /**
     * Sets whether the following work requests generate completions when they succeed. Failures always do. It is off
     * when a batch starts.
     *
     * @param on true to get completions
     * @return this
     * @throws IllegalStateException when no batch of this thread is open
     */
    public WorkRequestBuilder signaled(boolean on) {
        return flag(SIGNALED, on);
    }

    /**
     * Sets whether the following work requests wake a receiver that only waits for solicited completions. It is off
     * when a batch starts.
     *
     * @param on true to wake it
     * @return this
     * @throws IllegalStateException when no batch of this thread is open
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
     */
    public WorkRequestBuilder fence(boolean on) {
        return flag(FENCE, on);
    }

    /**
     * Sets whether the device computes the checksums of IPv4, TCP and UDP in the following work requests. For raw
     * packets and datagrams, on devices that support it. It is off when a batch starts.
     *
     * @param on true to compute them
     * @return this
     * @throws IllegalStateException when no batch of this thread is open
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
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for SEND, or
     *     the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_send
     */
    public WorkRequestBuilder send() {
        begin(SendOperation.SEND);
        return this;
    }

    /**
     * Begins a SEND_WITH_IMM: like {@link #send}, with 32 bits for the completion of the receive.
     *
     * @param immediate the value that the peer reads with {@link WorkCompletions#immediate}
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     SEND_WITH_IMM, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_send_imm
     */
    public WorkRequestBuilder sendWithImmediate(int immediate) {
        begin(SendOperation.SEND_WITH_IMM);
        rare.withImmediate(immediate);
        return this;
    }

    /**
     * Begins a SEND_WITH_INV: like {@link #send}, and before the receive completes the peer's device invalidates one of
     * the peer's remote keys.
     *
     * @param remoteKey a remote key of the peer, of a memory window of type 2
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     SEND_WITH_INV, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_send_inv
     */
    public WorkRequestBuilder sendWithInvalidate(int remoteKey) {
        begin(SendOperation.SEND_WITH_INV);
        rkey = remoteKey;
        return this;
    }

    /**
     * Begins an RDMA_READ: data goes from the peer's memory into the segments.
     *
     * @param address the source in the peer's address space
     * @param remoteKey the remote key of the peer's region
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     RDMA_READ, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_rdma_read
     */
    public WorkRequestBuilder rdmaRead(long address, int remoteKey) {
        return remote(SendOperation.RDMA_READ, address, remoteKey);
    }

    /**
     * Begins an RDMA_READ: data goes from the start of memory of the peer into the segments.
     *
     * @param remote the source; its length is not compared with that of the data
     * @return this
     * @throws NullPointerException when the memory is null
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     RDMA_READ, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_rdma_read
     */
    public WorkRequestBuilder rdmaRead(RemoteMemory remote) {
        return rdmaRead(remote.address(), remote.rkey());
    }

    /**
     * Begins an RDMA_WRITE: the data goes into the peer's memory without notice to the peer's program.
     *
     * @param address the destination in the peer's address space
     * @param remoteKey the remote key of the peer's region
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     RDMA_WRITE, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_rdma_write
     */
    public WorkRequestBuilder rdmaWrite(long address, int remoteKey) {
        return remote(SendOperation.RDMA_WRITE, address, remoteKey);
    }

    /**
     * Begins an RDMA_WRITE: the data goes to the start of memory of the peer, without notice to the peer's program.
     *
     * @param remote the destination; its length is not compared with that of the data
     * @return this
     * @throws NullPointerException when the memory is null
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     RDMA_WRITE, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_rdma_write
     */
    public WorkRequestBuilder rdmaWrite(RemoteMemory remote) {
        return rdmaWrite(remote.address(), remote.rkey());
    }

    /**
     * Begins an RDMA_WRITE_WITH_IMM: like {@link #rdmaWrite(long, int)}, and then it consumes one of the peer's receives, whose
     * completion carries 32 bits.
     *
     * @param address the destination in the peer's address space
     * @param remoteKey the remote key of the peer's region
     * @param immediate the value that the peer reads with {@link WorkCompletions#immediate}
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     RDMA_WRITE_WITH_IMM, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_rdma_write_imm
     */
    public WorkRequestBuilder rdmaWriteWithImmediate(long address, int remoteKey, int immediate) {
        remote(SendOperation.RDMA_WRITE_WITH_IMM, address, remoteKey);
        rare.withImmediate(immediate);
        return this;
    }

    /**
     * Begins an RDMA_WRITE_WITH_IMM: like {@link #rdmaWrite(RemoteMemory)}, and then it consumes one of the peer's
     * receives, whose completion carries 32 bits.
     *
     * @param remote the destination; its length is not compared with that of the data
     * @param immediate the value that the peer reads with {@link WorkCompletions#immediate}
     * @return this
     * @throws NullPointerException when the memory is null
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     RDMA_WRITE_WITH_IMM, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_rdma_write_imm
     */
    public WorkRequestBuilder rdmaWriteWithImmediate(RemoteMemory remote, int immediate) {
        return rdmaWriteWithImmediate(remote.address(), remote.rkey(), immediate);
    }

    /**
     * Begins an ATOMIC_CMP_AND_SWP: eight bytes of the peer's memory become {@code desired} if they are {@code
     * expected}. Their previous value goes into the segment, which must have eight bytes.
     *
     * @param address the address of the eight bytes, a multiple of 8
     * @param remoteKey the remote key of the peer's region
     * @param expected the value they must have
     * @param desired the value they get
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     ATOMIC_CMP_AND_SWP, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_atomic_cmp_swp
     */
    public WorkRequestBuilder compareAndSwap(long address, int remoteKey, long expected, long desired) {
        remote(SendOperation.ATOMIC_CMP_AND_SWP, address, remoteKey);
        rare.compareAndSwap(expected, desired);
        return this;
    }

    /**
     * Begins an ATOMIC_CMP_AND_SWP of the first eight bytes of memory of the peer; see {@link #compareAndSwap(long, int,
     * long, long)}.
     *
     * @param remote memory of at least eight bytes, whose address is a multiple of 8
     * @param expected the value they must have
     * @param desired the value they get
     * @return this
     * @throws IllegalArgumentException when the memory is shorter, or its address is not a multiple of 8
     * @throws NullPointerException when the memory is null
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     ATOMIC_CMP_AND_SWP, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_atomic_cmp_swp
     */
    public WorkRequestBuilder compareAndSwap(RemoteMemory remote, long expected, long desired) {
        return compareAndSwap(SendWorkRequest.atomicAddress(remote), remote.rkey(), expected, desired);
    }

    /**
     * Begins an ATOMIC_FETCH_AND_ADD: a number is added to eight bytes of the peer's memory. Their previous value goes
     * into the segment, which must have eight bytes.
     *
     * @param address the address of the eight bytes, a multiple of 8
     * @param remoteKey the remote key of the peer's region
     * @param delta the number to add
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     ATOMIC_FETCH_AND_ADD, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_atomic_fetch_add
     */
    public WorkRequestBuilder fetchAndAdd(long address, int remoteKey, long delta) {
        remote(SendOperation.ATOMIC_FETCH_AND_ADD, address, remoteKey);
        rare.fetchAndAdd(delta);
        return this;
    }

    /**
     * Begins an ATOMIC_FETCH_AND_ADD to the first eight bytes of memory of the peer; see {@link #fetchAndAdd(long, int,
     * long)}.
     *
     * @param remote memory of at least eight bytes, whose address is a multiple of 8
     * @param delta the number to add
     * @return this
     * @throws IllegalArgumentException when the memory is shorter, or its address is not a multiple of 8
     * @throws NullPointerException when the memory is null
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     ATOMIC_FETCH_AND_ADD, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_atomic_fetch_add
     */
    public WorkRequestBuilder fetchAndAdd(RemoteMemory remote, long delta) {
        return fetchAndAdd(SendWorkRequest.atomicAddress(remote), remote.rkey(), delta);
    }

    /**
     * Begins an ATOMIC_WRITE: eight bytes of the peer's memory are written atomically, after all earlier writes. It has
     * no segments.
     *
     * @param address the address of the eight bytes, a multiple of 8
     * @param remoteKey the remote key of the peer's region
     * @param value the value they get, in this machine's byte order
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     ATOMIC_WRITE, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_atomic_write
     */
    public WorkRequestBuilder atomicWrite(long address, int remoteKey, long value) {
        remote(SendOperation.ATOMIC_WRITE, address, remoteKey);
        rare.atomicWrite(value);
        return this;
    }

    /**
     * Begins an ATOMIC_WRITE to the first eight bytes of memory of the peer; see {@link #atomicWrite(long, int, long)}.
     *
     * @param remote memory of at least eight bytes, whose address is a multiple of 8
     * @param value the value they get, in this machine's byte order
     * @return this
     * @throws IllegalArgumentException when the memory is shorter, or its address is not a multiple of 8
     * @throws NullPointerException when the memory is null
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     ATOMIC_WRITE, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_atomic_write
     */
    public WorkRequestBuilder atomicWrite(RemoteMemory remote, long value) {
        return atomicWrite(SendWorkRequest.atomicAddress(remote), remote.rkey(), value);
    }

    /**
     * Begins a LOCAL_INV: invalidates a remote key of this side. It has no segments.
     *
     * @param localRkey a remote key of this side, of a memory window of type 2
     * @return this
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for
     *     LOCAL_INV, or the previous work request is not complete
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
     *
     * @verb ibv_wr_local_inv
     */
    public WorkRequestBuilder localInvalidate(int localRkey) {
        begin(SendOperation.LOCAL_INV);
        rkey = localRkey;
        return this;
    }

    /**
     * Begins a FLUSH: completes when all earlier writes are visible or persistent at the peer. It has no segments.
     *
     * @param remoteAddress the start of the range in the peer's address space
     * @param remoteKey the remote key of the peer's region
     * @param length the length of the range in bytes
     * @param types the guarantees for the data, at least one; the region must allow them
     * @param level whether to flush the range or the whole region
     * @return this
     * @throws IllegalArgumentException when no type is given or the length is negative
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for FLUSH, or
     *     the previous work request is not complete
     * @throws NullPointerException when an argument is null
     *
     * @verb ibv_wr_flush
     */
    public WorkRequestBuilder flush(
            long remoteAddress, int remoteKey, long length, Set<FlushType> types, FlushLevel level) {
        if (length < 0) {
            throw new IllegalArgumentException("length must not be negative: " + length);
        }
        int mask = (types.contains(FlushType.GLOBAL) ? FlushType.GLOBAL.code() : 0)
                | (types.contains(FlushType.PERSISTENT) ? FlushType.PERSISTENT.code() : 0);
        if (mask == 0) {
            throw new IllegalArgumentException("types must name at least one of GLOBAL and PERSISTENT");
        }
        int selectivity = level.code();
        remote(SendOperation.FLUSH, remoteAddress, remoteKey);
        rare.flush(length, mask, selectivity);
        return this;
    }

    /**
     * Begins a FLUSH of memory of the peer; see {@link #flush(long, int, long, Set, FlushLevel)}.
     *
     * @param remote the range
     * @param types the guarantees for the data, at least one; the region must allow them
     * @param level whether to flush the range or the whole region
     * @return this
     * @throws IllegalArgumentException when no type is given
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for FLUSH, or
     *     the previous work request is not complete
     * @throws NullPointerException when an argument is null
     *
     * @verb ibv_wr_flush
     */
    public WorkRequestBuilder flush(RemoteMemory remote, Set<FlushType> types, FlushLevel level) {
        return flush(remote.address(), remote.rkey(), remote.length(), types, level);
    }

    /**
     * Begins a TSO: the data is cut into TCP segments, each preceded by a copy of the headers. For raw packets and
     * datagrams, on devices that support it.
     *
     * @param headers all headers up to that of TCP, at most {@link QueuePairOptions#maxTsoHeader} bytes; they are
     *     copied
     * @param maxSegmentSize the data of one segment in bytes, 1 to 65535
     * @return this
     * @throws IllegalArgumentException when the headers are too long or the size is out of range
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for TSO, the
     *     previous work request is not complete, or the memory is closed
     * @throws WrongThreadException when the arena, or the memory, is confined to another thread
     *
     * @verb ibv_wr_send_tso
     */
    public WorkRequestBuilder tso(MemorySegment headers, int maxSegmentSize) {
        if (headers.byteSize() > maxTsoHeader) {
            throw new IllegalArgumentException("headers must have at most " + maxTsoHeader + " bytes on " + queuePair
                    + ": " + headers.byteSize() + "; see QueuePairOptions.maxTsoHeader");
        }
        if (maxSegmentSize < 1 || maxSegmentSize > MAX_SHORT) {
            throw new IllegalArgumentException(
                    "maxSegmentSize must be between 1 and " + MAX_SHORT + ": " + maxSegmentSize);
        }
        begin(SendOperation.TSO);
        // The headers may be closed, so that copying them fails.
        operation = 0;
        rare.tso(headers, maxSegmentSize);
        operation = SendOperation.TSO.code();
        return this;
    }

    /**
     * Begins a BIND_MW: a memory window of type 2 opens a part of a region to the peer of the queue pair. It has no
     * segments. Once {@link #complete} has returned, {@link MemoryWindow#rkey()} is the new key; if the completion says
     * that the binding failed, restore the old key with {@link MemoryWindow#restoreRkey}. Bind a window only once in a
     * batch.
     *
     * @param memoryWindow the window, which must be new or have been invalidated
     * @param newRkey the new key, usually {@link MemoryWindow#nextRkey()}
     * @param binding the part to open
     * @return this
     * @throws NullPointerException when the window or the binding is null
     * @throws IllegalArgumentException when the window is of type 1; when it, the region and the queue pair are not in
     *     the same protection domain; when the key cannot be one of the window; when the length of the binding is 0; or
     *     when the queue pair is of another type than RC, UC and XRC_SEND
     * @throws IllegalStateException when no batch of this thread is open, this queue pair was not created for BIND_MW,
     *     the previous work request is not complete, or the window or the region is closed
     * @throws UnsupportedVerbException when the previous work request is one that this driver would corrupt
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
        rare.bindMemoryWindow(memoryWindow, binding);
        return this;
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
            throw new IllegalStateException(queuePair + " was created without the send operation " + next
                    + "; name it in QueuePairOptions.sendOperations");
        }
        emit();
        operation = code;
        operationId = id;
        operationFlags = flags;
    }

    /**
     * Sets the destination of a datagram.
     *
     * @param target the path to the peer
     * @param queuePairNumber the peer's queue pair, 24 bits
     * @param remoteQkey the peer's Q_Key
     * @return this
     * @throws IllegalArgumentException when the handle belongs to another protection domain, or this queue pair has a
     *     peer
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, or the handle is
     *     closed
     * @throws NullPointerException when the handle is null
     *
     * @verb ibv_wr_set_ud_addr
     */
    public WorkRequestBuilder to(AddressHandle target, int queuePairNumber, int remoteQkey) {
        checkBegun("to");
        if (!addressed) {
            throw new IllegalArgumentException(
                    queuePair + " does not send datagrams" + (targets == null ? "" : "; call toTarget instead of to"));
        }
        address(target, queuePairNumber);
        qkey = remoteQkey;
        return this;
    }

    private void address(AddressHandle target, int number) {
        if (target.protectionDomain.root != queuePair.domain().root) {
            throw new IllegalArgumentException(target + " belongs to another protection domain than " + queuePair);
        }
        target.checkOpen();
        handle = target;
        remoteQueuePair = number;
    }

    /**
     * Sets the target of this work request. Each send of an initiator of the dynamically connected transport needs one; see
     * mlx5dv_wr_post(3). Only the modules of drivers create initiators: rdma-mlx5 does.
     *
     * @param target the address of the target's device
     * @param targetNumber the number of the target, 24 bits
     * @param targetKey the access key of the target
     * @return this
     * @throws IllegalArgumentException when the number is out of range, when the handle belongs to another protection
     *     domain, or when this queue pair is not an initiator
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, the operation stays on this
     *     device, or the handle is closed
     * @throws NullPointerException when the handle is null
     */
    public WorkRequestBuilder toTarget(AddressHandle target, int targetNumber, long targetKey) {
        checkBegun("toTarget");
        Objects.requireNonNull(target, "target");
        if (targets == null) {
            throw new IllegalArgumentException(
                    queuePair + " is not an initiator of the dynamically connected transport, and has no targets");
        }
        if ((operation & LOCAL) != 0) {
            throw new IllegalStateException(SendOperation.of(operation) + " stays on this device and has no target");
        }
        if (targetNumber < 0 || targetNumber > MAX_NUMBER) {
            throw new IllegalArgumentException("targetNumber must be between 0 and 0xffffff: " + targetNumber);
        }
        address(target, targetNumber);
        accessKey = targetKey;
        return this;
    }

    /**
     * Sets the shared receive queue of the peer that takes a message, on a queue pair of type XRC_SEND.
     *
     * @param queueNumber the peer's shared receive queue
     * @return this
     * @throws IllegalArgumentException when this queue pair is of another type
     * @throws IllegalStateException when no batch of this thread is open, or no operation has begun
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
     * Adds a part of a region, after the parts added before.
     *
     * @param region the region of the data
     * @param offset the start of the part in the region, in bytes
     * @param length the length of the part in bytes, up to 2<sup>32</sup> - 1
     * @return this
     * @throws IndexOutOfBoundsException when the part is not inside the region
     * @throws IllegalArgumentException when the region belongs to another arena, or the queue pair takes no further
     *     segment
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, the operation has no
     *     data or has inline data already, or the region is closed
     *
     * @verb ibv_wr_set_sge
     * @verb ibv_wr_set_sge_list
     */
    public WorkRequestBuilder add(MemoryRegion region, long offset, long length) {
        checkSegment(region, length);
        MemoryRegion.Registration is = region.registration();
        addSegment(is.lkey(), region.addressOf(is, offset, length), length);
        return this;
    }

    /**
     * Adds a slice of a region, after the parts added before.
     *
     * @param region the region of the data
     * @param slice a slice of the region's memory; for a region of everything, any memory that could be registered
     * @return this
     * @throws IndexOutOfBoundsException when the slice is not inside the region
     * @throws IllegalArgumentException when the slice is on the heap, the region belongs to another arena, or the queue
     *     pair takes no further segment
     * @throws UnsupportedOperationException when the region has no memory of this process
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, the operation has no
     *     data or has inline data already, or the region is closed
     *
     * @verb ibv_wr_set_sge
     * @verb ibv_wr_set_sge_list
     */
    public WorkRequestBuilder add(MemoryRegion region, MemorySegment slice) {
        checkSegment(region, slice.byteSize());
        MemoryRegion.Registration is = region.registration();
        addSegment(is.lkey(), region.addressOf(is, slice), slice.byteSize());
        return this;
    }

    private void checkSegment(MemoryRegion region, long length) {
        checkData("add");
        if (bufferCount > 0) {
            throw new IllegalStateException("the data of a work request must be either inline or in segments");
        }
        if (region.arena != arena) {
            throw new IllegalArgumentException(region + " belongs to another arena than the queue pair");
        }
        region.checkOpen();
        if (segmentCount == maxSegments) {
            throw new IllegalArgumentException(
                    queuePair + " takes at most " + segmentCount + " segments; see QueuePairOptions.maxSegments");
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
     * Adds a buffer of a pool, as a whole, after the parts added before.
     *
     * @param buffer the buffer of the data
     * @return this
     * @throws IndexOutOfBoundsException when it is longer than 2<sup>32</sup> - 1 bytes
     * @throws IllegalArgumentException when it belongs to another arena, or the queue pair takes no further segment
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, the operation has no
     *     data or has inline data already, or the buffer or its pool is closed
     *
     * @verb ibv_wr_set_sge
     * @verb ibv_wr_set_sge_list
     */
    public WorkRequestBuilder add(RegisteredBuffer buffer) {
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
     * @throws IllegalArgumentException when it belongs to another arena, or the queue pair takes no further segment
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, the operation has no
     *     data or has inline data already, or the buffer or its pool is closed
     *
     * @verb ibv_wr_set_sge
     * @verb ibv_wr_set_sge_list
     */
    public WorkRequestBuilder add(RegisteredBuffer buffer, long offset, long length) {
        return add(buffer.region(), Segments.offsetOf(buffer, offset, length), length);
    }

    /**
     * Adds inline data, after the data added before. It is copied, so its memory can be reused at once. For sends and
     * writes only.
     *
     * @param data the data, in native or heap memory
     * @return this
     * @throws IllegalArgumentException when it exceeds the inline data of the queue pair
     * @throws IllegalStateException when no batch of this thread is open, no operation has begun, the operation takes
     *     no inline data or has segments already, or the memory is closed
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
            throw new IllegalStateException("the data of a work request must be either inline or in segments");
        }
        long size = data.byteSize();
        if (size > sizes.maxInlineData() - inlineBytes) {
            throw new IllegalArgumentException("inline data must have at most " + sizes.maxInlineData() + " bytes on "
                    + queuePair + ": " + (inlineBytes + size) + "; see QueuePairOptions.maxInlineData");
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
            throw new IllegalStateException("no operation has begun; call send(), for example, before " + setter);
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
     * Passes the work request under construction to the driver, once it is complete. Drivers rely on getting a whole
     * work request before the next one begins, and some read its flags before they see its data.
     */
    private void emit() {
        if (segmentCount == 1 && (operation & FREQUENT) != 0 && !mayBeAddressed) {
            emitFrequent();
        } else if (operation != 0) {
            emitRare();
        }
    }

    /** An operation that needs no other object but its region. */
    private void emitFrequent() {
        int code = operation;
        announce();
        operation = 0;
        segmentCount = 0;
        segmentBytes = 0;
        torn = true;
        verbs.build(
                extended,
                operationId,
                operationFlags,
                code,
                rkey,
                remoteAddress,
                segmentLkey,
                segmentAddress,
                segmentLength);
        torn = false;
        emitted++;
    }

    private void emitRare() {
        checkWhole();
        hold();
        try {
            announce();
            torn = true;
            // Soft-RoCE needs the flag, and the other drivers ignore it.
            verbs.identify(extended, operationId, bufferCount > 0 ? operationFlags | INLINE : operationFlags);
            emitOperation();
            if (handle != null) {
                emitDestination();
            }
            if (sharedReceiveQueueGiven) {
                verbs.wrSetXrcSrqn(extended, sharedReceiveQueue);
            }
            if (hasData()) {
                emitData();
            }
            torn = false;
            emitted++;
        } finally {
            release();
            forget();
        }
    }

    private void announce() {
        if (Traffic.COUNTED) {
            queuePair.trafficCounts().announce(segmentBytes + inlineBytes, (operationFlags & SIGNALED) != 0);
        }
    }

    private void emitDestination() {
        AddressHandle given = Objects.requireNonNull(handle);
        if (targets == null) {
            verbs.wrSetUdAddr(extended, given.address, remoteQueuePair, qkey);
        } else {
            targets.set(given.address, remoteQueuePair, accessKey);
        }
    }

    private void checkWhole() {
        if (mustBeAddressed && handle == null) {
            throw new IllegalStateException("a datagram needs a destination; call to(...)");
        }
        if (targets != null && handle == null && (operation & LOCAL) == 0) {
            throw new IllegalStateException(SendOperation.of(operation) + " needs a target; call toTarget(...)");
        }
        if (xrc && !sharedReceiveQueueGiven && (operation & LOCAL) == 0) {
            throw new IllegalStateException(SendOperation.of(operation)
                    + " needs the peer's shared receive queue; call toSharedReceiveQueue(...)");
        }
        if ((operation & ATOMICS) != 0 && segmentBytes != Long.BYTES) {
            throw new IllegalStateException(SendOperation.of(operation)
                    + " returns eight bytes and needs one segment of 8 bytes: " + segmentBytes);
        }
        if (segmentCount > 1) {
            String fault = verbs.faultOfSgeList(segmentCount, segments.address());
            if (fault != null) {
                throw new UnsupportedVerbException(
                        "ibv_wr_set_sge_list",
                        Errno.EOPNOTSUPP,
                        queuePair.context.deviceName(),
                        segmentCount + " segments of different lengths",
                        fault);
            }
        }
    }

    /** Drivers follow the pointers to other objects immediately. */
    private void hold() {
        if (handle != null) {
            handle.enter();
        } else if (window != null) {
            window.hold(queuePair, Objects.requireNonNull(boundRegion));
        }
    }

    private void release() {
        if (handle != null) {
            handle.exit();
        } else if (window != null) {
            window.release(Objects.requireNonNull(boundRegion));
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

    /** A separate method, because compilers do not inline long ones. */
    private void emitRareOperation() {
        rare.emit(SendOperation.of(operation), rkey, remoteAddress);
        if (window != null) {
            bound.add(new Bound(window, rkey));
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
     * @throws QueueFullException when the batch did not fit; nothing is posted, and the batch has ended. {@link
     *     #tryComplete} is this without the exception
     * @throws IllegalStateException when no batch of this thread is open; when the last work request is not complete,
     *     and then the batch stays open; or when the queue pair is not yet in state RTS, and then the batch has ended
     * @throws UnsupportedVerbException when the last work request is one that this driver would corrupt; the batch
     *     stays open
     * @throws VerbsException when the driver refuses the batch, which has ended
     *
     * @verb ibv_wr_complete
     */
    public void complete() {
        if (tryComplete() != QueuePair.POSTED) {
            throw queuePair.sendQueueFull("ibv_wr_complete", "WorkRequestBuilder.tryComplete");
        }
    }

    /**
     * Posts the batch, all of it or nothing, and ends it, as {@link #complete} does, and returns a constant when the
     * queue is full. For programs that expect this.
     *
     * @return {@link QueuePair#POSTED}, or {@link QueuePair#QUEUE_FULL} if it did not fit, and then nothing is posted
     * @throws IllegalStateException as {@link #complete}
     * @throws UnsupportedVerbException as {@link #complete}
     * @throws VerbsException as {@link #complete}, but not when the queue is full
     *
     * @verb ibv_wr_complete
     */
    @CheckReturnValue
    public int tryComplete() {
        checkMine();
        emit();
        if (torn) {
            abort();
            throw new IllegalStateException("a call of this batch failed halfway; the batch has been aborted");
        }
        try {
            queuePair.requireReadyToSend();
        } catch (IllegalStateException tooSoon) {
            abort();
            throw tooSoon;
        }
        int result = verbs.wrComplete(extended);
        try {
            if (result == QueuePair.POSTED) {
                queuePair.countSends(emitted);
                for (int i = 0; i < bound.size(); i++) {
                    bound.get(i).posted(queuePair);
                }
            }
        } finally {
            // The driver has released its lock, and must not be called for this batch again.
            end();
        }
        if (result == QueuePair.POSTED || result == QueuePair.QUEUE_FULL) {
            return result;
        }
        throw queuePair.refused("ibv_wr_complete", result);
    }

    /**
     * Ends the batch without posting any of it; see ibv_wr_abort(3).
     *
     * @throws IllegalStateException when no batch of this thread is open
     *
     * @verb ibv_wr_abort
     */
    public void abort() {
        checkMine();
        giveUp();
    }

    private void giveUp() {
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

    /** Aborts the batch if it is still open and belongs to this thread. */
    @Override
    public void close() {
        if (batch.isMine()) {
            abort();
        }
    }

    /** Ends the closing thread's batch and prevents further ones. */
    void abortForGood() {
        if (batch.isMine()) {
            verbs.wrAbort(extended);
            forget();
            bound.clear();
            batch.endForGood();
        }
    }

    /** The queue pair, and the work request under construction. */
    @Override
    public String toString() {
        return "work requests of " + queuePair
                + (operation == 0 ? "" : ", " + SendOperation.of(operation) + " under construction");
    }
}
