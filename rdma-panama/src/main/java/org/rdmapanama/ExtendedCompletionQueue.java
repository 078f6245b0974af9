package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.Set;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.ffm.verbs.ibv_cq_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_poll_cq_attr;
import org.rdmapanama.ffm.verbs.ibv_wc_tm_info;
import org.rdmapanama.internal.provider.CompletionVerbs;

/**
 * A completion queue that is read in place, {@code struct ibv_cq_ex}: completions are looked at one after the other
 * where the device wrote them, and of each only the fields that are wanted; see ibv_create_cq_ex(3).
 *
 * <p>{@snippet :
 * if (queue.startPoll()) {
 *     try {
 *         do {
 *             if (queue.succeeded()) {
 *                 received(queue.id(), queue.byteLength());
 *             }
 *         } while (queue.nextPoll());
 *     } finally {
 *         queue.endPoll();
 *     }
 * }
 * }
 *
 * <p>It goes wherever a {@link CompletionQueue} goes, and can be polled as one too, but not while a batch is open:
 * from {@link #startPoll} to {@link #endPoll} the queue belongs to the thread that started. What needs the queue, too,
 * is refused meanwhile: polling it another way, resizing it, asking for notification. A driver may hold a lock for that
 * long, so keep a batch short.
 *
 * <p>Closing this, its context or its arena ends a batch of the calling thread, and waits at most two seconds for one
 * of another thread. Making a queue pair that reports here, closing what does, taking a queue pair to RESET or ERR, or
 * modifying a work queue does so as well; it leaves a batch of the calling thread open, but nothing more can be read of
 * its completion: {@link #nextPoll} or {@link #endPoll} is next. What other threads begin here meanwhile waits until
 * that is done.
 *
 * <p>Posting in the middle of a batch is fine as long as there is room. When a queue pair looks full, drivers such as
 * mlx4, mlx5 and hns lock the completion queue to look again: another thread that posts waits for the batch to end, and
 * the thread of the batch would wait for ever. So a batch posts no more than has completed; or it ends first; or the
 * queue is {@link CompletionQueueOptions#singleThreaded}, where mlx4 and mlx5 hold no lock during a batch.
 *
 * <p>Threads: as its {@link VerbsArena} says; a batch is for one of them. Reading allocates nothing.
 *
 * @verb ibv_cq_ex_to_cq
 */
public final class ExtendedCompletionQueue extends CompletionQueue {
    private static final long STATUS = ibv_cq_ex.status$offset() + Pthread.MUTEX_GROWTH;
    private static final long WR_ID = ibv_cq_ex.wr_id$offset() + Pthread.MUTEX_GROWTH;
    private static final long TAG = ibv_wc_tm_info.tag$offset();
    private static final long PRIV = ibv_wc_tm_info.priv$offset();
    private static final int ENOENT = Errno.ENOENT.number;

    private static final long NO_ATTRIBUTES =
            Arena.global().allocate(ibv_poll_cq_attr.layout()).address();

    private final CompletionVerbs verbs;
    private final Batch batch = new Batch(this, "endPoll()", this::startAtFirst);
    private final MemorySegment struct;
    private final Set<CompletionField> fields;
    private final int readable;

    /** A struct ibv_wc_tm_info, or null when that was not asked for. */
    private final MemorySegment tagInfo;

    /** Whether the batch stands at a completion. Then the driver may hold its lock. For the thread of the batch. */
    private boolean current;

    private ExtendedCompletionQueue(
            Context context, long address, Set<CompletionField> fields, VerbsObject... parents) {
        super(context, address, parents);
        this.fields = CompletionField.copyOf(fields);
        readable = CompletionField.mask(fields);
        verbs = provider.completionVerbs();
        struct = Native.struct(address, ibv_cq_ex.sizeof() + Pthread.MUTEX_GROWTH);
        tagInfo = fields.contains(CompletionField.TM_INFO) ? arena.allocate(ibv_wc_tm_info.layout()) : null;
    }

