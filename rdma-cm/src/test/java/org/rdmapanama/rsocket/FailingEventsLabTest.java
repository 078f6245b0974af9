package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.Insides;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.LabDevices;

/** A completion channel that fails for ever, as that of a device that was removed, ends its channel and no other one. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailingEventsLabTest {
    private static final int READ_WRITE = SelectionKey.OP_READ | SelectionKey.OP_WRITE;

    private static final class Broken extends VerbsException {
        private static final long serialVersionUID = 1;

        Broken() {
            super("ibv_get_cq_event", Errno.EIO, "a channel", null);
        }
    }

    /** A device that always has an event, which cannot be taken. */
    private static final class FailingDevice extends RecordingProvider {
        FailingDevice(ProviderContext real) {
            super(real);
        }

        @Override
        public ReadySource completionEvents(long channel) {
            return ReadySource.of(() -> true);
        }

        @Override
        public long getCompletionEvent(long channel) {
            return -Errno.EIO;
        }
    }

    /** A channel whose events fail; nothing is ready before that. */
    private static final class Failing implements Watched {
        private final CompletionChannel events;
        private final Watchers watchers = new Watchers();
        private int failures;

        Failing(CompletionChannel events) {
            this.events = events;
        }

        @Override
        public Watchers watchers() {
            return watchers;
        }

        @Override
        public int readyOperations(int operations) {
            return failures > 0 ? operations : 0;
        }

        @Override
        public CompletionChannel events() {
            return events;
        }

        @Override
        public void eventsFailed(VerbsException cause) {
            assertEquals(Errno.EIO, cause.errno());
            failures++;
        }

        @Override
        public long spinNanos() {
            return 0;
        }
    }

    @Test
    void shouldSelectTheOthersBesideAChannelWhoseEventsFail() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                Channels.Pair pair = Channels.Pair.open();
                RSocketChannel broken = RSocketChannel.open();
                RSelector keeper = RSelector.open();
                RSelector selector = RSelector.open()) {
            var device = LabDevices.first();
            Failing failing = new Failing(Insides.open(arena, device, () -> new FailingDevice(Insides.provider(device)))
                    .createCompletionChannel());
            broken.configureBlocking(false);
            // The channel knows its keys.
            broken.register(keeper, 0);
            SelectionKey failed = selector.register(broken, failing, READ_WRITE, null);
            pair.client().configureBlocking(false);
            SelectionKey other = pair.client().register(selector, SelectionKey.OP_READ);
            Channels.writeFully(pair.accepted(), ByteBuffer.allocate(1));
            Set<SelectionKey> seen = new HashSet<>();
            Bound.of(Async.LIMIT).await("both", () -> {
                selector.select();
                seen.addAll(selector.selectedKeys());
                selector.selectedKeys().clear();
                return seen.equals(Set.of(failed, other));
            });
            assertEquals(READ_WRITE, failed.readyOps());
            assertEquals(1, pair.client().read(ByteBuffer.allocate(10)));
            // It does not stay among those that are waited for.
            failed.interestOps(0);
            assertEquals(0, selector.select(50));
            assertEquals(1, failing.failures);
        }
    }

    @Test
    void shouldEndAChannelWhoseEventsFail() throws Exception {
        try (Channels.Pair pair = Channels.Pair.open();
                RSelector selector = RSelector.open();
                RSelector second = RSelector.open()) {
            RSocketChannel client = pair.client();
            client.configureBlocking(false);
            SelectionKey key = client.register(selector, SelectionKey.OP_READ);
            SelectionKey other = client.register(second, SelectionKey.OP_READ);
            CompletableFuture<Integer> selecting = Async.start(() -> selector.select());
            CompletableFuture<Integer> selectingToo = Async.start(() -> second.select());
            Thread.sleep(100);
            assertFalse(selecting.isDone());
            client.watched().eventsFailed(new Broken());
            assertEquals(1, Async.get(selecting));
            assertEquals(1, Async.get(selectingToo));
            assertTrue(key.isReadable());
            assertTrue(other.isReadable());
            SocketException reading = assertThrows(SocketException.class, () -> client.read(ByteBuffer.allocate(1)));
            assertTrue(reading.getMessage().contains("ibv_get_cq_event"), reading.getMessage());
            assertThrows(SocketException.class, () -> client.write(ByteBuffer.allocate(1)));
            client.close();
            assertEquals(-1, pair.accepted().read(ByteBuffer.allocate(1)));
        }
    }

    @Test
    void shouldEndAReadThatWaits() throws Exception {
        try (Channels.Pair pair = Channels.Pair.open()) {
            CompletableFuture<Integer> reading = Async.start(() -> pair.client().read(ByteBuffer.allocate(1)));
            Thread.sleep(100);
            pair.client().watched().eventsFailed(new Broken());
            ExecutionException failure = assertThrows(ExecutionException.class, () -> Async.get(reading));
            assertInstanceOf(SocketException.class, failure.getCause());
        }
    }
}
