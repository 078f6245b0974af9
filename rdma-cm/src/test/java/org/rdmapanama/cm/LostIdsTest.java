package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.rdmapanama.ffm.internal.Errno;

/** What becomes of ids when something fails on the way, and which events end a wait for requests. */
@SuppressWarnings("try") // some are closed earlier
class LostIdsTest {
    private static final int NO_TYPE = 99;

    private final ScriptedConnectionManager manager = new ScriptedConnectionManager();

    @Test
    void shouldDestroyAnIdWhoseObjectCannotBeMade() {
        try (EventChannel channel = EventChannel.create(manager)) {
            manager.queuePairType = NO_TYPE;
            assertThrows(IllegalArgumentException.class, () -> channel.createId(PortSpace.TCP));
            assertEquals(1, manager.ids.size());
            assertEquals(manager.ids, manager.destroyed);
        }
        assertEquals(manager.ids, manager.destroyed, "once");
    }

    /** Its peer is told, for that is what destroying it does. */
    @Test
    void shouldDestroyTheIdOfARequestThatCannotBeCopied() {
        try (EventChannel channel = EventChannel.create(manager);
                CmId listener = channel.createId(PortSpace.TCP)) {
            manager.queuePairType = NO_TYPE;
            long request = manager.makeId();
            manager.tell(CmEventType.CONNECT_REQUEST, request, listener.nativeAddress());
            assertThrows(IllegalArgumentException.class, channel::poll);
            assertEquals(1, manager.acknowledged);
            assertEquals(List.of(request), manager.destroyed);
            assertTrue(channel.poll().isEmpty());
        }
        assertEquals(2, manager.destroyed.size());
    }

    @Test
    void shouldDestroyTheIdOfARequestWhoseListenerIsClosed() {
        try (EventChannel channel = EventChannel.create(manager)) {
            CmId listener = channel.createId(PortSpace.TCP);
            long request = manager.makeId();
            manager.tell(CmEventType.CONNECT_REQUEST, request, listener.nativeAddress());
            listener.close();
            assertTrue(channel.poll().isEmpty());
            assertEquals(manager.ids, List.copyOf(manager.destroyed));
        }
    }

    @Test
    void shouldLeaveAnIdWhereItWasWhenItCannotMove() {
        try (EventChannel channel = EventChannel.create(manager);
                EventChannel other = EventChannel.create(manager)) {
            CmId id = channel.createId(PortSpace.TCP);
            manager.migrating = -Errno.EMFILE;
            assertThrows(ConnectionException.class, () -> id.migrate(other));
            assertSame(channel, id.channel());
            other.close();
            assertTrue(id.isOpen());
            assertThrows(ConnectionException.class, () -> id.migrate(channel));
            manager.migrating = 0;
            id.migrate(channel);
            channel.close();
            assertEquals(manager.ids, manager.destroyed);
        }
    }

    @Test
    void shouldCloseAnIdWithTheChannelThatItMovedTo() {
        try (EventChannel channel = EventChannel.create(manager)) {
            CmId id = channel.createId(PortSpace.TCP);
            try (EventChannel other = EventChannel.create(manager)) {
                id.migrate(other);
                channel.close();
                assertTrue(id.isOpen());
            }
            assertEquals(manager.ids, manager.destroyed);
        }
        assertTrue(manager.channels.isEmpty());
    }

    /** That the device is gone is the end for one that listens at its address, and for nobody else. */
    @Test
    void shouldEndAWaitForRequestsOnlyWithTheListenersOwnDevice() throws Exception {
        try (SynchronousId listener = SynchronousId.create(manager, PortSpace.TCP)) {
            long own = listener.id().nativeAddress();
            long request = manager.makeId();
            manager.bind(request);
            manager.tell(CmEventType.CONNECT_REQUEST, request, own);
            CmId taken = listener.awaitRequest(Duration.ZERO).orElseThrow().id();
            manager.tell(CmEventType.DEVICE_REMOVAL, request, 0);
            // Kernels before 5.10 tell a listener at all addresses of each device that goes.
            manager.tell(CmEventType.DEVICE_REMOVAL, own, 0);
            assertEquals(Optional.empty(), listener.awaitRequest(Duration.ZERO));
            assertEquals(3, manager.acknowledged);
            assertTrue(taken.isOpen(), "it is for its owner to answer it");
            listener.id().bind(new InetSocketAddress("127.0.0.1", 1));
            manager.tell(CmEventType.DEVICE_REMOVAL, own, 0);
            ConnectionException gone =
                    assertThrows(ConnectionException.class, () -> listener.awaitRequest(Duration.ZERO));
            assertEquals("ENODEV", gone.errnoName());
        }
    }
}
