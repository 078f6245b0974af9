package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.waiting.Case;
import org.rdmapanama.ffm.waiting.CaseRunner;
import org.rdmapanama.ffm.waiting.Interrupts;
import org.rdmapanama.ffm.waiting.Scene;
import org.rdmapanama.ffm.waiting.Stage;
import org.rdmapanama.ffm.waiting.WaitingCall;
import org.rdmapanama.rsocket.WaitingSockets;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/**
 * Every call of this module that waits in Java, to be made by virtual threads, and some that an interrupt must not end.
 *
 * <p>Some wait in C, or in the JDK, and keep their carrier: {@link EventChannel#createEndpoint} while it resolves, {@link
 * AddressInfo#resolve} while it asks a name server, connecting and closing an id of Software iWARP, and a selector of
 * java.nio.
 */
final class WaitingCalls {
    private static final int PORT = 7631;
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final Duration LIMIT_OF_ONE = Duration.ofSeconds(60);

    /** They close what they began when they are interrupted, or have ended it already. */
    private static final Set<String> ONCE = Set.of(
            "SynchronousId.connect",
            "SynchronousId.accept",
            "ConnectionRequest.accept",
            "RdmaClient.connect",
            "RdmaConnection.disconnect");

    /** They wait for an address that nobody has. */
    private static final Set<String> NEVER_COMES = Set.of("SynchronousId.resolve");

    private WaitingCalls() {}

    public static void main(String[] arguments) {
        CaseRunner.run(cases(), LIMIT_OF_ONE, arguments);
    }

    static List<Case> cases() {
        List<WaitingCall> calls = new ArrayList<>();
        Waits.all(PORT).forEach((name, setup) -> calls.add(ofWait(name, setup)));
        calls.addAll(closing());
        calls.addAll(atOnce());
        calls.addAll(WaitingSockets.all());
        return WaitingCall.cases(calls);
    }

    private static WaitingCall ofWait(String name, Waits.Setup setup) {
        WaitingCall call = WaitingCall.interruptible(name, stage -> {
            VerbsArena arena = stage.keep(VerbsArena.ofShared());
            List<AutoCloseable> made = new ArrayList<>();
            Waits.Wait wait;
            try {
                wait = setup.make(arena, made);
            } finally {
                made.forEach(stage::keep);
            }
            Scene scene = new Scene(wait.body(), wait.release());
            if (wait.check() != null) {
                scene.checking(wait.check()::accept);
            }
            return ONCE.contains(name) || wait.release() == null ? scene.once() : scene;
        });
        return NEVER_COMES.contains(name)
                ? call.only(Interrupts.BEFORE, Interrupts.ONCE, Interrupts.AGAIN_AND_AGAIN)
                : call;
    }

    /** What others are in the middle of, and end with IllegalStateException or, where it says so, a result. */
    private static Scene close(Stage stage, AutoCloseable object, Case.Body waiting) {
        stage.start("waiting", waiting);
        return Scene.of(object::close, () -> {}).briefly();
    }

