package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** What a connection says of its peer while another thread still makes it. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EstablishedLabTest {
    private static final int PORT = 7571;
    private static final int ROUNDS = 50;

    @Test
    void shouldBeKnownAllAtOnce() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT))) {
            RdmaClient client = new RdmaClient(arena);
            for (int round = 0; round < ROUNDS; round++) {
                AtomicReference<RdmaConnection> seen = new AtomicReference<>();
                FutureTask<Void> watcher = new FutureTask<>(() -> watch(seen), null);
                FutureTask<RdmaConnection> accepting =
                        new FutureTask<>(() -> server.accept(Lab.SECONDS).orElseThrow());
                Thread.ofPlatform().start(watcher);
                Thread.ofPlatform().start(accepting);
                RdmaConnectionOptions options =
                        new RdmaConnectionOptions().localAddress(Lab.first(0)).prepare(seen::set);
                try (RdmaConnection left = client.connect(Lab.second(PORT), options, Lab.SECONDS);
                        RdmaConnection right = accepting.get(30, TimeUnit.SECONDS)) {
                    assertEquals(left.localAddress(), right.remoteAddress());
                    watcher.get(30, TimeUnit.SECONDS);
                }
            }
        }
    }

    /** As soon as one is known, all are. */
    private static void watch(AtomicReference<RdmaConnection> seen) {
        Bound.ofSeconds(30)
                .spin("no connection", () -> seen.get() != null && seen.get().peer() != null);
        assertNotNull(seen.get().localAddress());
        assertNotNull(seen.get().remoteAddress());
    }
}
