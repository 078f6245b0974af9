package org.rdmapanama.cm;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.waiting.RandomUser;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Lab;

/**
 * A thread's random calls on servers, connections, requests, channels and ids that others use and close at the same time.
 * What comes back must be a result or one of the exceptions that the API documents.
 */
@SuppressWarnings("CheckReturnValue") // objects that are only there
final class ConnectionsUser extends RandomUser<ConnectionsUser> {
    private static final int BYTES = 256;
    private static final Duration SHORT = Duration.ofMillis(2);
    private static final Duration CONNECTING = Duration.ofMillis(150);

    private static final List<Action<ConnectionsUser>> ACTIONS = weighted(
            new Action<>("listen", 6, ConnectionsUser::listen),
            new Action<>("RdmaServer.accept", 20, ConnectionsUser::acceptNext),
            new Action<>("RdmaServer.awaitRequest", 12, ConnectionsUser::awaitRequest),
            new Action<>("ConnectionRequest.accept", 10, ConnectionsUser::accept),
            new Action<>("ConnectionRequest.reject", 4, ConnectionsUser::reject),
            new Action<>("forget a request", 1, ConnectionsUser::forgetRequest),
            new Action<>("RdmaServer.close", 1, ConnectionsUser::closeServer),
            new Action<>("RdmaClient.connect", 20, ConnectionsUser::connect),
            new Action<>("post", 20, ConnectionsUser::post),
            new Action<>("register", 4, ConnectionsUser::register),
            new Action<>("RdmaConnection.isConnected", 8, ConnectionsUser::isConnected),
            new Action<>("RdmaConnection.awaitDisconnect", 10, ConnectionsUser::awaitDisconnect),
            new Action<>("RdmaConnection.disconnect", 6, ConnectionsUser::disconnect),
            new Action<>("RdmaConnection.close", 6, ConnectionsUser::closeConnection),
            new Action<>("EventChannel.create", 2, ConnectionsUser::makeChannel),
            new Action<>("EventChannel.await", 14, ConnectionsUser::awaitEvent),
            new Action<>("EventChannel.selectableChannel", 1, ConnectionsUser::selectableChannel),
            new Action<>("EventChannel.close", 1, ConnectionsUser::closeChannel),
            new Action<>("createId", 6, ConnectionsUser::makeId),
            new Action<>("resolve", 10, ConnectionsUser::resolve),
            new Action<>("CmId.connect", 6, ConnectionsUser::connectId),
            new Action<>("CmId.disconnect", 2, ConnectionsUser::disconnectId),
            new Action<>("CmId.migrate", 4, ConnectionsUser::migrate),
            new Action<>("CmId.close", 2, ConnectionsUser::closeId),
            new Action<>("interrupt", 4, ConnectionsUser::interruptAny));

    private final ConnectionsWorld world;
    private final WorkCompletions completions;
    private final SendWorkRequest send;
    private final ReceiveWorkRequest receive;

    /**
     * Made before its thread is.
     *
     * @param threads those that it interrupts now and then
     */
    ConnectionsUser(ConnectionsWorld world, Random random, List<Thread> threads) {
        super(ACTIONS, random, threads);
        this.world = world;
        completions = new WorkCompletions(world.arena, 8);
        send = SendWorkRequest.allocate(world.arena, 2);
        receive = ReceiveWorkRequest.allocate(world.arena, 2);
    }

    @Override
    protected ConnectionsUser self() {
        return this;
    }

    @Override
    protected boolean isExpected(Action<ConnectionsUser> action, Exception e) {
        return switch (e) {
            case InterruptedException interrupted -> true;
            // Closed, in a state in which that cannot be.
            case IllegalStateException state -> state.getClass() == IllegalStateException.class;
            // A queue pair in another state.
            case IllegalArgumentException wrong -> wrong.getClass() == IllegalArgumentException.class;
            case ConnectionException failed -> isExpected(failed.errno());
            case VerbsException failed -> failed.errno() == Errno.EINVAL;
            default -> false;
        };
    }

    /** Nobody listens, nobody answers, somebody has ended it, or this is the wrong moment. */
    private static boolean isExpected(int errno) {
        return errno == Errno.ETIMEDOUT
                || errno == Errno.ECONNREFUSED
                || errno == Errno.ECONNRESET
                || errno == Errno.EADDRINUSE
                || errno == Errno.EINVAL;
    }

    private RdmaServer server() {
        return there(ConnectionsWorld.any(world.servers, random));
    }

    private RdmaConnection connection() {
        return there(ConnectionsWorld.any(world.connections, random));
    }

    private EventChannel channel() {
        return there(ConnectionsWorld.any(world.channels, random));
    }

    private CmId id() {
        return there(ConnectionsWorld.any(world.ids, random));
    }

    // Servers.

    private Object listen() {
        int place = random.nextInt(ConnectionsWorld.PLACES);
        RdmaServer known = world.servers.get(place);
        if (known == null) {
            RdmaServer made = RdmaServer.listen(
                    world.arena,
                    Lab.second(ConnectionsWorld.port(place)),
                    new RdmaServerOptions()
                            .backlog(random.nextInt(4))
                            .maxPending(1 + random.nextInt(4))
                            .handshakeTimeout(CONNECTING.dividedBy(1 + random.nextInt(20)))
                            .connections(options()));
            if (!world.servers.compareAndSet(place, null, made)) {
                made.close();
            }
        }
        return place;
    }

