package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.internal.Releasing;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.testing.Bound;

/** What becomes of ids when something fails on the way, and which events end a wait for requests. */
@SuppressWarnings({"try", "CheckReturnValue"}) // some are closed earlier
class LostIdsTest {
    private static final int NO_TYPE = 99;

    private final ScriptedConnectionManager manager = ScriptedConnectionManager.create();

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
    void shouldRejectARequestThatCannotBeAccepted() throws Exception {
        ConnectionManagers.replace(manager);
        try (VerbsArena arena = VerbsArena.ofConfined();
                RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress("127.0.0.1", 7471))) {
            long listener = manager.ids.getFirst();
            long id = manager.makeId();
            manager.tell(CmEventType.CONNECT_REQUEST, id, listener);
            ConnectionRequest request = server.awaitRequest(Duration.ZERO).orElseThrow();
            RdmaConnectionOptions options = new RdmaConnectionOptions();
            assertThrows(IllegalArgumentException.class, () -> request.accept(options, Duration.ofNanos(-1)));
            assertEquals(List.of(), manager.rejected, "it can still be answered");
            // The id has no device to make a queue pair on.
            IllegalStateException failure =
                    assertThrows(IllegalStateException.class, () -> request.accept(options, Duration.ZERO));
            assertTrue(failure.getMessage().contains("is not bound to a device"), failure::getMessage);
            assertEquals(0, failure.getSuppressed().length, failure::toString);
            assertEquals(List.of(id), manager.rejected);
            assertEquals(List.of(id), manager.destroyed);
            assertThrows(IllegalStateException.class, () -> request.accept(options, Duration.ZERO));
            assertEquals(1, manager.channels.size(), "no channel is left");
        } finally {
            ConnectionManagers.replace(null);
        }
    }

    @Test
    void shouldTryAgainToDestroyAnId() {
        try (EventChannel channel = EventChannel.create(manager)) {
            CmId id = channel.createId(PortSpace.TCP);
            manager.destroying = -Errno.ENOMEM;
            assertEquals(
                    "ENOMEM", assertThrows(ConnectionException.class, id::close).errnoName());
            assertFalse(id.isOpen());
            assertThrows(ConnectionException.class, id::close);
            manager.destroying = 0;
            id.close();
            id.close();
            assertEquals(manager.ids, manager.destroyed, "once");
        }
        assertEquals(manager.ids, manager.destroyed, "once");
        assertTrue(manager.channels.isEmpty());
    }

    @Test
    void shouldTryAgainToCloseAChannelWithIds() {
        try (EventChannel channel = EventChannel.create(manager)) {
            CmId first = channel.createId(PortSpace.TCP);
            channel.createId(PortSpace.TCP);
            manager.destroying = -Errno.ENOMEM;
            assertThrows(ConnectionException.class, first::close);
            ConnectionException failure = assertThrows(ConnectionException.class, channel::close);
            assertEquals(1, failure.getSuppressed().length, "that of the other id");
            assertEquals(1, manager.channels.size(), "it is kept for its ids");
            manager.destroying = 0;
            channel.close();
            assertEquals(Set.copyOf(manager.ids), Set.copyOf(manager.destroyed));
            assertEquals(2, manager.destroyed.size(), "each once");
            assertTrue(manager.channels.isEmpty());
        }
        assertEquals(2, manager.destroyed.size());
    }

    /** The native channel stays with its event, but nobody can take that. */
    @Test
    void shouldLeaveALoopWithAnIdThatCannotBeDestroyed() throws Exception {
        try (EventLoop loop = new EventLoop();
                EventChannel channel = EventChannel.create(manager)) {
            CmId id = channel.createId(PortSpace.TCP);
            loop.add(channel, null);
            manager.tell(CmEventType.ESTABLISHED, id.nativeAddress(), 0);
            assertEquals(1, loop.await(Duration.ofSeconds(20)));
            manager.destroying = -Errno.ENOMEM;
            assertThrows(ConnectionException.class, channel::close);
            assertEquals(0, loop.size());
            assertEquals(0, loop.await(Duration.ofMillis(100)));
            manager.destroying = 0;
            channel.close();
            assertEquals(manager.ids, manager.destroyed);
            assertTrue(manager.channels.isEmpty());
        }
    }

    @Test
    void shouldCloseAllAlsoAfterAnError() {
        List<String> closed = new ArrayList<>();
        Error again = new InternalError("for a test");
        AutoCloseable failing = () -> {
            throw again;
        };
        IllegalStateException first = new IllegalStateException("for a test");
        Releasing.after(first, failing, () -> closed.add("first"), null);
        assertEquals(List.of(again), List.of(first.getSuppressed()));
        Releasing.after(again, failing, () -> closed.add("second"));
        assertSame(
                again,
                assertThrows(InternalError.class, () -> Releasing.each(failing, failing, () -> closed.add("third"))));
        assertEquals(List.of("first", "second", "third"), closed);
    }

    /** What the library lists last is also what closes devices that are gone. */
    @Test
    void shouldListDevicesAgainWhenThatFailedAfterARemoval() throws Exception {
        try (EventChannel channel = EventChannel.create(manager)) {
            CmId id = channel.createId(PortSpace.TCP);
            for (int errno : new int[] {Errno.EMFILE, Errno.ENOMEM}) {
                manager.tell(CmEventType.DEVICE_REMOVAL, id.nativeAddress(), 0);
                manager.listing = -errno;
                manager.listings = 0;
                assertEquals(
                        CmEventType.DEVICE_REMOVAL, channel.poll().orElseThrow().type());
                assertEquals(1, manager.listings);
                pollUntilListed(channel, 2);
                manager.listing = -Errno.ENODEV;
                pollUntilListed(channel, 3);
                assertFalse(channel.await(Duration.ofMillis(250)).isPresent());
                assertEquals(3, manager.listings);
            }
        }
    }

    private void pollUntilListed(EventChannel channel, int listings) {
        Bound bound = Bound.ofSeconds(20);
        while (manager.listings < listings) {
            bound.check("it is still owed");
            assertTrue(channel.poll().isEmpty());
        }
        assertEquals(listings, manager.listings);
    }

    /** Listing them takes long, and many threads may wait in short slices. */
    @Test
    void shouldPauseBetweenListsOfDevices() {
        try (EventChannel channel = EventChannel.create(manager)) {
            CmId id = channel.createId(PortSpace.TCP);
            manager.tell(CmEventType.DEVICE_REMOVAL, id.nativeAddress(), 0);
            manager.listing = -Errno.EMFILE;
            long start = System.nanoTime();
            assertTrue(channel.poll().isPresent());
            for (int i = 0; i < 10_000; i++) {
                assertTrue(channel.poll().isEmpty());
            }
            long most = 1 + (System.nanoTime() - start) / Duration.ofMillis(50).toNanos();
            assertTrue(manager.listings <= most, () -> manager.listings + ", at most " + most);
            manager.listing = -Errno.ENODEV;
            pollUntilListed(channel, manager.listings + 1);
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

    /** A channel that waits for an id that nobody can close any more would stay. */
    @Test
    void shouldCloseAChannelAfterAClosedIdWasToMoveThere() {
        for (int which = 0; which < 2; which++) {
            try (EventChannel channel = EventChannel.create(manager);
                    EventChannel other = EventChannel.create(manager)) {
                CmId id = channel.createId(PortSpace.TCP);
                id.close();
                EventChannel target = which == 0 ? channel : other;
                assertThrows(IllegalStateException.class, () -> id.migrate(target));
            }
            assertTrue(manager.channels.isEmpty(), "no channel is left");
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
