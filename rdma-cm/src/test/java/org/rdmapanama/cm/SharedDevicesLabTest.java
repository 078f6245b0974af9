package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.Descriptors;
import org.rdmapanama.testing.Lab;

/** The devices of an arena, which its clients and servers share. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are closed earlier
class SharedDevicesLabTest {
    private static final int PORT = 7571;
    private static final int ROUNDS = 4;
    private static final int COLLECTIONS = 200;

    /** A client and a server that are connected. */
    private record Two(RdmaConnection left, RdmaConnection right) implements AutoCloseable {
        static Two connect(VerbsArena arena, VerbsArena serverArena, ProtectionDomain domain) throws Exception {
            try (RdmaServer server = RdmaServer.listen(serverArena, Lab.second(PORT))) {
                FutureTask<RdmaConnection> accepting =
                        new FutureTask<>(() -> server.accept(Lab.SECONDS).orElseThrow());
                Thread.ofPlatform().start(accepting);
                RdmaConnectionOptions options =
                        new RdmaConnectionOptions().localAddress(Lab.first(0)).protectionDomain(domain);
                return new Two(
                        new RdmaClient(arena).connect(Lab.second(PORT), options, Lab.SECONDS),
                        accepting.get(60, TimeUnit.SECONDS));
            }
        }

        @Override
        public void close() {
            left.close();
            right.close();
        }
    }

    /** Connects by a client of its own, and closes both sides; the protection domains that they had. */
    private static List<ProtectionDomain> connectOnce(VerbsArena arena, VerbsArena serverArena) throws Exception {
        try (Two two = Two.connect(arena, serverArena, null)) {
            return List.of(two.left.protectionDomain(), two.right.protectionDomain());
        }
    }

    @Test
    void shouldOpenADeviceAgainThatWasRemovedWhileItIsUsed() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                VerbsArena serverArena = VerbsArena.ofShared();
                Two two = Two.connect(arena, serverArena, null)) {
            ProtectionDomain removed = two.left.protectionDomain();
            Devices.removed(two.left.id().nativeDevice());
            Devices.closeAllRemoved();
            assertTrue(removed.isOpen(), "a connection uses it");
            ProtectionDomain next;
            try (Two after = Two.connect(arena, serverArena, null)) {
                next = after.left.protectionDomain();
                assertNotSame(removed.context(), next.context());
                assertTrue(removed.isOpen(), "a connection uses it");
                two.close();
                assertFalse(removed.isOpen(), "nobody uses it any more");
                assertTrue(next.isOpen());
            }
            assertSame(next, connectOnce(arena, serverArena).getFirst());
        }
    }

    @Test
    void shouldKeepARemovedDeviceForAConnectionOfAnotherArena() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                VerbsArena other = VerbsArena.ofShared();
                VerbsArena serverArena = VerbsArena.ofShared();
                Two two = Two.connect(arena, serverArena, null)) {
            ProtectionDomain domain = two.left.protectionDomain();
            ProtectionDomain own = domain.context().allocateProtectionDomain();
            try (Two guest = Two.connect(other, serverArena, domain);
                    Two stranger = Two.connect(other, serverArena, own)) {
                assertSame(domain, guest.left.protectionDomain());
                Devices.removed(guest.left.id().nativeDevice());
                two.close();
                assertTrue(guest.left.queuePair().isOpen(), "closed under a connection");
                guest.close();
                assertTrue(stranger.left.queuePair().isOpen(), "closed under a connection");
            }
            assertFalse(domain.isOpen(), "nobody uses it any more");
        }
    }

    @Test
    void shouldOpenADeviceOnceForAllClientsAndServersOfAnArena() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            List<ProtectionDomain> first = connectOnce(arena, arena);
            int open = Descriptors.open().size();
            for (int i = 0; i < ROUNDS; i++) {
                assertEquals(first, connectOnce(arena, arena));
                assertEquals(open, Descriptors.open().size(), () -> "open are " + Descriptors.open());
            }
            if (!Lab.isInLab()) {
                assertSame(first.getFirst(), first.getLast(), "it is one device");
            }
        }
    }

    @Test
    void shouldGiveEachArenaItsOwn() throws Exception {
        try (VerbsArena shared = VerbsArena.ofShared();
                VerbsArena confined = VerbsArena.ofConfined()) {
            List<ProtectionDomain> first = connectOnce(shared, shared);
            List<ProtectionDomain> second = connectOnce(confined, shared);
            assertNotSame(first.getFirst(), second.getFirst());
            assertSame(first.getLast(), second.getLast());
            assertSame(second.getFirst(), connectOnce(confined, shared).getFirst());
        }
    }

    @Test
    void shouldOpenADeviceAgainThatSomebodyClosed() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Context closed = connectOnce(arena, arena).getFirst().context();
            closed.close();
            ProtectionDomain again = connectOnce(arena, arena).getFirst();
            assertTrue(again.isOpen());
            assertNotSame(closed, again.context());
            assertSame(again, connectOnce(arena, arena).getFirst());
            again.close();
            ProtectionDomain third = connectOnce(arena, arena).getFirst();
            assertNotSame(again, third);
            assertSame(again.context(), third.context());
        }
    }

    /** Nobody uses it, but that is no reason to close it: others may have registered memory there. */
    @Test
    void shouldKeepADeviceThatIsThereUntilItsArenaCloses() throws Exception {
        ProtectionDomain domain;
        try (VerbsArena arena = VerbsArena.ofShared()) {
            domain = connectOnce(arena, arena).getFirst();
            assertTrue(domain.isOpen());
        }
        assertFalse(domain.isOpen());
    }

    @Test
    void shouldNotKeepArenasThatAreClosed() throws Exception {
        List<WeakReference<VerbsArena>> closed = new ArrayList<>();
        try (VerbsArena serverArena = VerbsArena.ofShared()) {
            for (int i = 0; i < ROUNDS; i++) {
                VerbsArena arena = VerbsArena.ofShared();
                connectOnce(arena, serverArena);
                arena.close();
                closed.add(new WeakReference<>(arena));
            }
        }
        for (WeakReference<VerbsArena> each : closed) {
            for (int tries = 0; each.get() != null && tries < COLLECTIONS; tries++) {
                System.gc();
                Thread.sleep(10);
            }
            assertNull(each.get());
        }
    }
}
