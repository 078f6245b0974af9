package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.samples.Checksum;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.Srd;
import org.rdmapanama.samples.TestPattern;

/**
 * The verbs objects of one side of a test. Each queue pair has a send buffer and a receive buffer in one region, and
 * work requests for them. SEND and WRITE move data from the send buffer of one side to the receive buffer of the other;
 * READ moves it from the peer's send buffer to the local receive buffer; an atomic works on the peer's receive buffer.
 */
final class TestSide {
    static final int QKEY = 0x1111_1111;

    private static final int EINVAL = 22;

    /** The value of perftest. Soft-RoCE retries without end, so {@link Watch} detects that the peer is gone. */
    private static final int RETRIES = 7;

    private static final int PAGE = 4096;
    private static final int BATCH = 16;

    final TestSettings settings;
    final VerbsArena arena;
    final CompletionChannel events;
    final CompletionQueue sendQueue;
    final CompletionQueue receiveQueue;
    final QueuePair[] queuePairs;

    /** Null unless this is the transport. */
    private final Srd srd;

    final WorkCompletions completions;

    private final ConnectOptions how;
    private final ProtectionDomain protectionDomain;
    private final MemoryRegion region;
    private final ReceiveWorkRequest[] receives;
    private final AddressHandle[] ways;
    private Endpoint[] peers;
    private RemoteMemory remote;

    /** Creates everything but the connections. */
    TestSide(VerbsArena arena, Context context, TestSettings settings, ConnectOptions how) {
        this.arena = arena;
        this.settings = settings;
        this.how = how.maxReadAtomic(settings.outstanding() == 0 ? 255 : settings.outstanding())
                .qkey(QKEY)
                .retryCount(RETRIES)
                .pathMtu(settings.mtu() == 0 ? null : Mtu.ofBytes(settings.mtu()));
        int count = settings.queuePairs();
        protectionDomain = context.allocateProtectionDomain();
        events = settings.events() ? context.createCompletionChannel() : null;
        sendQueue = context.createCompletionQueue(Math.multiplyExact(settings.txDepth(), count), events, 0);
        boolean receiving = settings.kind().operation == Operation.SEND;
        receiveQueue =
                context.createCompletionQueue(receiving ? Math.multiplyExact(settings.rxDepth(), count) : 1, events, 0);
        queuePairs = new QueuePair[count];
        receives = new ReceiveWorkRequest[count];
        ways = new AddressHandle[count];
        QueuePairOptions options = new QueuePairOptions(settings.connection().type, sendQueue, receiveQueue)
                .maxSendWorkRequests(settings.txDepth())
                .maxReceiveWorkRequests(receiving ? settings.rxDepth() : 1);
        srd = settings.connection() == Connection.SRD ? Srd.of(context) : null;
        if (isCalled()) {
            SendOperation operation =
                    settings.kind().operation == Operation.READ ? SendOperation.RDMA_READ : SendOperation.RDMA_WRITE;
            srd.require(operation);
            options.sendOperations(operation);
        }
        for (int i = 0; i < count; i++) {
            queuePairs[i] = createQueuePair(options);
        }
        region = protectionDomain.register(arena.allocate(settings.memory(), PAGE), access());
        completions = new WorkCompletions(arena, BATCH);
    }

    /** Whether the work requests are posted call by call. */
    private boolean isCalled() {
        return srd != null && settings.kind().operation.isOneSided();
    }

    /** EFA refuses what it cannot do. */
    private AccessFlag[] access() {
        if (srd == null) {
            return new AccessFlag[] {
                AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC
            };
        }
        return switch (settings.kind().operation) {
            case WRITE -> new AccessFlag[] {AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE};
            case READ -> new AccessFlag[] {AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ};
            case SEND, ATOMIC -> new AccessFlag[] {AccessFlag.LOCAL_WRITE};
        };
    }

    /** Finds the inline size by trial: it differs between devices, and they do not report it. */
    private QueuePair createQueuePair(QueuePairOptions options) {
        int inline = settings.inline();
        while (true) {
            try {
                options.maxInlineData(inline);
                return srd == null
                        ? protectionDomain.createQueuePair(options)
                        : isCalled()
                                ? srd.createExtendedQueuePair(protectionDomain, options)
                                : srd.createQueuePair(protectionDomain, options);
            } catch (VerbsException e) {
                if (!settings.lessInline() || inline == 0 || e.errno() != EINVAL) {
                    throw e;
                }
                inline /= 2;
            }
        }
    }

