package org.rdmapanama.cm;

import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.LogManager;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.Descriptors;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.testing.Lab;

/** A program that has hardly any file descriptors, in a process of its own. It ends well, or says what is wrong. */
@SuppressWarnings({"try", "CheckReturnValue"}) // some are only there
final class FewDescriptors {
    /** Less than a program may take. */
    private static final Duration WATCH = Duration.ofSeconds(80);

    private static final int WAITING = 4;
    private static final int ENOUGH = 60;

    private static final Duration SECONDS = Duration.ofSeconds(20);

    private FewDescriptors() {}

    /**
     * Tries the first uses of a process, lists the devices, or tries every call that opens something, or connections.
     *
     * @param arguments "first", "list", or "open" or "connect" and a port
     */
    public static void main(String... arguments) throws Exception {
        Thread.ofPlatform().daemon().start(FewDescriptors::watch);
        for (Class<?> each : List.of(NativeLibrary.class, Device.class, CmId.class, FewDescriptors.class)) {
            Descriptors.loadClasses(each);
        }
        try {
            Descriptors.loadClasses(Class.forName(
                    "org.rdmapanama.soft.provider.SoftProvider", false, FewDescriptors.class.getClassLoader()));
        } catch (ClassNotFoundException none) {
            System.out.println("without soft0");
        }
        LogManager.getLogger(FewDescriptors.class).trace("loaded");
        switch (arguments[0]) {
            case "first" -> first();
            case "list" -> list();
            case "open" -> open(Integer.parseInt(arguments[1]));
            default -> connect(Integer.parseInt(arguments[1]));
        }
        System.out.println("done");
        System.exit(0);
    }

    /** Says what hangs. */
    private static void watch() {
        try {
            Thread.sleep(WATCH);
        } catch (InterruptedException e) {
            return;
        }
        for (Map.Entry<Thread, StackTraceElement[]> each :
                Thread.getAllStackTraces().entrySet()) {
            System.out.println(each.getKey());
            for (StackTraceElement frame : each.getValue()) {
                System.out.println("    " + frame);
            }
        }
        Runtime.getRuntime().halt(1);
    }

    private static boolean isClear(Throwable e) {
        return (e instanceof VerbsException failure
                        && failure.errnoName().equals("EMFILE")
                        && failure.getMessage().contains("ulimit -n"))
                || (e instanceof UncheckedIOException io
                        && (io.getMessage().contains("ulimit -n")
                                || io.getMessage().contains("Too many open files")));
    }