    private RdmaConnection keep(RdmaConnection connection) {
        world.connected.incrementAndGet();
        RdmaConnection before = world.keep(world.connections, connection, random);
        if (before != null && random.nextInt(4) > 0) {
            before.close();
        }
        return connection;
    }

    private RdmaConnectionOptions options() {
        return new RdmaConnectionOptions()
                .sendWorkRequests(4)
                .receiveWorkRequests(4)
                .completionEvents(random.nextInt(4) == 0);
    }

    private Object acceptNext() throws InterruptedException {
        return server().accept(CONNECTING.dividedBy(1 + random.nextInt(20)))
                .map(this::keep)
                .orElse(null);
    }

    private Object awaitRequest() throws InterruptedException {
        RdmaServer server = server();
        server.awaitRequest(SHORT).ifPresent(world.requests::add);
        return server;
    }

    private ConnectionRequest request() {
        return there(world.requests.poll());
    }

    private Object accept() throws InterruptedException {
        return keep(request().accept(options(), CONNECTING.dividedBy(1 + random.nextInt(20))));
    }

    private Object reject() {
        ConnectionRequest request = request();
        request.reject(new byte[random.nextInt(100)]);
        return request;
    }

    /** Closing the server answers it. */
    private Object forgetRequest() {
        return request();
    }

    private Object closeServer() {
        RdmaServer server = world.servers.getAndSet(random.nextInt(ConnectionsWorld.PLACES), null);
        there(server).close();
        return server;
    }

    // Connections.

    private Object connect() throws InterruptedException {
        RdmaConnectionOptions options = options().localAddress(Lab.first(0));
        return keep(new RdmaClient(world.arena)
                .connect(
                        Lab.second(ConnectionsWorld.port(random.nextInt(ConnectionsWorld.PLACES))),
                        options,
                        CONNECTING.dividedBy(1 + random.nextInt(10))));
    }

    private Object post() {
        RdmaConnection connection = connection();
        QueuePair queuePair = connection.queuePair();
        MemoryRegion region = connection.register(BYTES, AccessFlag.LOCAL_WRITE);
        queuePair.tryPostReceive(receive.clear().add(region, 0, BYTES));
        queuePair.tryPostSend(send.clear().send().add(region, 0, BYTES).signaled(true));
        for (CompletionQueue queue : List.of(connection.sendQueue(), connection.receiveQueue())) {
            queue.poll(completions);
        }
        if (random.nextBoolean()) {
            region.close();
        }
        return connection;
    }

    private Object register() {
        return connection().register(BYTES, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    }

    private Object isConnected() {
        RdmaConnection connection = connection();
        return connection.isConnected() + " " + connection;
    }

    private Object awaitDisconnect() throws InterruptedException {
        RdmaConnection connection = connection();
        return connection.awaitDisconnect(SHORT) + " " + connection;
    }

    private Object disconnect() throws InterruptedException {
        RdmaConnection connection = connection();
        connection.disconnect(SHORT.multipliedBy(random.nextInt(10)));
        return connection;
    }

    private Object closeConnection() {
        RdmaConnection connection = connection();
        connection.close();
        return connection;
    }

    // Channels and ids.

    private Object makeChannel() {
        EventChannel made = EventChannel.create();
        EventChannel before = world.keep(world.channels, made, random);
        if (before != null) {
            before.close();
        }
        return made;
    }

    private Object awaitEvent() throws InterruptedException {
        EventChannel channel = channel();
        CmEvent event = channel.await(SHORT).orElse(null);
        if (event != null && event.type() == CmEventType.CONNECT_RESPONSE && random.nextBoolean()) {
            event.id().establish();
        }
        return channel + ": " + event;
    }

    private Object selectableChannel() {
        EventChannel channel = channel();
        channel.selectableChannel();
        return channel;
    }

    private Object closeChannel() {
        EventChannel channel = channel();
        channel.close();
        return channel;
    }

    private Object makeId() {
        CmId made = channel().createId(random.nextInt(4) == 0 ? PortSpace.UDP : PortSpace.TCP);
        CmId before = world.keep(world.ids, made, random);
        if (before != null && random.nextBoolean()) {
            before.close();
        }
        return made;
    }

    private Object resolve() {
        CmId id = id();
        if (random.nextBoolean()) {
            id.resolveAddress(
                    Lab.second(ConnectionsWorld.port(random.nextInt(ConnectionsWorld.PLACES))), Duration.ofSeconds(1));
        }
        id.resolveRoute(Duration.ofSeconds(1));
        return id;
    }

    private Object connectId() {
        CmId id = id();
        id.connect(TwoIds.parameters());
        return id;
    }

    private Object disconnectId() {
        CmId id = id();
        id.disconnect();
        return id;
    }

    private Object migrate() {
        CmId id = id();
        id.migrate(channel());
        return id;
    }

    private Object closeId() {
        CmId id = id();
        id.close();
        return id;
    }

    private Object interruptAny() {
        Thread thread = threads.get(random.nextInt(threads.size()));
        thread.interrupt();
        return thread.getName();
    }
}