    /** Rejects a device that cannot be connected this way. */
    static void check(Device device) {
        if (device.transportType() == TransportType.IWARP) {
            throw new Failure(device.name()
                    + " is iWARP, which only the connection manager can connect, and rdma perf does not use it: choose"
                    + " another device with -d");
        }
    }

    /** Encodes the address of this side for the peer; if the peer's is known, chooses endpoints that match it. */
    byte[] place() {
        byte[][] lines = new byte[queuePairs.length][];
        int bytes = RemoteMemory.BYTES;
        for (int i = 0; i < queuePairs.length; i++) {
            Endpoint local = queuePairs[i].localEndpoint(how.remote(peers == null ? null : peers[i]));
            lines[i] = local.toString().getBytes(StandardCharsets.US_ASCII);
            bytes += Short.BYTES + lines[i].length;
        }
        ByteBuffer place = ByteBuffer.allocate(bytes);
        // Not region.remote(), which refuses a region that peers only send to.
        new RemoteMemory(region.address(), region.rkey(), settings.memory()).writeTo(place);
        for (byte[] line : lines) {
            place.putShort((short) line.length).put(line);
        }
        return place.array();
    }

    /** Decodes the address of the peer. */
    void meet(ByteBuffer place) {
        try {
            remote = RemoteMemory.readFrom(place);
            peers = new Endpoint[queuePairs.length];
            for (int i = 0; i < queuePairs.length; i++) {
                int length = Short.toUnsignedInt(place.getShort());
                byte[] line = new byte[Math.min(length, place.remaining())];
                place.get(line);
                peers[i] = Endpoint.parse(new String(line, StandardCharsets.US_ASCII));
            }
        } catch (BufferUnderflowException | IndexOutOfBoundsException e) {
            throw new Failure(
                    "the peer has a different number of queue pairs: both sides must run the same version of 'rdma"
                            + " perf'",
                    e);
        } catch (IllegalArgumentException e) {
            throw new Failure("the peer's addresses are malformed: " + e.getMessage(), e);
        }
        if (remote.length() < settings.memory()) {
            throw new Failure("the peer offers " + remote.length() + " bytes, fewer than the " + settings.memory()
                    + " that this test needs: both sides must run the same version of 'rdma perf'");
        }
        if (place.hasRemaining()) {
            throw new Failure("the peer has a different number of queue pairs: both sides must run the same version of"
                    + " 'rdma perf'");
        }
    }

    /** Connects to the peer, whose address must be known by now. */
    void connect() {
        for (int i = 0; i < queuePairs.length; i++) {
            if (sendsDatagrams()) {
                if (srd == null) {
                    queuePairs[i].activate();
                } else {
                    srd.activate(queuePairs[i]);
                }
                ways[i] = protectionDomain.createAddressHandle(queuePairs[i].pathTo(peers[i]));
            } else {
                queuePairs[i].connect(peers[i]);
            }
        }
        if (settings.kind().operation == Operation.SEND) {
            postReceives();
        }
    }

    private boolean sendsDatagrams() {
        return settings.connection() == Connection.UD || srd != null;
    }

    /** Returns the GID of the peer, once connected. */
    Gid peerGid() {
        return peers[0].gid();
    }

    /** Returns the buffer that a queue pair sends, or that the peer reads. */
    MemorySegment outgoing(int queuePair, long size) {
        return region.memory().asSlice(offset(queuePair), size);
    }

    /** Returns the buffer into which a queue pair receives, or to which the peer writes. */
    MemorySegment incoming(int queuePair, long size) {
        return region.memory().asSlice(incomingOffset(queuePair) + headers(), size);
    }

    private long offset(int queuePair) {
        return 2 * settings.stride() * queuePair;
    }

    private long incomingOffset(int queuePair) {
        return offset(queuePair) + settings.stride();
    }

    private long headers() {
        return settings.connection() == Connection.UD ? AddressHandle.GRH_BYTES : 0;
    }

    /** Fills the outgoing buffers with a pattern, and the incoming ones with zeros. */
    void fill(long size, boolean client, Checksum.Pause pause) throws IOException, InterruptedException {
        for (int i = 0; i < queuePairs.length; i++) {
            TestPattern.fill(outgoing(i, size), seed(size, i, client), pause);
            incoming(i, size).fill((byte) 0);
        }
    }