    /** What fails at first is not remembered by anybody. */
    private static void first() throws Exception {
        // The JDK reads a file before the first one, and when that fails, there can never be any.
        InetSocketAddress any = new InetSocketAddress(0);
        InetSocketAddress nobody = new InetSocketAddress("127.0.0.1", 7);
        for (int left : new int[] {0, 1, 2, 4, 8, 15}) {
            try (Descriptors few = Descriptors.leave(left);
                    VerbsArena arena = VerbsArena.ofConfined()) {
                assertClear("listing the devices", DeviceList::query);
                assertClear("opening a device", () -> Context.open(arena));
                assertClear("an event channel", EventChannel::create);
                assertClear("an id", () -> SynchronousId.create(PortSpace.TCP));
                assertClear("listing devices with librdmacm", RdmaDevices::names);
                assertClear("an address", () -> AddressInfo.resolve("127.0.0.1", "7", new AddressInfoOptions()));
                assertClear("a server", () -> RdmaServer.listen(arena, any));
                assertClear("a client", () -> new RdmaClient(arena).connect(nobody, Duration.ofSeconds(1)));
            }
        }
        System.out.println("devices " + DeviceList.query());
        try (EventChannel channel = EventChannel.create()) {
            System.out.println("channel " + channel);
        }
        System.out.println("of the connection manager " + RdmaDevices.names());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            System.out.println("opened " + Context.open(arena));
        }
    }

    private static void list() {
        try {
            System.out.println("devices " + DeviceList.query());
        } catch (VerbsException e) {
            System.out.println("no devices: " + e.getMessage());
        }
        try (EventChannel channel = EventChannel.create()) {
            System.out.println("channel " + channel);
        } catch (ConnectionException e) {
            System.out.println("no channel: " + e.getMessage());
        }
    }

    /** Something that fails. */
    @FunctionalInterface
    private interface Failing {
        Object run() throws Exception;
    }

    private static void assertClear(String name, Failing call) {
        Object result;
        try {
            result = call.run();
        } catch (Throwable e) {
            if (isClear(e)) {
                return;
            }
            throw new AssertionError(name + " says " + e, e);
        }
        throw new AssertionError(name + " is there: " + result);
    }

    private static void open(int port) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(port), options());
                EventChannel channel = EventChannel.create()) {
            // All is used once before, also what goes wrong.
            waitInSeveralThreads();
            connectAndAccept(server, port, ENOUGH);
            RdmaDevices.names();
            selectable().close();
            try (CmId id = channel.createId(PortSpace.TCP)) {
                id.bind(new InetSocketAddress("192.0.2.1", 0));
            } catch (ConnectionException e) {
                System.out.println("as it should be: " + e.getMessage());
            }
            exhaust("listing the devices", () -> {
                DeviceList.query();
                return null;
            });
            exhaust("opening a device", () -> opened(Optional.empty()));
            exhaust("opening a device by name", () -> opened(Optional.of(Lab.FIRST_DEVICE)));
            exhaust("listing devices with the connection manager", () -> {
                RdmaDevices.names();
                return null;
            });
            exhaust("an address", () -> {
                AddressInfo.resolve(Lab.SECOND_HOST, Integer.toString(port), new AddressInfoOptions());
                return null;
            });
            AddressInfo passive = AddressInfo.resolve(Lab.SECOND_HOST, "0", new AddressInfoOptions().passive(true))
                    .getFirst();
            exhaust("an event channel", EventChannel::create);
            exhaust("an id", () -> channel.createId(PortSpace.TCP));
            exhaust("an endpoint", () -> channel.createEndpoint(passive));
            exhaust("a bound id", () -> bound(channel, Lab.second(0)));
            exhaust("an id with a channel", () -> SynchronousId.create(PortSpace.TCP));
            exhaust("a channel for selectors", FewDescriptors::selectable);
            exhaust("a server", () -> RdmaServer.listen(arena, Lab.second(0)));
            exhaust("a server at all addresses", () -> RdmaServer.listen(arena, new InetSocketAddress(0)));
            exhaust("a resolved address", () -> {
                try (SynchronousId id = SynchronousId.create(PortSpace.TCP)) {
                    id.resolve(Lab.first(0), Lab.second(port), SECONDS);
                }
                return null;
            });
        }
    }

    private static void connect(int port) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(port), options())) {
            waitInSeveralThreads();
            connectAndAccept(server, port, ENOUGH);
            int needed = -1;
            for (int left = 0; needed < 0; left++) {
                needed = connectAndAccept(server, port, left) ? left : -1;
            }
            System.out.println("accepting needs " + needed);
            rejectWithNothing(server, port);
            acceptWithNothing(server, port);
            connectClients(arena, server, port);
        }
    }

    /** Threads that wait at the same time have a descriptor each, which later ones use again. */
    private static void waitInSeveralThreads() throws Exception {
        try (EventChannel channel = EventChannel.create()) {
            List<FutureTask<Optional<CmEvent>>> waits = new ArrayList<>();
            for (int i = 0; i < WAITING; i++) {
                FutureTask<Optional<CmEvent>> wait = new FutureTask<>(() -> channel.await(Duration.ofSeconds(1)));
                waits.add(wait);
                Thread.ofPlatform().start(wait);
            }
            for (FutureTask<Optional<CmEvent>> each : waits) {
                each.get(60, TimeUnit.SECONDS);
            }
        }
    }

    private static void exhaust(String name, Descriptors.Call call) throws Exception {
        System.out.println(name + " needs " + Descriptors.exhaust(name, FewDescriptors::isClear, call));
    }

    private static AutoCloseable opened(Optional<String> name) {
        VerbsArena arena = VerbsArena.ofConfined();
        try {
            if (name.isPresent()) {
                Context.open(arena, name.get());
            } else {
                Context.open(arena);
            }
            return arena;
        } catch (RuntimeException | Error e) {
            arena.close();
            throw e;
        }
    }

    private static CmId bound(EventChannel channel, InetSocketAddress address) {
        CmId id = channel.createId(PortSpace.TCP);
        try {
            id.bind(address);
            id.listen(1);
            return id;
        } catch (RuntimeException | Error e) {
            id.close();
            throw e;
        }
    }

    private static AutoCloseable selectable() {
        EventChannel channel = EventChannel.create();
        try {
            channel.selectableChannel();
            return channel;
        } catch (RuntimeException | Error e) {
            channel.close();
            throw e;
        }
    }

    /** A peer that asks for a connection: the answer that it gets. It needs no descriptors while it asks. */
    private static final class Asking implements AutoCloseable {
        private final EventChannel channel = EventChannel.create();
        private final CmId id = channel.createId(PortSpace.TCP);

        Asking(int port) throws InterruptedException {
            TwoIds.resolve(channel, id, port);
            id.connect(TwoIds.parameters());
        }

        CmEventType answer() throws InterruptedException {
            CmEvent event = channel.await(SECONDS).orElseThrow(() -> new AssertionError("there is no answer"));
            if (event.type() == CmEventType.CONNECT_RESPONSE) {
                id.establish();
            }
            return event.type();
        }

        @Override
        public void close() {
            channel.close();
        }
    }

    /** Whether the server could accept with so many left; otherwise the client is rejected, and nothing is left. */
    private static boolean connectAndAccept(RdmaServer server, int port, int left) throws Exception {
        List<String> before = Descriptors.open();
        boolean accepted;
        try (Asking client = new Asking(port)) {
            FutureTask<CmEventType> answer = new FutureTask<>(client::answer);
            try (Descriptors few = Descriptors.leave(left)) {
                Thread.ofPlatform().start(answer);
                accepted = accept(server);
                CmEventType type = answer.get(60, TimeUnit.SECONDS);
                if (type != (accepted ? CmEventType.CONNECT_RESPONSE : CmEventType.REJECTED)) {
                    throw new AssertionError("with " + left + " left the client is told " + type);
                }
            }
        }
        // The first time, devices are opened that stay so.
        if (left < ENOUGH) {
            Descriptors.assertSame(before, "accepting with " + left + " descriptors left");
        }
        return accepted;
    }

    private static RdmaServerOptions options() {
        return new RdmaServerOptions()
                .connections(new RdmaConnectionOptions()
                        .sendWorkRequests(2)
                        .receiveWorkRequests(2)
                        .completionEvents(true));
    }

    private static boolean accept(RdmaServer server) throws InterruptedException {
        try {
            server.accept(SECONDS).orElseThrow().close();
            return true;
        } catch (VerbsException e) {
            if (!isClear(e)) {
                throw e;
            }
            return false;
        }
    }

    /** Rejecting needs none. */
    private static void rejectWithNothing(RdmaServer server, int port) throws Exception {
        try (Asking client = new Asking(port)) {
            try (Descriptors none = Descriptors.leave(0)) {
                server.awaitRequest(SECONDS).orElseThrow().reject();
                if (client.answer() != CmEventType.REJECTED) {
                    throw new AssertionError("not rejected");
                }
            }
        }
    }

    /** A caller that holds the request need not reject it. */
    private static void acceptWithNothing(RdmaServer server, int port) throws Exception {
        if (!Lab.isInLab()) {
            return; // Channels of soft0 are no files: nothing fails.
        }
        // The channel of the completions is what takes a descriptor.
        RdmaConnectionOptions options = new RdmaConnectionOptions().completionEvents(true);
        try (Asking client = new Asking(port)) {
            ConnectionRequest request = server.awaitRequest(SECONDS).orElseThrow();
            try (Descriptors none = Descriptors.leave(0)) {
                assertClear("accepting", () -> request.accept(options, SECONDS));
                if (client.answer() != CmEventType.REJECTED) {
                    throw new AssertionError("not rejected");
                }
            }
            try {
                request.accept(options, SECONDS);
                throw new AssertionError("accepted after it was rejected");
            } catch (IllegalStateException answered) {
                // By the first attempt.
            }
        }
    }

    /** Both sides together: each attempt ends soon, with a connection or for a reason that says so. */
    private static void connectClients(VerbsArena arena, RdmaServer server, int port) throws Exception {
        for (int left = 0; ; left++) {
            List<String> before = Descriptors.open();
            try (Descriptors few = Descriptors.leave(left)) {
                FutureTask<Void> serving = new FutureTask<>(() -> {
                    while (true) {
                        accept(server);
                    }
                });
                Thread thread = Thread.ofPlatform().start(serving);
                try (RdmaConnection connection = new RdmaClient(arena)
                        .connect(
                                Lab.second(port),
                                new RdmaConnectionOptions()
                                        .localAddress(Lab.first(0))
                                        .completionEvents(true),
                                SECONDS)) {
                    System.out.println("connecting and accepting needs " + left);
                    return;
                } catch (RejectedException byTheServer) {
                    // It says why there.
                } catch (VerbsException e) {
                    if (!isClear(e)) {
                        throw e;
                    }
                } finally {
                    thread.interrupt();
                    assertInterrupted(serving);
                }
            }
            Descriptors.assertSame(before, "connecting with " + left + " descriptors left");
        }
    }

    private static void assertInterrupted(FutureTask<Void> serving) throws Exception {
        try {
            serving.get(60, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof InterruptedException)) {
                throw e;
            }
        }
    }
}
