package org.rdmapanama.samples.selftest;

import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.completion.CompletionOpcode;

/** An operation that moves data between A and B. A posts it. */
enum TestedOperation {
    SEND("SEND", CompletionOpcode.SEND, CompletionOpcode.RECV),
    SEND_WITH_IMMEDIATE("SEND with immediate", CompletionOpcode.SEND, CompletionOpcode.RECV),
    RDMA_WRITE("RDMA WRITE", CompletionOpcode.RDMA_WRITE, null),
    RDMA_WRITE_WITH_IMMEDIATE(
            "RDMA WRITE with immediate", CompletionOpcode.RDMA_WRITE, CompletionOpcode.RECV_RDMA_WITH_IMM),
    RDMA_READ("RDMA READ", CompletionOpcode.RDMA_READ, null);

    static final int IMMEDIATE = 0x89ab_cdef;

    /** What the completion at A says. */
    final CompletionOpcode sent;

    /** What the completion at B says, or null if there is none. */
    final CompletionOpcode received;

    private final String text;

    TestedOperation(String text, CompletionOpcode sent, CompletionOpcode received) {
        this.text = text;
        this.sent = sent;
        this.received = received;
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
