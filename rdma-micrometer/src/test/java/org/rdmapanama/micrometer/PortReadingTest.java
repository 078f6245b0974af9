package org.rdmapanama.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.ConnectedPair;

/** The counters of a port, which are read for all of its meters together. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PortReadingTest {
    @Test
    void shouldReadThemAgain() throws InterruptedException {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .in(VerbsArena.ofShared())
                .through(arena -> Context.open(arena, "soft0"))
                .shared()
                .open()) {
            new ContextMetrics(pair.a.context, Tags.empty()).bindTo(registry);
            FunctionCounter messages = registry.get("rdma.port.local.messages").functionCounter();
            FunctionCounter bytes = registry.get("rdma.port.local.bytes").functionCounter();
            assertEquals(0, messages.count());
            pair.a.post(pair.writeToB(1, 0, 100));
            pair.a.await();
            Bound.usual().await("they stay", () -> messages.count() == 1);
            assertEquals(100, bytes.count());
        }
    }
}
