package org.rdmapanama.samples.selftest;

import java.util.Set;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.efa.EfaCapability;
import org.rdmapanama.queue.SendOperation;

/** An operation that moves data between A and B. A posts it. */
enum TestedOperation {
    SEND("SEND", SendOperation.SEND, CompletionOpcode.SEND, CompletionOpcode.RECV, null),
    SEND_WITH_IMMEDIATE(
            "SEND with immediate", SendOperation.SEND_WITH_IMM, CompletionOpcode.SEND, CompletionOpcode.RECV, null),
    RDMA_WRITE("RDMA WRITE", SendOperation.RDMA_WRITE, CompletionOpcode.RDMA_WRITE, null, EfaCapability.RDMA_WRITE),
    RDMA_WRITE_WITH_IMMEDIATE(
            "RDMA WRITE with immediate",
            SendOperation.RDMA_WRITE_WITH_IMM,
            CompletionOpcode.RDMA_WRITE,
            CompletionOpcode.RECV_RDMA_WITH_IMM,
            EfaCapability.RDMA_WRITE),
    RDMA_READ("RDMA READ", SendOperation.RDMA_READ, CompletionOpcode.RDMA_READ, null, EfaCapability.RDMA_READ);

    static final int IMMEDIATE = 0x89ab_cdef;

    /** Its name in the options of a queue pair. */
    final SendOperation option;

    /** What the completion at A says. */
    final CompletionOpcode sent;

    /** What the completion at B says, or null if there is none. */
    final CompletionOpcode received;

    /** What an EFA device must tell that it can do this, or null. */
    final EfaCapability needed;

    private final String text;

    TestedOperation(
            String text, SendOperation option, CompletionOpcode sent, CompletionOpcode received, EfaCapability needed) {
        this.text = text;
        this.option = option;
        this.sent = sent;
        this.received = received;
        this.needed = needed;
    }

    /** Whether an EFA device of these capabilities can do this. */
    boolean isPossible(Set<EfaCapability> capabilities) {
        return needed == null || capabilities.contains(needed);
    }

    boolean isOn(TestedTransport transport) {
        return switch (this) {
            case SEND, SEND_WITH_IMMEDIATE -> true;
            case RDMA_WRITE, RDMA_WRITE_WITH_IMMEDIATE -> transport != TestedTransport.UD;
            case RDMA_READ -> transport.isReliable();
        };
    }

    boolean hasImmediate() {
        return this == SEND_WITH_IMMEDIATE || this == RDMA_WRITE_WITH_IMMEDIATE;
    }

    /** Whether the data goes into the memory of a receive. */
    boolean fillsReceive() {
        return this == SEND || this == SEND_WITH_IMMEDIATE;
    }

    /** Makes a request this operation, on memory of the other end. */
    SendWorkRequest set(SendWorkRequest request, End target, long offset) {
        long address = target.region.address() + offset;
        int rkey = target.region.rkey();
        return switch (this) {
            case SEND -> request.send();
            case SEND_WITH_IMMEDIATE -> request.sendWithImmediate(IMMEDIATE);
            case RDMA_WRITE -> request.rdmaWrite(address, rkey);
            case RDMA_WRITE_WITH_IMMEDIATE -> request.rdmaWriteWithImmediate(address, rkey, IMMEDIATE);
            case RDMA_READ -> request.rdmaRead(address, rkey);
        };
    }

    /** Builds this operation, on memory of the other end. */
    void build(WorkRequestBuilder builder, End target, long offset) {
        long address = target.region.address() + offset;
        int rkey = target.region.rkey();
        switch (this) {
            case SEND -> builder.send();
            case SEND_WITH_IMMEDIATE -> builder.sendWithImmediate(IMMEDIATE);
            case RDMA_WRITE -> builder.rdmaWrite(address, rkey);
            case RDMA_WRITE_WITH_IMMEDIATE -> builder.rdmaWriteWithImmediate(address, rkey, IMMEDIATE);
            case RDMA_READ -> builder.rdmaRead(address, rkey);
        }
    }

    @Override
    public String toString() {
        return text;
    }
}
