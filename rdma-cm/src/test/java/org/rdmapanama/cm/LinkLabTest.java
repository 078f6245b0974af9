package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.NeedsVirtualMachine;

/** Interfaces that go down and come up again, and devices that are taken away. */
@Tag("lab")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are closed earlier
@NeedsVirtualMachine("a librdmacm that survives the end of devices: with one processor, its lock once stayed taken")
class LinkLabTest {
    @BeforeEach
    void needsTheKernel() {
        Lab.assumeInLab("the links are of the lab");
    }

    private static final int PORT = 7531;

    /** Nothing here takes much longer than it is given. */
    private static final Duration SOON = Duration.ofSeconds(15);

    private static final Path SYN_RETRIES = Path.of("/proc/sys/net/ipv4/tcp_syn_retries");

    /** A transport that soon gives up: three times after 67 milliseconds. */
    private static RdmaConnectionOptions options() {
        return new RdmaConnectionOptions()
                .completionEvents(true)
                .sendWorkRequests(4)
                .receiveWorkRequests(4)
                .parameters(new ConnectionParameters().retryCount(2))
                .prepare(connection -> connection.id().acknowledgeTimeout(14));
    }

    private static RdmaConnection connect(
            VerbsArena arena, InetSocketAddress local, InetSocketAddress remote, Duration timeout)
            throws InterruptedException {
        return new RdmaClient(arena).connect(remote, options().localAddress(local), timeout);
    }

    private static RdmaServer listen(VerbsArena arena, InetSocketAddress local) {
        return RdmaServer.listen(arena, local, new RdmaServerOptions().connections(options()));
    }

    private static FutureTask<RdmaConnection> accepting(RdmaServer server) {
        FutureTask<RdmaConnection> accepting =
                new FutureTask<>(() -> server.accept(Lab.PATIENCE).orElseThrow());
        Thread.ofPlatform().start(accepting);
        return accepting;
    }

    private static void assertSoon(long start) {
        long nanos = System.nanoTime() - start;
        assertTrue(nanos < SOON.toNanos(), () -> Duration.ofNanos(nanos).toString());
    }

    /** What becomes of a message. */
    private static Optional<CompletionStatus> send(VerbsArena arena, RdmaConnection connection) throws Exception {
        try (MemoryRegion region = connection.protectionDomain().register(arena.allocate(64))) {
            SendWorkRequest send = SendWorkRequest.allocate(arena, 1).send().signaled(true);
            connection.queuePair().postSend(send.add(region, 0, 64));
            WorkCompletions completions = new WorkCompletions(arena, 1);
            int count = connection.sendQueue().await(completions, Bound.USUAL);
            return count == 0 ? Optional.empty() : Optional.of(completions.status(0));
        }
    }

    /** The word of the end may not get out. */
    private static void assertEndsSoon(RdmaConnection connection) throws InterruptedException {
        long start = System.nanoTime();
        try {
            connection.disconnect(Duration.ofSeconds(1));
        } catch (ConnectionException e) {
            assertEquals("ETIMEDOUT", e.errnoName(), e::getMessage);
        }
        assertFalse(connection.isConnected());
        assertSoon(start);
    }

    private static void assertUnreachable(VerbsArena arena, InetSocketAddress local, InetSocketAddress remote) {
        long start = System.nanoTime();
        ConnectionException exception =
                assertThrows(ConnectionException.class, () -> connect(arena, local, remote, Duration.ofSeconds(2)));
        assertEquals("rdma_resolve_addr", exception.verb());
        assertTrue(Set.of("ENETUNREACH", "EHOSTUNREACH").contains(exception.errnoName()), exception::getMessage);
        assertSoon(start);
    }

    private static void assertPortError(Context context) throws InterruptedException {
        AsyncEvent event = context.awaitAsyncEvent(Lab.SECONDS).orElseThrow();
        assertEquals(AsyncEventType.PORT_ERR, event.type());
        assertEquals(1, event.port());
        assertSame(context, event.source());
    }

