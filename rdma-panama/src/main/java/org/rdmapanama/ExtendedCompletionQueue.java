package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Set;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.completion.CompletionFlag;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.ffm.verbs.ibv_poll_cq_attr;
import org.rdmapanama.ffm.verbs.ibv_wc_tm_info;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.NetworkOrder;
import org.rdmapanama.internal.provider.CompletionVerbs;

/**
 * A completion queue that is read in place, {@code struct ibv_cq_ex}: the program reads one completion after the other
 * where the device wrote it, and only the fields that it needs; see ibv_create_cq_ex(3).
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
 * <p>It can be used and polled like any {@link CompletionQueue}, but not while a batch is open: from {@link #startPoll}
 * to {@link #endPoll} the queue belongs to the thread that started the batch. Other polling, resizing and requesting
 * notification are refused meanwhile. A driver may hold a lock during a batch, so keep it short.
 *
 * <p>Closing this, its context or its arena ends a batch of the calling thread, and waits at most two seconds for one
 * of another thread. Creating or closing an object that reports here, moving a queue pair to RESET or ERR, and
 * modifying a work queue wait in the same way. They leave a batch of the calling thread open, but its current
 * completion can no longer be read: {@link #nextPoll} or {@link #endPoll} must follow. Batches that other threads begin
 * meanwhile wait for the end of that call. Any call in a batch that has to wait for another thread may also end access
 * to the current completion, so read it first.
 *
 * <p>Posting during a batch is safe as long as the queue pair has room. When a queue pair looks full, drivers such as
 * mlx4, mlx5 and hns lock the completion queue to look again: another posting thread then waits for the end of the
 * batch, and the thread of the batch would wait forever. So post no more requests in a batch than have completed, or
 * end the batch first, or make the queue {@link CompletionQueueOptions#singleThreaded}, with which mlx4 and mlx5 hold
 * no lock during a batch.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or the native object throw {@link
 * WrongThreadException} when the arena is confined to another thread. A batch belongs to one thread. Reading allocates
 * nothing.
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
    private final Batch batch = new Batch(this, "endPoll()", this::startAtFirst, this::finish);
    private final MemorySegment struct;
    private final Set<CompletionField> fields;
    private final int readable;

    /** A struct ibv_wc_tm_info, or null if it was not requested. */
    private final MemorySegment tagInfo;

    /**
     * Whether the batch has a current completion, and so the driver may hold its lock. Used only by the thread of the
     * batch.
     */
    private boolean current;

    /** For {@link CompletionQueueCreation}. The caller must hold the arena's lock. */
    ExtendedCompletionQueue(Context context, long address, Set<CompletionField> fields, VerbsObject... parents) {
        super(context, address, parents);
        this.fields = Codes.copyOf(CompletionField.class, fields);
        readable = Codes.mask(fields, CompletionField::code);
        verbs = provider.preparePollBatches();
        struct = Native.struct(address, ibv_cq_ex.sizeof() + Pthread.MUTEX_GROWTH);
        tagInfo = fields.contains(CompletionField.TM_INFO) ? arena.allocate(ibv_wc_tm_info.layout()) : null;
    }

    /**
     * Wraps an extended completion queue that other code in this process has created. Its events go to the object of
     * its channel, if the channel already has one. Its {@link #fields} are those that its driver made readable.
     *
     * @param context the open device on which it was created
     * @param nativeAddress address of the {@code struct ibv_cq_ex}; a plain {@code struct ibv_cq} is not one
     * @param ownership whether closing this object destroys the native one
     * @return the completion queue
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     */
    public static ExtendedCompletionQueue ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return CompletionQueueCreation.wrapExtended(context, nativeAddress, ownership);
    }

    /**
     * {@return the fields that can be read of a completion besides identifier, status, opcode, flags and vendor error,
     * an unmodifiable set}
     */
    public Set<CompletionField> fields() {
        return fields;
    }

    /**
     * Begins a batch at the first completion, without waiting. Allocates nothing.
     *
     * @return true if there is a completion, and then {@link #endPoll} must follow; false if the queue is empty, and
     *     then no batch is open
     * @throws IllegalStateException when this is closed, or a batch is already open
     * @throws VerbsException when the queue has failed, for example because it overran; no batch is open then
     * @verb ibv_start_poll
     */
    public boolean startPoll() {
        return batch.open();
    }

    /**
     * Waits for a completion and begins a batch at it. Polls for a while and then sleeps until the channel tells of a
     * completion, as {@link CompletionQueue#await(WorkCompletions, Duration, Duration)} does. Allocates nothing.
     *
     * @param timeout the maximum time to wait; zero looks once
     * @param spin for how long to poll before sleeping; part of the timeout; zero for none
     * @return true if there is a completion, and then {@link #endPoll} must follow; false if there was none in time, or
     *     before a {@link CompletionChannel#wakeup}, and then no batch is open
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds; no batch is open then
     * @throws IllegalArgumentException when a duration is negative
     * @throws IllegalStateException when this queue has no channel; when this or the channel is closed or about to
     *     close, also during the wait; or when a batch is already open
     * @throws VerbsException when the queue has failed, or a verb fails; no batch is open then
     */
    public boolean startPoll(Duration timeout, Duration spin) throws InterruptedException {
        return awaitAttempt(null, timeout, spin) > 0;
    }

    /** Begins a batch if there is nothing to receive completions. */
    @Override
    int attempt(WorkCompletions completions) {
        if (completions != null) {
            return super.attempt(completions);
        }
        return startPoll() ? 1 : 0;
    }

    private boolean startAtFirst() {
        return found("ibv_start_poll", verbs.startPoll(address, NO_ATTRIBUTES));
    }

    /**
     * Moves to the next completion of the batch and removes the previous one from the queue. After false it may be
     * called again, to check for new completions. Allocates nothing.
     *
     * @return true if there is one; false if the queue is empty. {@link #endPoll} must follow in any case
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open
     * @throws VerbsException when the queue has failed, for example because it overran; the batch must still be ended
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
     * Ends the batch and removes the completions that were read from the queue. Allocates nothing.
     *
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open
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

    /** Releases the driver's lock, if it is held. */
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
        return new IllegalStateException("this thread has no batch open on " + this + "; call startPoll first");
    }

    private void requireCurrent() {
        requireBatch();
        if (!current) {
            throw new IllegalStateException("the batch on " + this
                    + " has no current completion; read only after startPoll or nextPoll has returned true");
        }
    }

    private void require(CompletionField field) {
        requireCurrent();
        if ((readable & field.code()) == 0) {
            throw new IllegalStateException(this + " was created without CompletionField." + field
                    + "; name it in CompletionQueueOptions.fields");
        }
    }

    /**
     * Returns the identifier that the work request was posted with.
     *
     * @return any 64 bits
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     */
    public long id() {
        requireCurrent();
        return struct.get(JAVA_LONG, WR_ID);
    }

    /**
     * Returns how the work request ended.
     *
     * @return the status
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     */
    public CompletionStatus status() {
        requireCurrent();
        return CompletionStatus.of(struct.get(JAVA_INT, STATUS));
    }

    /**
     * Returns whether the work request succeeded.
     *
     * @return true when the status is {@link CompletionStatus#SUCCESS}
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     */
    public boolean succeeded() {
        requireCurrent();
        return struct.get(JAVA_INT, STATUS) == 0;
    }

    /**
     * Returns what kind of work request it was. Valid on success.
     *
     * @return the kind; after a failure the device may leave anything
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     * @verb ibv_wc_read_opcode
     */
    public CompletionOpcode opcode() {
        requireCurrent();
        return CompletionOpcode.of(verbs.readOpcode(address));
    }

    /**
     * Returns whether the completion has a flag. Valid on success.
     *
     * @param flag the flag
     * @return true if so
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     */
    public boolean has(CompletionFlag flag) {
        int code = flag.code();
        return (flags() & code) != 0;
    }

    /**
     * Returns whether the completion carries immediate data. Valid on success.
     *
     * @return true if {@link #immediate} is defined
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     */
    public boolean hasImmediate() {
        return has(CompletionFlag.WITH_IMM);
    }

    /**
     * Returns whether a send with invalidation arrived. Valid on success. Soft-RoCE sets {@link #checksumOk} instead,
     * at least up to kernel 6.1.
     *
     * @return true if {@link #invalidatedRkey} is defined
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     */
    public boolean hasInvalidatedRkey() {
        return has(CompletionFlag.WITH_INV);
    }

    /**
     * Returns whether a global routing header lies in the first 40 bytes of a received datagram. Valid on success.
     *
     * @return true if there is one
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     */
    public boolean hasGlobalRoutingHeader() {
        return has(CompletionFlag.GRH);
    }

    /**
     * Returns whether the device verified the checksums of a received IPv4 packet, in its header and in TCP or UDP.
     * Valid on success.
     *
     * @return true if they are correct; always false on a device that does not verify them
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     */
    public boolean checksumOk() {
        return has(CompletionFlag.IP_CSUM_OK);
    }

    /**
     * Returns the vendor-specific error code of a failure.
     *
     * @return the code, 0 if there is none
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     * @verb ibv_wc_read_vendor_err
     */
    public int vendorError() {
        requireCurrent();
        return verbs.readVendorErr(address);
    }

    /**
     * Returns the flags as a C bit mask, {@code enum ibv_wc_flags}. Valid on success.
     *
     * @return bits
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     * @verb ibv_wc_read_wc_flags
     */
    public int flags() {
        requireCurrent();
        return verbs.readWcFlags(address);
    }

    /**
     * Returns the length of the data of a receive, an RDMA read or an atomic. For a datagram it includes the 40 bytes
     * in front of it. Valid on success.
     *
     * @return the length in bytes, unsigned
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#BYTE_LEN}
     * @verb ibv_wc_read_byte_len
     */
    public int byteLength() {
        require(CompletionField.BYTE_LEN);
        return verbs.readByteLen(address);
    }

    /**
     * Returns the immediate data of a receive, as its sender set it.
     *
     * @return 32 bits; undefined unless {@link #hasImmediate}
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#IMM}
     * @verb ibv_wc_read_imm_data
     */
    public int immediate() {
        require(CompletionField.IMM);
        return NetworkOrder.convert(verbs.readImmData(address));
    }

    /**
     * Returns the remote key of this side that a send with invalidation made invalid.
     *
     * @return the key; undefined unless {@link #hasInvalidatedRkey}
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#IMM}
     * @verb ibv_wc_read_invalidated_rkey
     */
    public int invalidatedRkey() {
        require(CompletionField.IMM);
        return verbs.readImmData(address);
    }

    /**
     * Returns the number of the local queue pair.
     *
     * @return 24 bits
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#QP_NUM}
     * @verb ibv_wc_read_qp_num
     */
    public int queuePairNumber() {
        require(CompletionField.QP_NUM);
        return verbs.readQpNum(address);
    }

    /**
     * Returns the number of the queue pair that a datagram came from. Valid on success.
     *
     * @return 24 bits
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#SRC_QP}
     * @verb ibv_wc_read_src_qp
     */
    public int sourceQueuePair() {
        require(CompletionField.SRC_QP);
        return verbs.readSrcQp(address);
    }

    /**
     * Returns the local identifier that a datagram came from, on InfiniBand. Valid on success.
     *
     * @return 16 bits; on Omni-Path, 32
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#SLID}
     * @verb ibv_wc_read_slid
     */
    public int sourceLid() {
        require(CompletionField.SLID);
        return verbs.readSlid(address);
    }

    /**
     * Returns the service level of a received datagram. Valid on success.
     *
     * @return 0 to 15
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#SL}
     * @verb ibv_wc_read_sl
     */
    public int serviceLevel() {
        require(CompletionField.SL);
        return verbs.readSl(address);
    }

    /**
     * Returns the low bits of the local identifier that a datagram was sent to, on InfiniBand. Valid on success.
     *
     * @return 7 bits
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#DLID_PATH_BITS}
     * @verb ibv_wc_read_dlid_path_bits
     */
    public int destinationPathBits() {
        require(CompletionField.DLID_PATH_BITS);
        return verbs.readDlidPathBits(address);
    }

    /**
     * Returns the completion time by the clock of the device.
     *
     * @return ticks of {@link DeviceAttributes#coreClockKilohertz}, of as many bits as
     *     {@link DeviceAttributes#completionTimestampMask} has
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#COMPLETION_TIMESTAMP}
     * @verb ibv_wc_read_completion_ts
     */
    public long timestamp() {
        require(CompletionField.COMPLETION_TIMESTAMP);
        return verbs.readCompletionTs(address);
    }

    /**
     * Returns the completion time by the wall clock.
     *
     * @return nanoseconds since 1970
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#COMPLETION_TIMESTAMP_WALLCLOCK}
     * @verb ibv_wc_read_completion_wallclock_ns
     */
    public long wallClockNanos() {
        require(CompletionField.COMPLETION_TIMESTAMP_WALLCLOCK);
        return verbs.readCompletionWallclockNs(address);
    }

    /**
     * Returns the VLAN tag that was removed from a received raw packet.
     *
     * @return 16 bits: priority, eligibility and the 12 bits of the identifier
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#CVLAN}
     * @verb ibv_wc_read_cvlan
     */
    public int vlan() {
        require(CompletionField.CVLAN);
        return Short.toUnsignedInt(NetworkOrder.convert(verbs.readCvlan(address)));
    }

    /**
     * Returns the tag of the flow rule that steered a packet here.
     *
     * @return 24 bits, 0 if no rule tagged it
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#FLOW_TAG}
     * @verb ibv_wc_read_flow_tag
     */
    public int flowTag() {
        require(CompletionField.FLOW_TAG);
        return verbs.readFlowTag(address);
    }

    /**
     * Returns the tag of a message that tag matching received.
     *
     * @return any 64 bits
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#TM_INFO}
     * @verb ibv_wc_read_tm_info
     */
    public long tag() {
        readTagInfo();
        return tagInfo.get(JAVA_LONG, TAG);
    }

    /**
     * Returns the data that the sender of a tagged message added to the tag.
     *
     * @return any 32 bits
     * @throws IllegalStateException when this is closed, the calling thread has no batch open with a current
     *     completion, or this was created without {@link CompletionField#TM_INFO}
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
     * Returns one line about the current completion, for logs and exceptions.
     *
     * @return status, what it means, queue pair and work request, as {@link WorkCompletions#describe} has them; the
     *     queue pair only if {@link CompletionField#QP_NUM} was requested
     * @throws IllegalStateException when this is closed, or the calling thread has no batch open with a current
     *     completion
     */
    public String describe() {
        return WorkCompletions.explained(status(), vendorError())
                + (fields.contains(CompletionField.QP_NUM) ? " on queue pair 0x%06x".formatted(queuePairNumber()) : "")
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
        return batch.tryBeginClearing();
    }

    @Override
    void endClearing() {
        batch.endClearing();
    }

    @Override
    Batch batch() {
        return batch;
    }

    /** Like {@link #pauseOwnBatch}, if another thread waits for this. */
    void pauseIfWanted() {
        if (batch.isWanted()) {
            pauseOwnBatch();
        }
    }

    @Override
    void holdForClearing(Closing closing) {
        batch.checkNotClearing();
        pauseOwnBatch();
        batch.finishIfAbandoned();
        closing.hold(batch);
    }

    @Override
    void holdBatches(Closing closing) {
        batch.checkNotClearing();
        if (batch.isMine()) {
            finish();
        }
        batch.finishIfAbandoned();
        closing.holdForGood(batch);
    }

    /** Size and device. */
    @Override
    public String toString() {
        return "extended " + super.toString();
    }
}
