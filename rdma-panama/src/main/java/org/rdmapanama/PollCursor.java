package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.completion.CompletionFlag;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.ffm.verbs.ibv_wc_tm_info;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.NetworkOrder;
import org.rdmapanama.internal.provider.CompletionVerbs;

/**
 * Reads the completions of an {@link ExtendedCompletionQueue} one after the other, where the device wrote them.
 *
 * <p>{@snippet :
 * try (PollCursor cursor = queue.poll()) {
 *     while (cursor.next()) {
 *         System.out.println(cursor.id() + ": " + cursor.status());
 *     }
 * }
 * }
 *
 * <p>The first {@link #next} that finds a completion begins a batch, and {@link #close} ends it; {@link
 * ExtendedCompletionQueue} says what is refused in between. Without a completion no batch begins, and nothing has to be
 * ended. Each queue has one cursor, which every {@link ExtendedCompletionQueue#poll()} returns. Only {@link
 * #describe} allocates, and what meets a completion with an error status: {@link QueuePair#failure} of its queue pair then
 * tells of the first one.
 *
 * <p>Threads: a batch belongs to the thread that began it. Methods throw {@link WrongThreadException} when the arena is
 * confined to another thread.
 */
public final class PollCursor implements AutoCloseable {
    private static final long STATUS = ibv_cq_ex.status$offset() + Pthread.MUTEX_GROWTH;
    private static final long WR_ID = ibv_cq_ex.wr_id$offset() + Pthread.MUTEX_GROWTH;
    private static final long TAG = ibv_wc_tm_info.tag$offset();
    private static final long PRIV = ibv_wc_tm_info.priv$offset();

    private final ExtendedCompletionQueue queue;
    private final CompletionVerbs verbs;
    private final long address;
    private final MemorySegment struct;
    private final int readable;

    /** A struct ibv_wc_tm_info, or null if it was not requested. */
    private final @Nullable MemorySegment tagInfo;

    PollCursor(ExtendedCompletionQueue queue, CompletionVerbs verbs, Set<CompletionField> fields) {
        this.queue = queue;
        this.verbs = verbs;
        address = queue.address;
        struct = Native.struct(address, ibv_cq_ex.sizeof() + Pthread.MUTEX_GROWTH);
        readable = Codes.mask(fields, CompletionField::code);
        tagInfo = fields.contains(CompletionField.TM_INFO) ? queue.allocate(ibv_wc_tm_info.sizeof(), Long.BYTES) : null;
    }

    /**
     * Moves to the next completion, without waiting, and removes the previous one from the queue. After false it may be
     * called again, to check for new completions.
     *
     * @return true if there is one; false if the queue is empty
     * @throws IllegalStateException when the queue is closed, or another thread has a batch open
     * @throws VerbsException when the queue has failed, for example because it overran
     * @verb ibv_start_poll
     * @verb ibv_next_poll
     */
    @CheckReturnValue
    public boolean next() {
        return queue.isInBatch() ? queue.nextPoll() : queue.startPoll();
    }

    /**
     * Waits for a completion, and moves to it: polls for a while, and then sleeps until the channel tells of one, as {@link
     * CompletionQueue#await(WorkCompletions, Duration, Duration)} does. Allocates nothing.
     *
     * @param timeout the maximum time to wait; zero looks once
     * @param spin for how long to poll before sleeping; part of the timeout; zero for none
     * @return true if there is a completion; false if there was none in time, or before a {@link
     *     CompletionChannel#wakeup}, and then no batch is open
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds; no batch is open then
     * @throws IllegalArgumentException when a duration is negative
     * @throws IllegalStateException when the queue has no channel; when the queue or its channel is closed or about to
     *     close, also during the wait; or when a batch is already open
     * @throws VerbsException when the queue has failed, or a verb fails; no batch is open then
     */
    @CheckReturnValue
    public boolean await(Duration timeout, Duration spin) throws InterruptedException {
        return queue.startPoll(timeout, spin);
    }

    /**
     * Ends the batch and removes the completions that were read from the queue. Does nothing if the calling thread has
     * no batch open.
     *
     * @verb ibv_end_poll
     */
    @Override
    public void close() {
        if (queue.isInBatch()) {
            queue.endPoll();
        }
    }

    /**
     * Returns the identifier that the work request was posted with.
     *
     * @return any 64 bits
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
     */
    public long id() {
        requireCurrent();
        return struct.get(JAVA_LONG, WR_ID);
    }

    /**
     * Returns how the work request ended.
     *
     * @return the status
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
     */
    public CompletionStatus status() {
        requireCurrent();
        return CompletionStatus.of(struct.get(JAVA_INT, STATUS));
    }

    /**
     * Returns whether the work request succeeded.
     *
     * @return true when the status is {@link CompletionStatus#SUCCESS}
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
     */
    public boolean succeeded() {
        requireCurrent();
        return struct.get(JAVA_INT, STATUS) == 0;
    }

    /**
     * Returns what kind of work request it was. Valid on success.
     *
     * @return the kind; after a failure the device may leave anything
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
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
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
     */
    public boolean has(CompletionFlag flag) {
        int code = flag.code();
        return (flags() & code) != 0;
    }