    private static void assertConnects(VerbsArena arena, RdmaServer server, VethPair wire) throws Exception {
        FutureTask<RdmaConnection> accepting = accepting(server);
        try (RdmaConnection left = connect(arena, wire.left(0), wire.right(PORT), Lab.PATIENCE);
                RdmaConnection right = accepting.get(60, TimeUnit.SECONDS)) {
            assertTrue(right.isConnected());
            left.close();
            assertTrue(right.awaitDisconnect(Lab.SECONDS));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"rxe", "siw"})
    void shouldNotHangWhileAnInterfaceIsDown(String type) throws Exception {
        List<String> before = Lab.resources();
        try (VethPair wire = VethPair.add(type)) {
            try (VerbsArena arena = VerbsArena.ofShared();
                    RdmaServer server = listen(arena, wire.right(PORT))) {
                FutureTask<RdmaConnection> accepting = accepting(server);
                try (RdmaConnection left = connect(arena, wire.left(0), wire.right(PORT), Lab.PATIENCE);
                        RdmaConnection right = accepting.get(60, TimeUnit.SECONDS)) {
                    wire.down();
                    assertPortError(left.queuePair().context());
                    if (type.equals("rxe")) {
                        assertTrue(left.isConnected(), "nobody tells");
                        CompletionStatus status = send(arena, left).orElseThrow();
                        assertTrue(
                                Set.of(CompletionStatus.LOC_QP_OP_ERR, CompletionStatus.RETRY_EXC_ERR)
                                        .contains(status),
                                status::toString);
                        assertEquals(Optional.of(CompletionStatus.RETRY_EXC_ERR), send(arena, right));
                    } else {
                        // The kernel ends all connections of an interface that goes down.
                        assertTrue(left.awaitDisconnect(Lab.SECONDS));
                        // On the other side they are those of TCP, which tries for long.
                        assertEquals(Optional.of(CompletionStatus.SUCCESS), send(arena, right));
                    }
                    // Nobody tells but the completion of a send.
                    assertEquals(!type.equals("rxe"), right.isConnected());
                    assertUnreachable(arena, wire.left(0), wire.right(PORT));
                    wire.up();
                }
                assertConnects(arena, server, wire);
            }
        }
        Lab.assertNothingLeft(before);
    }

    /** As above, but the connection ends while it is down. On Soft-RoCE a device that then has to tell is of no use later. */
    @ParameterizedTest
    @ValueSource(strings = {"rxe", "siw"})
    void shouldEndConnectionsOfAnInterfaceThatIsDown(String type) throws Exception {
        List<String> before = Lab.resources();
        String retries = Files.readString(SYN_RETRIES);
        try (VethPair wire = VethPair.add(type)) {
            try (VerbsArena arena = VerbsArena.ofShared();
                    RdmaServer server = listen(arena, wire.right(PORT))) {
                FutureTask<RdmaConnection> accepting = accepting(server);
                try (RdmaConnection left = connect(arena, wire.left(0), wire.right(PORT), Lab.PATIENCE);
                        RdmaConnection right = accepting.get(60, TimeUnit.SECONDS)) {
                    wire.down();
                    assertEndsSoon(left);
                    assertEndsSoon(right);
                }
                // siw connects with TCP inside of rdma_connect, and waits there as long as TCP does.
                Files.writeString(SYN_RETRIES, "1");
                long start = System.nanoTime();
                assertThrows(
                        ConnectionException.class,
                        () -> connect(arena, wire.right(0), wire.left(PORT), Duration.ofSeconds(2)));
                assertSoon(start);
            }
        } finally {
            restore(retries);
        }
        Lab.assertNothingLeft(before);
    }

    private static void restore(String retries) throws IOException {
        Files.writeString(SYN_RETRIES, retries);
    }

    /** These drivers have who takes a device away wait until nobody has it open. */
    @ParameterizedTest
    @ValueSource(strings = {"rxe", "siw"})
    void shouldTellThatADeviceGoesAwayAndLetItGo(String type) throws Exception {
        List<String> before = Lab.resources();
        try (VethPair wire = VethPair.add(type)) {
            Process removal;
            try (VerbsArena arena = VerbsArena.ofShared();
                    RdmaServer server = listen(arena, wire.right(PORT));
                    RdmaServer removed = listen(arena, wire.left(PORT));
                    EventChannel channel = EventChannel.create()) {
                CmId bound = channel.createId(PortSpace.TCP);
                bound.bind(wire.left(0));
                FutureTask<RdmaConnection> accepting = accepting(server);
                try (RdmaConnection left = connect(arena, wire.left(0), wire.right(PORT), Lab.PATIENCE);
                        RdmaConnection right = accepting.get(60, TimeUnit.SECONDS)) {
                    Context context = left.queuePair().context();
                    assertTrue(RdmaDevices.names().contains(wire.leftDevice()));
                    removal = VethPair.remove(wire.leftDevice());
                    CmEvent event = CmEvents.await(channel, CmEventType.DEVICE_REMOVAL);
                    assertSame(bound, event.id());
                    assertEquals(0, event.status());
                    assertTrue(left.awaitDisconnect(Lab.SECONDS));
                    assertFalse(left.isConnected());
                    ConnectionException exception =
                            assertThrows(ConnectionException.class, () -> removed.awaitRequest(Lab.SECONDS));
                    assertEquals("ENODEV", exception.errnoName());
                    assertEquals(CmEventType.DEVICE_REMOVAL, exception.event());
                    // The peer is told, too.
                    assertTrue(right.awaitDisconnect(Lab.SECONDS));
                    assertFalse(RdmaDevices.names().contains(wire.leftDevice()));
                    // The device itself says nothing, because the kernel does not cut these drivers' users off.
                    assertEquals(Optional.empty(), context.awaitAsyncEvent(Duration.ofMillis(200)));
                    assertThrows(ConnectionException.class, () -> bound.listen(1), "the kernel has ended the id");
                    bound.close();
                }
                // It goes with the last id.
                removed.close();
                // Nobody has to ask librdmacm for it: it was, when the event came. Nor has the arena it open any more,
                // whose
                // last connection there is closed.
                VethPair.assertRemoved(removal);
                assertEquals(0, removal.exitValue());
                assertThrows(
                        ConnectionException.class,
                        () -> connect(arena, wire.left(0), wire.right(PORT), Duration.ofSeconds(2)));
                wire.addAgain(wire.left);
                assertConnects(arena, server, wire);
            }
        }
        Lab.assertNothingLeft(before);
    }