    /** Returns the first position at which the incoming data differs from what the peer sent or exposed, or -1. */
    long firstWrong(long size, boolean client, Checksum.Pause pause) throws IOException, InterruptedException {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment expected = temporary.allocate(size);
            for (int i = 0; i < queuePairs.length; i++) {
                TestPattern.fill(expected, seed(size, i, !client), pause);
                long wrong = expected.mismatch(incoming(i, size));
                if (wrong >= 0) {
                    return wrong;
                }
            }
        }
        return -1;
    }

    private static long seed(long size, int queuePair, boolean client) {
        return size * 31 + queuePair * 2L + (client ? 1 : 0);
    }

    /** Creates a message of this test for one queue pair. */
    Message message(int queuePair, long size, boolean signaled) {
        return isCalled()
                ? called(queuePair, size, 1)
                : new RequestMessage(
                        queuePairs[queuePair], request(queuePair, size).signaled(signaled));
    }

    /**
     * Creates a list of messages of this test for one queue pair.
     *
     * @param length how many there are
     * @param moderation one of this number is signaled; so is the last one if the length is a multiple of it
     * @param id the identifier with which it will be posted
     */
    Message list(int queuePair, long size, int length, int moderation, long id) {
        if (isCalled()) {
            return called(queuePair, size, length);
        }
        SendWorkRequest following = null;
        for (int i = length; i > 0; i--) {
            SendWorkRequest each =
                    request(queuePair, size).signaled(i % moderation == 0).id(id);
            following = following == null ? each : each.next(following);
        }
        return new RequestMessage(queuePairs[queuePair], following);
    }

    private Message called(int queuePair, long size, int length) {
        boolean reads = settings.kind().operation == Operation.READ;
        return new SrdMessage(
                (ExtendedQueuePair) queuePairs[queuePair],
                new SrdMessage.Peer(ways[queuePair], peers[queuePair].queuePairNumber(), QKEY),
                settings.kind().operation,
                remote.slice(reads ? offset(queuePair) : incomingOffset(queuePair), size),
                region,
                reads ? incomingOffset(queuePair) : offset(queuePair),
                length);
    }

    /** Creates a work request of this test for one queue pair, not signaled. */
    private SendWorkRequest request(int queuePair, long size) {
        SendWorkRequest request = SendWorkRequest.allocate(arena, 1);
        RemoteMemory outgoing = remote.slice(offset(queuePair), size);
        RemoteMemory incoming = remote.slice(incomingOffset(queuePair), size);
        boolean inline = false;
        switch (settings.kind().operation) {
            case SEND -> inline = inline(request.send(), queuePair, size);
            case WRITE -> inline = inline(request.rdmaWrite(incoming), queuePair, size);
            case READ -> request.rdmaRead(outgoing).add(region, incomingOffset(queuePair), size);
            case ATOMIC ->
                (settings.atomic() == AtomicKind.FETCH_AND_ADD
                                ? request.fetchAndAdd(incoming, 1)
                                : request.compareAndSwap(incoming, 0, 0))
                        .add(region, offset(queuePair), size);
        }
        if (sendsDatagrams()) {
            request.to(ways[queuePair], peers[queuePair].queuePairNumber(), QKEY);
        }
        return request.inline(inline).id(queuePair);
    }

    private boolean inline(SendWorkRequest request, int queuePair, long size) {
        request.add(region, offset(queuePair), size);
        return size
                <= Math.min(
                        settings.inline(), queuePairs[queuePair].capabilities().maxInlineData());
    }

    /** Posts all receives, for messages of any size of the test. */
    private void postReceives() {
        for (int i = 0; i < queuePairs.length; i++) {
            receives[i] = ReceiveWorkRequest.allocate(arena, 1)
                    .id(i)
                    .add(region, incomingOffset(i), headers() + settings.size());
            for (int posted = 0; posted < settings.rxDepth(); posted++) {
                postReceive(i);
            }
        }
    }

    /** Posts a receive to replace one that completed. */
    void postReceive(int queuePair) {
        queuePairs[queuePair].postReceive(receives[queuePair]);
    }

    /** Waits for completions. Returns 0 if the peer has finished, if that should end the wait. */
    int await(CompletionQueue queue, Watch watch, boolean untilPeerIsDone) throws IOException, InterruptedException {
        boolean told = false;
        while (true) {
            int count = queue.poll(completions);
            if (count > 0) {
                check(count);
                watch.moved();
                return count;
            }
            if (untilPeerIsDone && watch.isPeerDone()) {
                return 0;
            }
            if (events == null) {
                watch.idle();
            } else if (told) {
                told = false;
                watch.sleep(events);
            } else {
                // A work request that completes after the next poll then causes an event.
                queue.requestNotification(false);
                told = true;
            }
        }
    }

    /** Throws an exception if one of the completions failed. */
    void check(int count) {
        for (int i = 0; i < count; i++) {
            if (!completions.succeeded(i)) {
                throw new Failure(completions.describe(i)
                        + ": the peer is gone, or its device cannot be reached from here or rejects the request");
            }
        }
    }
}