    static ExtendedCompletionQueue create(Context context, CompletionQueueOptions options) {
        CompletionChannel channel = options.channel();
        ProtectionDomain parentDomain = options.parentDomain();
        if (channel != null) {
            requireSameContext(context, channel);
        }
        if (parentDomain != null) {
            requireSameContext(context, parentDomain);
        }
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_cq_init_attr_ex.layout());
            options.write(attributes);
            return context.create(
                    "ibv_create_cq_ex",
                    ENDING,
                    options.toString(),
                    errno -> cureOfCreate(context, errno),
                    options.capability(),
                    () -> {
                        if (channel != null) {
                            channel.checkOpen();
                        }
                        if (parentDomain != null) {
                            parentDomain.checkOpen();
                        }
                        return context.provider().createExtendedCompletionQueue(attributes.address());
                    },
                    cq -> {
                        VerbsObject first = channelOrContext(context, cq);
                        return parentDomain == null
                                ? new ExtendedCompletionQueue(context, cq, options.fields(), first)
                                : new ExtendedCompletionQueue(context, cq, options.fields(), first, parentDomain);
                    });
        }
    }

    /**
     * Makes an extended completion queue for one that other code of this process has made. It tells through the object
     * of its channel, if the channel has one by now. Its {@link #fields} are those that its driver made readable.
     *
     * @param context the open device that it was made on
     * @param nativeAddress address of the {@code struct ibv_cq_ex}; a plain {@code struct ibv_cq} is not one
     * @param ownership whether closing this object ends the native one
     * @return the completion queue
     * @throws IllegalArgumentException when the address is 0 or has an object already
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static ExtendedCompletionQueue ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(
                nativeAddress,
                ownership,
                cq -> new ExtendedCompletionQueue(
                        context,
                        cq,
                        CompletionField.of(context.provider().completionVerbs().readable(cq)),
                        channelOrContext(context, cq)));
    }

    /**
     * What can be read of a completion beyond its identifier, status, opcode, flags and vendor error.
     *
     * @return an unmodifiable set
     */
    public Set<CompletionField> fields() {
        return fields;
    }

    /**
     * Begins a batch at the first completion, without waiting. Allocates nothing.
     *
     * @return true when there is one, and {@link #endPoll} must follow; false when the queue is empty, and no batch is
     *     open
     * @throws IllegalStateException when this is closed, or a batch is open already
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the queue is broken, for example overrun; no batch is open then
     * @verb ibv_start_poll
     */
    public boolean startPoll() {
        return batch.open();
    }

    private boolean startAtFirst() {
        return found("ibv_start_poll", verbs.startPoll(address, NO_ATTRIBUTES));
    }

    /**
     * Goes on to the next completion of the batch; what was read before is off the queue. After false it may be called
     * again, to see whether another one has come meanwhile. Allocates nothing.
     *
     * @return true when there is one; false when the queue is empty, and {@link #endPoll} is to follow
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the queue is broken, for example overrun; the batch is still to be ended
     * @verb ibv_next_poll
     */
    public boolean nextPoll() {
        requireBatch();
        if (current) {
            return found("ibv_next_poll", verbs.nextPoll(address));
        }
        batch.resume();
        return startAtFirst();
    }

    private boolean found(String verb, int result) {
        current = result == 0;
        if (result < 0 && result != -ENOENT) {
            throw broken(verb, -result);
        }
        return current;
    }

    /**
     * Ends the batch; what was read is off the queue. Allocates nothing.
     *
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_end_poll
     */
    public void endPoll() {
        requireBatch();
        finish();
    }

    private void finish() {
        unlock();
        batch.end();
    }

    /** Lets go of the driver's lock, if it is held. */
    private void unlock() {
        if (current) {
            current = false;
            verbs.endPoll(address);
        }
    }

    private void requireBatch() {
        if (!batch.isMine()) {
            throw notInABatch();
        }
    }

    private IllegalStateException notInABatch() {
        checkOpen();
        return new IllegalStateException("this thread has no batch open on " + this + ": call startPoll first");
    }

    private void requireCurrent() {
        requireBatch();
        if (!current) {
            throw new IllegalStateException("the batch on " + this
                    + " stands at no completion: read only after startPoll or nextPoll was true");
        }
    }

    private void require(CompletionField field) {
        requireCurrent();
        if ((readable & field.code()) == 0) {
            throw new IllegalStateException(
                    this + " was made without CompletionField." + field + ": name it in CompletionQueueOptions.fields");
        }
    }

    static int hostOrder(int value) {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Integer.reverseBytes(value);
    }

    private static short hostOrder(short value) {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Short.reverseBytes(value);
    }

    /**
     * Identifier of the work request, as its poster gave it.
     *
     * @return any 64 bits
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public long id() {
        requireCurrent();
        return struct.get(JAVA_LONG, WR_ID);
    }

    /**
     * How the work request ended.
     *
     * @return the status
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public CompletionStatus status() {
        requireCurrent();
        return CompletionStatus.of(struct.get(JAVA_INT, STATUS));
    }

    /**
     * Whether the work request succeeded.
     *
     * @return true when the status is {@link CompletionStatus#SUCCESS}
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public boolean succeeded() {
        requireCurrent();
        return struct.get(JAVA_INT, STATUS) == 0;
    }

    /**
     * What kind of work request it was. Valid on success.
     *
     * @return the kind; after a failure the device may leave anything
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_opcode
     */
    public CompletionOpcode opcode() {
        requireCurrent();
        return CompletionOpcode.of(verbs.readOpcode(address));
    }

    /**
     * Whether something is said of the completion. Valid on success.
     *
     * @param flag what
     * @return true when it is
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public boolean has(CompletionFlag flag) {
        int code = flag.code();
        return (flags() & code) != 0;
    }

    /**
     * Whether immediate data came. Valid on success.
     *
     * @return true when {@link #immediate} has a meaning
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public boolean hasImmediate() {
        return has(CompletionFlag.WITH_IMM);
    }

    /**
     * Whether a send with invalidation came. Valid on success. Soft-RoCE sets {@link #checksumOk} in its place, at least
     * up to kernel 6.1.
     *
     * @return true when {@link #invalidatedRkey} has a meaning
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public boolean hasInvalidatedRkey() {
        return has(CompletionFlag.WITH_INV);
    }

    /**
     * Whether a global routing header lies in the first 40 bytes of a received datagram. Valid on success.
     *
     * @return true when it is there
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public boolean hasGlobalRoutingHeader() {
        return has(CompletionFlag.GRH);
    }

    /**
     * Whether the device found the checksums of a received IPv4 packet right, of its header and of TCP or UDP. Valid on success.
     *
     * @return true when they are right; a device that does not look never says so
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public boolean checksumOk() {
        return has(CompletionFlag.IP_CSUM_OK);
    }

    /**
     * What the driver adds to a failure, in the vendor's own numbers.
     *
     * @return the number, 0 when there is none
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_vendor_err
     */
    public int vendorError() {
        requireCurrent();
        return verbs.readVendorErr(address);
    }

    /**
     * The flags as C gives them, {@code enum ibv_wc_flags}. Valid on success.
     *
     * @return bits
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_wc_flags
     */
    public int flags() {
        requireCurrent();
        return verbs.readWcFlags(address);
    }

    /**
     * How much data came: of a receive, an RDMA read or an atomic. A datagram counts the 40 bytes in front of it. Valid on
     * success.
     *
     * @return size in bytes, unsigned
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#BYTE_LEN}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_byte_len
     */
    public int byteLength() {
        require(CompletionField.BYTE_LEN);
        return verbs.readByteLen(address);
    }

    /**
     * The immediate data that came with a receive, as its sender gave it.
     *
     * @return 32 bits; without meaning unless {@link #hasImmediate}
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#IMM}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_imm_data
     */
    public int immediate() {
        require(CompletionField.IMM);
        return hostOrder(verbs.readImmData(address));
    }

    /**
     * The remote key of this side that a send with invalidation made invalid.
     *
     * @return the key; without meaning unless {@link #hasInvalidatedRkey}
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#IMM}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_invalidated_rkey
     */
    public int invalidatedRkey() {
        require(CompletionField.IMM);
        return verbs.readImmData(address);
    }

    /**
     * Number of the local queue pair.
     *
     * @return 24 bits
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#QP_NUM}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_qp_num
     */
    public int queuePairNumber() {
        require(CompletionField.QP_NUM);
        return verbs.readQpNum(address);
    }

    /**
     * Number of the queue pair that a datagram came from. Valid on success.
     *
     * @return 24 bits
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#SRC_QP}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_src_qp
     */
    public int sourceQueuePair() {
        require(CompletionField.SRC_QP);
        return verbs.readSrcQp(address);
    }

    /**
     * Local identifier that a datagram came from, on InfiniBand. Valid on success.
     *
     * @return 16 bits; on Omni-Path, 32
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#SLID}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_slid
     */
    public int sourceLid() {
        require(CompletionField.SLID);
        return verbs.readSlid(address);
    }

    /**
     * Service level of a received datagram. Valid on success.
     *
     * @return 0 to 15
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#SL}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_sl
     */
    public int serviceLevel() {
        require(CompletionField.SL);
        return verbs.readSl(address);
    }

    /**
     * Low bits of the local identifier that a datagram was sent to, on InfiniBand. Valid on success.
     *
     * @return 7 bits
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#DLID_PATH_BITS}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_dlid_path_bits
     */
    public int destinationPathBits() {
        require(CompletionField.DLID_PATH_BITS);
        return verbs.readDlidPathBits(address);
    }

    /**
     * When it completed, by the clock of the device.
     *
     * @return ticks of {@link DeviceAttributes#coreClockKilohertz}, of as many bits as
     *     {@link DeviceAttributes#completionTimestampMask} has
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#COMPLETION_TIMESTAMP}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_completion_ts
     */
    public long timestamp() {
        require(CompletionField.COMPLETION_TIMESTAMP);
        return verbs.readCompletionTs(address);
    }

    /**
     * When it completed, by the wall clock.
     *
     * @return nanoseconds since 1970
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#COMPLETION_TIMESTAMP_WALLCLOCK}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_completion_wallclock_ns
     */
    public long wallClockNanos() {
        require(CompletionField.COMPLETION_TIMESTAMP_WALLCLOCK);
        return verbs.readCompletionWallclockNs(address);
    }

    /**
     * The VLAN tag that was taken off a received raw packet.
     *
     * @return 16 bits: priority, eligibility and the 12 bits of the identifier
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#CVLAN}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_cvlan
     */
    public int vlan() {
        require(CompletionField.CVLAN);
        return Short.toUnsignedInt(hostOrder(verbs.readCvlan(address)));
    }

    /**
     * The tag of the flow rule that steered a packet here.
     *
     * @return 24 bits, 0 when no rule tagged it
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#FLOW_TAG}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_flow_tag
     */
    public int flowTag() {
        require(CompletionField.FLOW_TAG);
        return verbs.readFlowTag(address);
    }

    /**
     * The tag of a message that tag matching received.
     *
     * @return any 64 bits
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#TM_INFO}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_tm_info
     */
    public long tag() {
        readTagInfo();
        return tagInfo.get(JAVA_LONG, TAG);
    }

    /**
     * What the sender of a tagged message added to the tag.
     *
     * @return any 32 bits
     * @throws IllegalStateException when this is closed, the calling thread has no batch open that stands at a
     *     completion, or this was made without {@link CompletionField#TM_INFO}
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_wc_read_tm_info
     */
    public int tagPrivateData() {
        readTagInfo();
        return tagInfo.get(JAVA_INT, PRIV);
    }

    private void readTagInfo() {
        require(CompletionField.TM_INFO);
        verbs.readTmInfo(address, tagInfo.address());
    }

    /**
     * One line about the current completion, for logs and exceptions.
     *
     * @return such as {@code RETRY_EXC_ERR (vendor error 0x81) on queue pair 17, work request 3}; the queue pair only
     *     when {@link CompletionField#QP_NUM} was asked for
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open that stands at a
     *     completion
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public String describe() {
        int vendorError = vendorError();
        return status() + (vendorError == 0 ? "" : " (vendor error 0x" + Integer.toHexString(vendorError) + ")")
                + (fields.contains(CompletionField.QP_NUM) ? " on queue pair " + queuePairNumber() : "")
                + ", work request " + id();
    }

    @Override
    void beginCall() {
        batch.beginCall();
    }

    @Override
    void endCall() {
        batch.endCall();
    }

    @Override
    void pauseOwnBatch() {
        if (batch.isMine()) {
            unlock();
            batch.pause();
        }
    }

    @Override
    boolean tryBeginClearing() {
        return batch.isMine() || batch.tryBeginClearing();
    }

    @Override
    void endClearing() {
        if (!batch.isMine()) {
            batch.endClearing();
        }
    }

    @Override
    Batch batch() {
        return batch;
    }

    /** As {@link #pauseOwnBatch}, if another thread waits for this. */
    void pauseIfWanted() {
        if (batch.isWanted()) {
            pauseOwnBatch();
        }
    }

    @Override
    void holdForClearing(Closing closing) {
        pauseOwnBatch();
        finishIfAbandoned();
        closing.hold(batch);
    }

    @Override
    void holdBatches(Closing closing) {
        if (batch.isMine()) {
            finish();
        }
        finishIfAbandoned();
        closing.holdForGood(batch);
    }

    /** Nobody else can end the batch of a thread that has ended. */
    private void finishIfAbandoned() {
        if (batch.isAbandoned()) {
            finish();
        }
    }

    /** Size and device. */
    @Override
    public String toString() {
        return "extended " + super.toString();
    }
}
