package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;

/** A copy of one work completion, for tests, where garbage does not matter. */
public record Completion(
        long id,
        CompletionStatus status,
        int rawOpcode,
        int byteLength,
        boolean hasImmediate,
        int immediate,
        boolean hasGlobalRoutingHeader,
        int queuePair,
        int sourceQueuePair,
        String text) {

    public static Completion of(WorkCompletions batch, int index) {
        return new Completion(
                batch.id(index),
                batch.status(index),
                batch.succeeded(index) ? batch.opcode(index).code() : -1,
                batch.byteLength(index),
                batch.hasImmediate(index),
                batch.immediate(index),
                batch.hasGlobalRoutingHeader(index),
                batch.queuePairNumber(index),
                batch.sourceQueuePair(index),
                batch.describe(index));
    }

    /** The opcode, which only a successful completion has. */
    public CompletionOpcode opcode() {
        assertEquals(CompletionStatus.SUCCESS, status, text);
        return CompletionOpcode.of(rawOpcode);
    }

    /** Checks that this succeeded and belongs to a work request of this kind and identifier. */
    public Completion is(CompletionOpcode opcode, long expectedId) {
        assertEquals(opcode, opcode(), text);
        assertEquals(expectedId, id, text);
        return this;
    }
}
