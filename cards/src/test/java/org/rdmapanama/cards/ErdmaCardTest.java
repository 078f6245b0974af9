package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;

/** Queue pairs of an eRDMA card in memory, under its driver. */
@Tag("card")
class ErdmaCardTest {
    private ConnectedPair pair =
            ConnectedPair.of(QueuePairType.RC).segments(1).inline(96).open();

    @AfterEach
    void close() {
        pair.close();
    }

    @Test
    void shouldWrite() {
        FillPattern.fill(pair.a.memory, 1);
        pair.a.post(pair.writeToB(7, 8, 5000));
        Completion written = pair.a.await();
        assertEquals(7, written.id());
        assertEquals(CompletionOpcode.RDMA_WRITE, written.opcode());
        assertEquals(CompletionStatus.SUCCESS, written.status());
        assertEquals(-1, pair.a.memory.asSlice(8, 5000).mismatch(pair.b.memory.asSlice(8, 5000)));
    }
}
