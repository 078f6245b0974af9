package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One thread and one selector for the events of both sides. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // closed earlier
class SelectorLabTest {
    private static final int PORT = 7493;

    /** Long enough for what would come by mistake. */
    private static final long NOTHING_MILLIS = 200;

    @Test
    void shouldBeSelectedWhileThereAreEvents() throws Exception {
        SelectableChannel passive;
        try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT);
                Selector selector = Selector.open()) {
            passive = ids.passive.selectableChannel();
            assertSame(passive, ids.passive.selectableChannel());
            SelectionKey passiveKey = passive.register(selector, SelectionKey.OP_READ, ids.passive);
            SelectionKey activeKey =
                    ids.active.selectableChannel().register(selector, SelectionKey.OP_READ, ids.active);
            assertEquals(0, selector.select(NOTHING_MILLIS));

            ids.client.connect(TwoIds.parameters());
            // It stays selected until the event is taken.
            assertEquals(1, selector.select(20_000));
            assertSame(passiveKey, selector.selectedKeys().iterator().next());
            selector.selectedKeys().clear();
            while (ids.seen.size() < 7) {
                assertTrue(selector.select(20_000) > 0, () -> "nothing after " + ids.seen);
                for (SelectionKey key : selector.selectedKeys()) {
                    EventChannel channel = (EventChannel) key.attachment();
                    for (Optional<CmEvent> event = channel.poll(); event.isPresent(); event = channel.poll()) {
                        ids.handle(event.get());
                    }
                }
                selector.selectedKeys().clear();
            }
            assertEquals(
                    List.of(
                            CmEventType.CONNECT_REQUEST,
                            CmEventType.CONNECT_RESPONSE,
                            CmEventType.ESTABLISHED,
                            CmEventType.DISCONNECTED,
                            CmEventType.DISCONNECTED,
                            CmEventType.TIMEWAIT_EXIT,
                            CmEventType.TIMEWAIT_EXIT),
                    ids.seen);
            assertEquals(0, selector.select(NOTHING_MILLIS));

            ids.close();
            assertFalse(passiveKey.isValid());
            assertFalse(activeKey.isValid());
            assertThrows(IllegalStateException.class, ids.passive::selectableChannel);
        }
        assertFalse(passive.isOpen());
    }
}
