package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_cq_init_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * What an extended completion queue is to be, {@code struct ibv_cq_init_attr_ex}; see ibv_create_cq_ex(3).
 *
 * <p>{@snippet :
 * ExtendedCompletionQueue queue = context.createCompletionQueue(
 *         new CompletionQueueOptions(128).fields(CompletionField.BYTE_LEN, CompletionField.IMM));
 * }
 *
 * <p>Without further words: no channel, completion vector 0, none of the fields, and neither flag. Threads: one at a
 * time.
 */
public final class CompletionQueueOptions {
    private static final String NO_ATTRIBUTE = "a driver that has it, which no attribute of the device tells";

    private final int entries;
    private final Set<CompletionField> fields = EnumSet.noneOf(CompletionField.class);
    private CompletionChannel channel;
    private int completionVector;
    private boolean singleThreaded;
    private boolean ignoreOverrun;
    private ProtectionDomain parentDomain;

    /**
     * A completion queue of a size.
     *
     * @param entries how many completions it must hold at least; the device may round up
     * @throws IllegalArgumentException when the number is not positive
     */
    public CompletionQueueOptions(int entries) {
        this.entries = CompletionQueue.checkedEntries(entries);
    }

    /**
     * Lets it tell through a channel that something completed.
     *
     * @param value the channel, or null for none
     * @return this
     */
    public CompletionQueueOptions channel(CompletionChannel value) {
        channel = value;
        return this;
    }

    /**
     * Sets which of the device's completion vectors, its interrupts, to use.
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
     * Sets what of a completion can be read, in place of what was set before. Identifier, status, opcode, flags and
     * vendor error always can.
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
     * Lets the driver do without locks. What this library calls on the queue still takes turns; other code that uses
     * it must not run at the same time.
     *
     * @param value true for no locks
     * @return this
     */
    public CompletionQueueOptions singleThreaded(boolean value) {
        singleThreaded = value;
        return this;
    }

    /**
     * Lets new completions overwrite those not yet polled when there are too many, instead of the queue breaking. For
     * queues that cannot overrun because the program counts, which saves the device the check.
     *
     * @param value true to go on
     * @return this
     */
    public CompletionQueueOptions ignoreOverrun(boolean value) {
        ignoreOverrun = value;
        return this;
    }

    /**
     * Makes it belong to a parent domain, which brings the driver's locks and memory with it.
     *
     * @param value a parent domain, or null for none
     * @return this
     */
    public CompletionQueueOptions parentDomain(ProtectionDomain value) {
        parentDomain = value;
        return this;
    }

    CompletionChannel channel() {
        return channel;
    }

    ProtectionDomain parentDomain() {
        return parentDomain;
    }

    Set<CompletionField> fields() {
        return Collections.unmodifiableSet(fields);
    }

    void write(MemorySegment struct) {
        ibv_cq_init_attr_ex.cqe(struct, entries);
        ibv_cq_init_attr_ex.comp_vector(struct, completionVector);
        ibv_cq_init_attr_ex.wc_flags(struct, CompletionField.mask(fields));
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

    /** Where to see whether a device can do this. */
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

    /** What is asked for. */
    @Override
    public String toString() {
        return entries + " entries, completion vector " + completionVector + ", fields " + fields
                + (singleThreaded ? ", single-threaded" : "") + (ignoreOverrun ? ", overrun ignored" : "")
                + (parentDomain == null ? "" : ", with a parent domain");
    }
}