    private static List<WaitingCall> closing() {
        return List.of(
                WaitingCall.uninterruptible("EventChannel.close while others await", stage -> {
                    EventChannel channel = stage.keep(EventChannel.create());
                    // It waits in the kernel, and the channel for that.
                    Thread platform = Thread.ofPlatform()
                            .daemon()
                            .start(() -> assertThrows(IllegalStateException.class, () -> channel.await(LONG)));
                    stage.keep(() -> assertTrue(platform.join(Lab.SECONDS)));
                    return close(
                            stage, channel, () -> assertThrows(IllegalStateException.class, () -> channel.await(LONG)));
                }),
                WaitingCall.uninterruptible("CmId.close while others await", stage -> {
                    EventChannel channel = stage.keep(EventChannel.create());
                    CmId id = channel.createId(PortSpace.TCP);
                    id.resolveAddress(Lab.first(0), Lab.second(PORT), Lab.SECONDS);
                    return close(stage, id, () -> channel.await(Duration.ofMillis(100)));
                }),
                WaitingCall.uninterruptible("RdmaServer.close while others accept", stage -> {
                    VerbsArena arena = stage.keep(VerbsArena.ofShared());
                    RdmaServer server = stage.keep(RdmaServer.listen(arena, Lab.second(PORT)));
                    return close(
                            stage, server, () -> assertThrows(IllegalStateException.class, () -> server.accept(LONG)));
                }),
                WaitingCall.uninterruptible("RdmaServer.close with requests", stage -> {
                    VerbsArena arena = stage.keep(VerbsArena.ofShared());
                    RdmaServer server = stage.keep(RdmaServer.listen(arena, Lab.second(PORT)));
                    TwoIds stranger = stage.keep(TwoIds.resolved(PortSpace.TCP, PORT));
                    stranger.client.connect(TwoIds.parameters());
                    return Scene.of(server::close, () -> {})
                            .checking(nothing -> CmEvents.await(stranger.active, CmEventType.REJECTED))
                            .briefly();
                }),
                WaitingCall.uninterruptible("RdmaConnection.close while others await its end", stage -> {
                    RdmaConnection connection = connection(stage);
                    return close(stage, connection, () -> assertTrue(connection.awaitDisconnect(LONG)));
                }),
                WaitingCall.uninterruptible("Context.close with a connection", stage -> {
                    RdmaConnection connection = connection(stage);
                    return Scene.of(connection.protectionDomain().context()::close, () -> {})
                            .checking(nothing ->
                                    assertFalse(connection.queuePair().isOpen()))
                            .briefly();
                }));
    }

    private static RdmaConnection connection(Stage stage) throws Exception {
        VerbsArena arena = stage.keep(VerbsArena.ofShared());
        List<AutoCloseable> made = new ArrayList<>();
        try {
            return Waits.connection(arena, PORT, made);
        } finally {
            made.forEach(stage::keep);
        }
    }

    /** What does not wait, or in a function of C, and takes no notice of an interrupt. */
    private static List<WaitingCall> atOnce() {
        Map<String, Case.Body> bodies = new LinkedHashMap<>();
        bodies.put("AddressInfo.resolve", () -> {
            List<AddressInfo> found = AddressInfo.resolve(Lab.SECOND_HOST, "ssh", new AddressInfoOptions());
            assertEquals(22, found.getFirst().destination().getPort());
        });
        bodies.put("RdmaDevices.names", () -> assertTrue(RdmaDevices.names().contains(Lab.FIRST_DEVICE)));
        bodies.put("RdmaServer.listen", () -> {
            try (VerbsArena arena = VerbsArena.ofShared();
                    RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT))) {
                assertEquals(PORT, server.localAddress().getPort());
            }
        });
        bodies.put("EventChannel.selectableChannel", () -> {
            try (EventChannel channel = EventChannel.create()) {
                CmId id = channel.createId(PortSpace.TCP);
                assertTrue(channel.selectableChannel().isOpen());
                id.resolveAddress(Lab.first(0), Lab.second(PORT), Lab.SECONDS);
                Bound bound = Bound.of(Lab.SECONDS);
                while (channel.poll().isEmpty() && !bound.isOver()) {
                    Thread.onSpinWait();
                }
                assertTrue(channel.selectableChannel().isOpen());
                assertTrue(channel.poll().isEmpty());
            }
        });
        bodies.put("EventChannel.createEndpoint", () -> {
            AddressInfo info = AddressInfo.resolve(Lab.SECOND_HOST, Integer.toString(PORT), new AddressInfoOptions())
                    .getFirst();
            try (EventChannel channel = EventChannel.create()) {
                assertTrue(channel.createEndpoint(info).hasDevice());
            }
        });
        bodies.put("CmId", () -> {
            try (EventChannel one = EventChannel.create();
                    EventChannel other = EventChannel.create();
                    VerbsArena arena = VerbsArena.ofShared()) {
                CmId id = one.createId(PortSpace.TCP);
                id.bind(Lab.second(PORT));
                id.migrate(other);
                id.listen(1);
                assertEquals(Lab.SECOND_DEVICE, id.openContext(arena).deviceName());
            }
        });
        List<WaitingCall> calls = new ArrayList<>();
        bodies.forEach((name, body) -> calls.add(WaitingCall.uninterruptible(
                        name + " at once", stage -> Scene.of(body, () -> {}).briefly())
                .only(Interrupts.NEVER, Interrupts.BEFORE)));
        return calls;
    }
}