    /** Of an end that waits in the channel until the device has gone: there is nobody left to answer it. */
    @ParameterizedTest
    @ValueSource(strings = {"rxe", "siw"})
    void shouldNoticeAnEndOfWhichNoAnswerIsPossibleAnyMore(String type) throws Exception {
        List<String> before = Lab.resources();
        try (VethPair wire = VethPair.add(type)) {
            Process removal;
            try (VerbsArena arena = VerbsArena.ofShared();
                    RdmaServer server = listen(arena, wire.right(PORT));
                    EventChannel channel = EventChannel.create();
                    Selector selector = Selector.open()) {
                channel.createId(PortSpace.TCP).bind(wire.right(0));
                FutureTask<RdmaConnection> accepting = accepting(server);
                RdmaConnection left = connect(arena, wire.left(0), wire.right(PORT), Lab.PATIENCE);
                try (RdmaConnection right = accepting.get(60, TimeUnit.SECONDS)) {
                    left.close();
                    right.id().channel().selectableChannel().register(selector, SelectionKey.OP_READ);
                    assertEquals(1, selector.select(Lab.SECONDS.toMillis()), "the end is there");
                    removal = VethPair.remove(wire.rightDevice());
                    CmEvents.await(channel, CmEventType.DEVICE_REMOVAL);
                    assertTrue(right.awaitDisconnect(Lab.SECONDS));
                    assertFalse(right.isConnected());
                }
            }
            VethPair.assertRemoved(removal);
        }
        Lab.assertNothingLeft(before);
    }

    /** One of its devices goes away, while a request that came through it waits for its answer, and comes again. */
    @ParameterizedTest
    @ValueSource(strings = {"rxe", "siw"})
    void shouldListenAtAllAddressesThoughADeviceGoesAway(String type) throws Exception {
        List<String> before = Lab.resources();
        try (VethPair wire = VethPair.add(type)) {
            try (VerbsArena arena = VerbsArena.ofShared();
                    RdmaServer server = listen(arena, new InetSocketAddress(PORT))) {
                FutureTask<RdmaConnection> accepting = accepting(server);
                RdmaConnection left = connect(arena, wire.left(0), wire.right(PORT), Lab.PATIENCE);
                RdmaConnection right = accepting.get(60, TimeUnit.SECONDS);
                FutureTask<RdmaConnection> connecting =
                        new FutureTask<>(() -> connect(arena, wire.left(0), wire.right(PORT), SOON));
                Thread.ofPlatform().start(connecting);
                ConnectionRequest request = server.awaitRequest(Lab.PATIENCE).orElseThrow();
                Process removal = VethPair.remove(wire.rightDevice());
                assertTrue(right.awaitDisconnect(Lab.SECONDS));
                right.close();
                left.close();
                assertEquals(Optional.empty(), server.awaitRequest(Duration.ofSeconds(3)));
                try {
                    request.reject();
                } catch (ConnectionException e) {
                    // The kernel has ended it already.
                }
                VethPair.assertRemoved(removal);
                ExecutionException failed =
                        assertThrows(ExecutionException.class, () -> connecting.get(60, TimeUnit.SECONDS));
                assertInstanceOf(ConnectionException.class, failed.getCause());
                // The others are served, and then the one that is back.
                InetSocketAddress other = (type.equals("rxe") ? LabWire.ROCE : LabWire.IWARP).second(PORT);
                accepting = accepting(server);
                connect(arena, null, other, Lab.PATIENCE).close();
                accepting.get(60, TimeUnit.SECONDS).close();
                wire.addAgain(wire.right);
                assertConnects(arena, server, wire);
            }
        }
        Lab.assertNothingLeft(before);
    }

    @ParameterizedTest
    @ValueSource(strings = {"rxe", "siw"})
    void shouldLetGoOfADeviceThatNobodyUsesAnyMore(String type) throws Exception {
        try (VethPair wire = VethPair.add(type)) {
            try (VerbsArena arena = VerbsArena.ofShared();
                    RdmaServer server = listen(arena, wire.right(PORT))) {
                assertConnects(arena, server, wire);
                // librdmacm keeps it open for the next id, and the arena for the next connection.
                Process removal = VethPair.remove(wire.leftDevice());
                assertFalse(removal.waitFor(500, TimeUnit.MILLISECONDS), "both have it open");
                assertFalse(RdmaDevices.names().contains(wire.leftDevice()));
                VethPair.assertRemoved(removal);
                wire.addAgain(wire.left);
                assertConnects(arena, server, wire);
            }
        }
    }
}