    /**
     * Returns whether the completion is that of a receive with immediate data. Valid on success. Some drivers, mlx5 among
     * them, set the flag for the send as well, whose completion has no data.
     *
     * @return true if {@link #immediate} is defined
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
     */
    public boolean hasImmediate() {
        return has(CompletionFlag.WITH_IMM) && (verbs.readOpcode(address) & rdma_h.IBV_WC_RECV()) != 0;
    }

    /**
     * Returns whether a send with invalidation arrived. Valid on success. Soft-RoCE sets {@link #checksumOk} instead,
     * at least up to kernel 6.1.
     *
     * @return true if {@link #invalidatedRkey} is defined
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
     */
    public boolean hasInvalidatedRkey() {
        return has(CompletionFlag.WITH_INV);
    }

    /**
     * Returns whether a global routing header lies in the first 40 bytes of a received datagram. Valid on success.
     *
     * @return true if there is one
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
     */
    public boolean hasGlobalRoutingHeader() {
        return has(CompletionFlag.GRH);
    }

    /**
     * Returns whether the device verified the checksums of a received IPv4 packet, in its header and in TCP or UDP.
     * Valid on success.
     *
     * @return true if they are correct; always false on a device that does not verify them
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
     */
    public boolean checksumOk() {
        return has(CompletionFlag.IP_CSUM_OK);
    }

    /**
     * Returns the vendor-specific error code of a failure.
     *
     * @return the code, 0 if there is none
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
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
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#BYTE_LEN}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#IMM}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#IMM}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#QP_NUM}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#SRC_QP}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#SLID}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#SL}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#DLID_PATH_BITS}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#COMPLETION_TIMESTAMP}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#COMPLETION_TIMESTAMP_WALLCLOCK}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#CVLAN}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#FLOW_TAG}
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
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#TM_INFO}
     * @verb ibv_wc_read_tm_info
     */
    public long tag() {
        return readTagInfo().get(JAVA_LONG, TAG);
    }

    /**
     * Returns the data that the sender of a tagged message added to the tag.
     *
     * @return any 32 bits
     * @throws IllegalStateException when the queue is closed, the calling thread has no batch open with a current
     *     completion, or the queue was created without {@link CompletionField#TM_INFO}
     * @verb ibv_wc_read_tm_info
     */
    public int tagPrivateData() {
        return readTagInfo().get(JAVA_INT, PRIV);
    }

    private MemorySegment readTagInfo() {
        require(CompletionField.TM_INFO);
        MemorySegment info = Objects.requireNonNull(tagInfo);
        verbs.readTmInfo(address, info.address());
        return info;
    }

    /**
     * Returns one line about the current completion, for logs and exceptions.
     *
     * @return status, what it means, queue pair and work request, as {@link WorkCompletions#describe} has them; the
     *     queue pair only if {@link CompletionField#QP_NUM} was requested, or no other one reports to the queue
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
     */
    public String describe() {
        CompletionStatus status = status();
        QueuePair queuePair = status == CompletionStatus.SUCCESS ? null : queuePair();
        return queuePair == null
                ? CompletionText.of(
                        readsNumber() ? " on queue pair 0x%06x".formatted(queuePairNumber()) : "",
                        status,
                        vendorError(),
                        id())
                : CompletionText.of(queuePair, queue, status, vendorError(), id());
    }

    /**
     * Checks that the work request succeeded. Allocates nothing if it did.
     *
     * @throws FailedCompletionException when it did not, with the text of {@link #describe}
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a
     *     current completion
     */
    public void check() {
        if (!succeeded()) {
            throw new FailedCompletionException(describe(), status(), id());
        }
    }

    /** Whether the current completion, which must exist, has an error status. */
    boolean isFailure() {
        return struct.get(JAVA_INT, STATUS) != 0;
    }

    /** Tells the queue pair of the current completion that it failed. */
    void noteFailure() {
        queue.noteFailure(queuePair(), status(), id(), vendorError());
    }

    /** Tells the queue pair of the current completion that it succeeded. */
    void noteTraffic() {
        QueuePair queuePair = queuePair();
        if (queuePair != null) {
            boolean receive = (verbs.readOpcode(address) & rdma_h.IBV_WC_RECV()) != 0;
            boolean readsLength = (readable & CompletionField.BYTE_LEN.code()) != 0;
            queuePair.trafficCounts().completed(receive, receive && readsLength ? verbs.readByteLen(address) : 0);
        }
    }

    /** Returns the queue pair of the current completion; null if it is not known, or closed. */
    private @Nullable QueuePair queuePair() {
        return readsNumber()
                ? queue.context().queuePair(queue, verbs.readQpNum(address))
                : queue.context().onlyQueuePair(queue);
    }

    private boolean readsNumber() {
        return (readable & CompletionField.QP_NUM.code()) != 0;
    }

    /** Returns the queue, if there is a current completion. */
    ExtendedCompletionQueue queueOfCurrent() {
        requireCurrent();
        return queue;
    }

    private void requireCurrent() {
        queue.requireBatch();
        if (!queue.hasCurrent()) {
            throw new IllegalStateException("the batch on " + queue
                    + " has no current completion; read only after PollCursor.next has returned true");
        }
    }

    private void require(CompletionField field) {
        requireCurrent();
        if ((readable & field.code()) == 0) {
            throw new IllegalStateException(queue + " was created without CompletionField." + field
                    + "; name it in CompletionQueueOptions.fields");
        }
    }

    /** The queue. */
    @Override
    public String toString() {
        return "cursor of " + queue;
    }
}
