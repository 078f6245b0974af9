package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.ffm.verbs.ibv_cq_init_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/**
 * The options of an extended completion queue, {@code struct ibv_cq_init_attr_ex}; see ibv_create_cq_ex(3).
 *
 * <p>{@snippet :
 * ExtendedCompletionQueue queue = context.createCompletionQueue(
 *         new CompletionQueueOptions(128).fields(CompletionField.BYTE_LEN, CompletionField.IMM));
 * }
 *
 * <p>Defaults: no channel, completion vector 0, none of the fields, and neither flag. Threads: one at a time.
 */
public final class CompletionQueueOptions {
    private static final String NO_ATTRIBUTE = "a driver that supports it, which no attribute of the device shows";

    private final int entries;
    private final Set<CompletionField> fields = EnumSet.noneOf(CompletionField.class);
    private @Nullable CompletionChannel channel;
    private int completionVector;
    private boolean singleThreaded;
    private boolean ignoreOverrun;
    private @Nullable ProtectionDomain parentDomain;
    private boolean direct;

    /**
     * Creates options for a queue of the given size.
     *
     * @param entries the minimum number of completions; the device may round up
     * @throws IllegalArgumentException when the number is not positive
     */
    public CompletionQueueOptions(int entries) {
        this.entries = CompletionQueue.checkedEntries(entries);
    }

    /**
     * Sets the channel for the events of the queue.
     *
     * @param value the channel, or null for none
     * @return this
     */
    public CompletionQueueOptions channel(@Nullable CompletionChannel value) {
        channel = value;
        return this;
    }

    /**
     * Sets the completion vector (interrupt) of the device.
     *
     * @param value from 0
     * @return this
     * @throws IllegalArgumentException when it is negative
     */
    public CompletionQueueOptions completionVector(int value) {
        completionVector = CompletionQueue.checkedVector(value);
        return this;
    }

    /**
     * Sets which fields of a completion can be read, replacing earlier ones. Identifier, status, opcode, flags and
     * vendor error can always be read.
     *
     * @param values the fields
     * @return this
     * @throws NullPointerException when one is null
     */
    public CompletionQueueOptions fields(CompletionField... values) {
        Set<CompletionField> given = EnumSet.noneOf(CompletionField.class);
        given.addAll(Arrays.asList(values));
        fields.clear();
        fields.addAll(given);
        return this;
    }

    /**
     * Sets whether the driver omits its locks in batches of {@link PollCursor}. Calls of this library on the queue still
     * exclude each other; other code must not use the queue at the same time.
     *
     * <p>Set it also for a queue in a {@linkplain #parentDomain parent domain} with a thread domain: mlx5 ends the process when
     * it wants to take a lock of a thread domain that is taken, as it is during a batch of a queue that is not
     * single-threaded, for example when more is posted than the queue pair has room for. With mlx4 and mlx5 it also keeps
     * posting in the context fast: each extended completion queue that is not single-threaded makes it slower.
     *
     * @param value true for no locks
     * @return this
     */
    public CompletionQueueOptions singleThreaded(boolean value) {
        singleThreaded = value;
        return this;
    }

    /**
     * Sets whether new completions overwrite unpolled ones when the queue is full, instead of failing it. This saves
     * the device a check, for programs that count their work requests so that the queue cannot overrun.
     *
     * @param value true to ignore overruns
     * @return this
     */
    public CompletionQueueOptions ignoreOverrun(boolean value) {
        ignoreOverrun = value;
        return this;
    }

    /**
     * Sets the parent domain, which determines the driver's locks and memory.
     *
     * @param value a parent domain, or null for none
     * @return this
     */
    public CompletionQueueOptions parentDomain(@Nullable ProtectionDomain value) {
        parentDomain = value;
        return this;
    }

    /**
     * Has Java read the ring of this queue itself, and write the rings of all queue pairs that report to it: posting and
     * polling then call no function of the driver. Only on HotSpot and x86-64, for ConnectX cards (driver mlx5) with the
     * module rdma-mlx5, and for EFA devices (driver efa) with the module rdma-efa and rdma-core 60 or newer. The queue pairs
     * must be of type RC, UC or UD, on EFA of type DRIVER or UD. Both their completion queues and their shared receive queue
     * ({@link SharedReceiveQueueOptions#direct}) must be direct, and they bind no memory windows. Such a completion queue
     * cannot be resized.
     *
     * <p>Off by default. With the system property {@code org.rdmapanama.direct=true} it is on for all completion queues and
     * shared receive queues of devices that can do it, also for those that are created without options.
     *
     * @param value whether to do so
     * @return this
     */
    public CompletionQueueOptions direct(boolean value) {
        direct = value;
        return this;
    }

    boolean direct() {
        return direct;
    }

    boolean singleThreaded() {
        return singleThreaded;
    }

    @Nullable
    CompletionChannel channel() {
        return channel;
    }

    @Nullable
    ProtectionDomain parentDomain() {
        return parentDomain;
    }

    Set<CompletionField> fields() {
        return Collections.unmodifiableSet(fields);
    }

    void write(MemorySegment struct) {
        ibv_cq_init_attr_ex.cqe(struct, entries);
        ibv_cq_init_attr_ex.comp_vector(struct, completionVector);
        ibv_cq_init_attr_ex.wc_flags(struct, Codes.mask(fields, CompletionField::code));
        if (channel != null) {
            ibv_cq_init_attr_ex.channel(struct, MemorySegment.ofAddress(channel.address));
        }
        int present = 0;
        int flags = (singleThreaded ? rdma_h.IBV_CREATE_CQ_ATTR_SINGLE_THREADED() : 0)
                | (ignoreOverrun ? rdma_h.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN() : 0);
        if (flags != 0) {
            ibv_cq_init_attr_ex.flags(struct, flags);
            present |= rdma_h.IBV_CQ_INIT_ATTR_MASK_FLAGS();
        }
        if (parentDomain != null) {
            ibv_cq_init_attr_ex.parent_domain(struct, MemorySegment.ofAddress(parentDomain.address));
            present |= rdma_h.IBV_CQ_INIT_ATTR_MASK_PD();
        }
        ibv_cq_init_attr_ex.comp_mask(struct, present);
    }

    /** Where to look for support by a device. */
    String capability() {
        if (fields.contains(CompletionField.COMPLETION_TIMESTAMP)
                || fields.contains(CompletionField.COMPLETION_TIMESTAMP_WALLCLOCK)) {
            return "DeviceAttributes.completionTimestampMask";
        }
        if (fields.contains(CompletionField.TM_INFO)) {
            return "DeviceAttributes.tagMatching";
        }
        if (fields.contains(CompletionField.CVLAN)) {
            return "CVLAN_STRIPPING in DeviceAttributes.rawPacketCapabilities";
        }
        return NO_ATTRIBUTE;
    }

    /** All options. */
    @Override
    public String toString() {
        return entries + " entries, completion vector " + completionVector + ", fields " + fields
                + (singleThreaded ? ", single-threaded" : "") + (ignoreOverrun ? ", overrun ignored" : "")
                + (parentDomain == null ? "" : ", with a parent domain") + (direct ? ", direct" : "");
    }
}
