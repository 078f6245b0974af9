package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.rdma_addr;
import org.rdmapanama.ffm.verbs.rdma_cm_id;
import org.rdmapanama.ffm.verbs.rdma_conn_param;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.rdma_ib_addr;
import org.rdmapanama.ffm.verbs.rdma_route;
import org.rdmapanama.ffm.verbs.rdma_ud_param;
import org.rdmapanama.soft.cm.Dreq;
import org.rdmapanama.soft.cm.IpHeader;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.cm.Mra;
import org.rdmapanama.soft.cm.Rej;
import org.rdmapanama.soft.cm.Rep;
import org.rdmapanama.soft.cm.Req;
import org.rdmapanama.soft.cm.SidrRep;
import org.rdmapanama.soft.cm.SidrReq;
import org.rdmapanama.soft.wire.Memory;

/**
 * An id, a struct rdma_cm_id, and where it is on its way to a connection and back. (IBA specification, volume 1, section
 * 12.9.) Whoever calls has the device's lock.
 */
final class SoftCmId implements Timed {
    /** Of the id's parts, as far as they are used here, in this order. */
    private enum State {
        IDLE,
        BOUND,
        LISTENING,
        RESOLVED,
        ROUTED,
        REQ_SENT,
        REQ_RECEIVED,
        REP_SENT,
        REP_RECEIVED,
        ESTABLISHED,
        DREQ_SENT,
        DREQ_RECEIVED,
        TIMEWAIT,
        SIDR_SENT,
        SIDR_RECEIVED,
        SIDR_ANSWERED,
        OVER
    }

    private static final long MILLI = 1_000_000L;

    /** What was lost is sent again after this long, then after twice as long, and so on until the longest. */
    private static final long FIRST_WAIT = 250 * MILLI;

    private static final long LONGEST_WAIT = 4300 * MILLI;

    /** As long as the kernel tries. */
    private static final long PATIENCE = 68_000 * MILLI;

    /** Where several devices of this machine may be meant, each has this long to answer before the next is asked. */
    private static final long PROBE_WAIT = 100 * MILLI;

    /** And after this long, where at least one said that it is not meant, the others are taken to be none. */
    private static final long PROBE_PATIENCE = 4000 * MILLI;

    /** In the exponents of the datagrams: 4.3 seconds, and 17 for who waits for a program to accept. */
    private static final int RESPONSE_TIMEOUT = 20;

    private static final int SERVICE_TIMEOUT = 22;
    private static final int LONGEST_SERVICE_TIMEOUT = 25;
    private static final int RETRIES = 15;

    /** Of the transport: 0.5 seconds. */
    private static final int ACK_TIMEOUT = 17;

    private static final int DEFAULT_BACKLOG = 1024;
    private static final int MOST_RETRIES = 7;
    private static final int AS_MANY_AS_POSSIBLE = 255;
    private static final int HOPS = 64;
    private static final int PORT_BITS = 16;
    private static final int ADDRESS_BYTES = 128;
    private static final int DATAGRAM_QKEY = 0x0123_4567;
    private static final int TIMEOUT_BITS = 0x1f;
    private static final int MULTICAST_QUEUE_PAIR = 0xff_ffff;

    /** Of an IPv4 group: global, and not permanent. */
    private static final long MULTICAST_GID = 0xff0e_0000_0000_0000L;

    private static final int ACCESS = Verbs.REMOTE_WRITE;
    private static final int MORE_ACCESS = Verbs.REMOTE_READ | Verbs.REMOTE_ATOMIC;

    private final SoftManagement management;
    private final int portSpace;
    private final int queuePairType;

    /** The C structure, and the datagram that was sent last. */
    private final NativeBlock block = new NativeBlock(rdma_cm_id.sizeof() + Mad.BYTES);

    private SoftEventChannel channel;
    private State state = State.IDLE;

    // Addresses.
    private InetSocketAddress local;
    private InetSocketAddress remote;
    private int index = -1;
    private boolean sharesPort;
    private boolean familyOnly;
    private int typeOfService;
    private int ackTimeout = ACK_TIMEOUT;

    /** Of who listens: how many requests nobody has seen yet, and how many there may be. */
    private final AtomicInteger unseen = new AtomicInteger();

    private int backlog;

    /** Of a request, until it is told: who listens. */
    private SoftCmId listener;

    /** Where the other side's device may be; one place as soon as it is known. */
    private List<InetSocketAddress> candidates = List.of();

    private int candidate;

    /** Whether one of several devices of this machine said that it is not meant. */
    private boolean refused;

    // Numbers of both sides.
    private int number;
    private int remoteNumber;
    private long transaction;
    private SoftManagement.Request request;

    // What both sides agree on.
    private int localQueuePair;
    private int remoteQueuePair;
    private final int localPsn;
    private int remotePsn;
    private int responderResources;
    private int initiatorDepth;
    private int retryCount;
    private int rnrRetryCount;
    private boolean flowControl;
    private boolean sharedReceives;
    private int mtu;
    private byte[] privateData = {};

    // Time.
    private long deadline;
    private boolean waiting;
    private long wait;
    private long giveUp;

    SoftCmId(SoftManagement management, SoftEventChannel channel, int portSpace, int queuePairType) {
        this.management = management;
        this.channel = channel;
        this.portSpace = portSpace;
        this.queuePairType = queuePairType;
        localPsn = management.random24();
        MemorySegment id = segment();
        rdma_cm_id.channel(id, MemorySegment.ofAddress(channel == null ? 0 : channel.address()));
        rdma_cm_id.ps(id, portSpace);
        rdma_cm_id.qp_type(id, queuePairType);
    }

    /** The id of a request to a listener. */
    static SoftCmId ofRequest(
            SoftManagement management,
            SoftCmId listener,
            SoftManagement.Request request,
            InetSocketAddress remote,
            int index) {
        SoftCmId id = new SoftCmId(management, listener.channel, listener.portSpace, listener.queuePairType);
        id.listener = listener;
        id.request = request;
        id.typeOfService = listener.typeOfService;
        id.ackTimeout = listener.ackTimeout;
        id.candidates = List.of(request.sender());
        id.setLocal(new InetSocketAddress(management.addresses().address(index), listener.local.getPort()));
        id.setRemote(remote);
        id.number = management.register(id);
        id.remoteNumber = request.number();
        management.register(request, id);
        return id;
    }

    private MemorySegment segment() {
        return Native.struct(block.address(), rdma_cm_id.layout());
    }

    long address() {
        return block.address();
    }

    private long message() {
        return block.address() + rdma_cm_id.sizeof();
    }

    int portSpace() {
        return portSpace;
    }

    boolean isDatagram() {
        return queuePairType == Verbs.UD;
    }

    int transportService() {
        return queuePairType == Verbs.UC ? Req.UC : Req.RC;
    }

    // Addresses.

    private void setLocal(InetSocketAddress address) {
        local = address;
        index = management.addresses().indexOf(address.getAddress());
        SocketStructs.write(address, addresses());
        if (index >= 0) {
            MemorySegment id = segment();
            rdma_cm_id.verbs(id, MemorySegment.ofAddress(management.context.address()));
            rdma_cm_id.port_num(id, (byte) 1);
            management.addresses().writeGid(index, gids() + rdma_ib_addr.sgid$offset());
        }
    }

    private void setRemote(InetSocketAddress address) {
        remote = address;
        SocketStructs.write(address, addresses() + ADDRESS_BYTES);
        writeGid(gids() + rdma_ib_addr.dgid$offset());
    }

    /** Two socket addresses, and two GIDs behind them. */
    private long addresses() {
        return rdma_route.addr(rdma_cm_id.route(segment())).address();
    }

    private long gids() {
        return addresses() + rdma_addr.sizeof() - rdma_ib_addr.sizeof();
    }

    private long remoteGidHigh() {
        return candidates.isEmpty()
                ? LocalAddresses.high(remote.getAddress())
                : LocalAddresses.high(candidates.get(candidate));
    }

    private void writeGid(long to) {
        Memory.putNetLong(to, remoteGidHigh());
        Memory.putNetLong(to + Long.BYTES, LocalAddresses.low(remote.getAddress()));
    }

    int bind(InetSocketAddress address) {
        if (state != State.IDLE) {
            return -Verbs.EINVAL;
        }
        boolean any = address.getAddress().isAnyLocalAddress();
        if (!any && management.addresses().indexOf(address.getAddress()) < 0) {
            return -Verbs.EADDRNOTAVAIL;
        }
        int port = management.takePort(this, address.getAddress(), address.getPort(), sharesPort);
        if (port == 0) {
            return -Verbs.EADDRINUSE;
        }
        setLocal(new InetSocketAddress(address.getAddress(), port));
        state = State.BOUND;
        return 0;
    }

    boolean sharesPort() {
        return sharesPort && state != State.LISTENING;
    }

    boolean isWildcard() {
        return local.getAddress().isAnyLocalAddress();
    }

    boolean overlaps(InetAddress address) {
        InetAddress own = local.getAddress();
        return own.equals(address)
                || SoftManagement.isWildcardOf(own, address, familyOnly)
                || SoftManagement.isWildcardOf(address, own, false);
    }

    boolean listensAt(InetAddress address) {
        InetAddress own = local.getAddress();
        return state == State.LISTENING
                && (own.equals(address) || SoftManagement.isWildcardOf(own, address, familyOnly));
    }

    /** With the address of this machine that leads to the peer, or, where none does, the errno of that. */
    int resolve(InetSocketAddress source, InetSocketAddress destination, InetAddress from, int errno) {
        InetSocketAddress own = state == State.IDLE ? source : local;
        if (own != null && !isSameFamily(own.getAddress(), destination.getAddress())) {
            return -Verbs.EINVAL;
        }
        if (state == State.IDLE && source != null) {
            int result = bind(source);
            if (result < 0) {
                return result;
            }
        }
        if (state != State.IDLE && state != State.BOUND) {
            return -Verbs.EINVAL;
        }
        int result = errno;
        if (result == 0 && (local == null || isWildcard())) {
            result = choose(from);
        }
        if (result == 0) {
            setRemote(destination);
            state = State.RESOLVED;
            tell(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED(), 0);
        } else {
            tell(rdma_h.RDMA_CM_EVENT_ADDR_ERROR(), result);
        }
        return 0;
    }

    private static boolean isSameFamily(InetAddress one, InetAddress other) {
        return one instanceof Inet4Address == other instanceof Inet4Address;
    }

    /** Takes an address of this machine, and a port with it if there is none yet. */
    private int choose(InetAddress from) {
        if (management.addresses().indexOf(from) < 0) {
            return -Verbs.ENODEV;
        }
        int port = local == null ? management.takePort(this, from, 0, false) : local.getPort();
        setLocal(new InetSocketAddress(from, port));
        return 0;
    }

    InetSocketAddress remote() {
        return remote;
    }

    int resolveRoute() {
        if (state != State.RESOLVED) {
            return -Verbs.EINVAL;
        }
        state = State.ROUTED;
        tell(rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED(), 0);
        return 0;
    }

    int listen(int newBacklog) {
        if (state == State.IDLE) {
            int result = bind(new InetSocketAddress(SocketStructs.ofBytes(new byte[Integer.BYTES]), 0));
            if (result < 0) {
                return result;
            }
        }
        if (state != State.BOUND) {
            return -Verbs.EINVAL;
        }
        backlog = newBacklog <= 0 ? DEFAULT_BACKLOG : Math.min(newBacklog, DEFAULT_BACKLOG);
        state = State.LISTENING;
        return 0;
    }

    boolean hasRoom() {
        return unseen.get() < backlog;
    }

    /** The program has taken a request; without the device's lock. */
    void seen() {
        unseen.decrementAndGet();
    }

    int setOption(int option, long value, long size) {
        boolean isByte = option == rdma_h.RDMA_OPTION_ID_TOS() || option == rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT();
        if (size != (isByte ? Byte.BYTES : Integer.BYTES)) {
            return -Verbs.EINVAL;
        }
        if (option == rdma_h.RDMA_OPTION_ID_TOS()) {
            typeOfService = Byte.toUnsignedInt(Memory.getByte(value));
        } else if (option == rdma_h.RDMA_OPTION_ID_REUSEADDR()) {
            sharesPort = Memory.getInt(value) != 0;
        } else if (option == rdma_h.RDMA_OPTION_ID_AFONLY()) {
            if (state != State.IDLE) {
                return -Verbs.EINVAL;
            }
            familyOnly = Memory.getInt(value) != 0;
        } else if (option == rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT()) {
            ackTimeout = Memory.getByte(value) & TIMEOUT_BITS;
        } else {
            return -Verbs.ENOSYS;
        }
        return 0;
    }

    void migrate(SoftEventChannel target) {
        List<SoftCmEvent> events = channel == null ? List.of() : channel.takeOut(this);
        moveTo(target);
        for (SoftCmEvent each : events) {
            // Requests that nobody has seen come along.
            if (each.listener == this) {
                each.id.moveTo(target);
            }
            target.add(each);
        }
    }

    private void moveTo(SoftEventChannel target) {
        channel = target;
        rdma_cm_id.channel(segment(), MemorySegment.ofAddress(target.address()));
    }

    // Telling.

    private void tell(int type, int status) {
        tell(new SoftCmEvent(this, null, type, status));
    }

    private void tell(SoftCmEvent event) {
        if (channel == null) {
            event.free();
        } else {
            channel.add(event);
        }
    }

    // The active side.

    /** Asks for a connection, at one of several devices of this machine, or at that of another. */
    int connect(MemorySegment parameters, List<InetSocketAddress> devices) {
        if (state != State.ROUTED) {
            return -Verbs.EINVAL;
        }
        int bytes = Byte.toUnsignedInt(rdma_conn_param.private_data_len(parameters));
        int most = (isDatagram() ? SidrReq.PRIVATE_BYTES : Req.PRIVATE_BYTES) - IpHeader.BYTES;
        if (bytes > most || !takes(parameters)) {
            return -Verbs.EINVAL;
        }
        privateData = bytes(rdma_conn_param.private_data(parameters), bytes);
        responderResources = most(rdma_conn_param.responder_resources(parameters), SoftDevice.MAX_READ_ATOMIC);
        initiatorDepth = most(rdma_conn_param.initiator_depth(parameters), SoftDevice.MAX_READ_ATOMIC);
        agree(parameters);
        mtu = management.device.activeMtu();
        candidates = new ArrayList<>(devices);
        candidate = 0;
        // Where this machine is meant, this device, which is no candidate then, does not serve it.
        refused = management.addresses().indexOf(remote.getAddress()) >= 0 && !management.isServedHere(this);
        number = management.register(this);
        transaction = Integer.toUnsignedLong(number);
        state = isDatagram() ? State.SIDR_SENT : State.REQ_SENT;
        ask();
        startSending(candidates.size() > 1 ? PROBE_WAIT : FIRST_WAIT);
        return 0;
    }

    private boolean takes(MemorySegment parameters) {
        return isDatagram()
                || (fits(rdma_conn_param.responder_resources(parameters))
                        && fits(rdma_conn_param.initiator_depth(parameters)));
    }

    private static boolean fits(byte count) {
        int value = Byte.toUnsignedInt(count);
        return value == AS_MANY_AS_POSSIBLE || value <= SoftDevice.MAX_READ_ATOMIC;
    }

    private static int most(byte wanted, int possible) {
        int value = Byte.toUnsignedInt(wanted);
        return value == AS_MANY_AS_POSSIBLE ? possible : value;
    }

    private void agree(MemorySegment parameters) {
        localQueuePair = rdma_conn_param.qp_num(parameters);
        retryCount = Math.min(MOST_RETRIES, Byte.toUnsignedInt(rdma_conn_param.retry_count(parameters)));
        rnrRetryCount = Math.min(MOST_RETRIES, Byte.toUnsignedInt(rdma_conn_param.rnr_retry_count(parameters)));
        flowControl = rdma_conn_param.flow_control(parameters) != 0;
        sharedReceives = rdma_conn_param.srq(parameters) != 0;
    }

    private static byte[] bytes(MemorySegment pointer, int count) {
        byte[] copy = new byte[count];
        for (int i = 0; i < count; i++) {
            copy[i] = Memory.getByte(pointer.address() + i);
        }
        return copy;
    }

    private static void put(byte[] bytes, long to) {
        for (int i = 0; i < bytes.length; i++) {
            Memory.putByte(to + i, bytes[i]);
        }
    }

    /** Writes the request to the device that it is meant for at the moment. */
    private void ask() {
        long mad = message();
        long service = Integer.toUnsignedLong(portSpace << PORT_BITS | remote.getPort());
        writeGid(gids() + rdma_ib_addr.dgid$offset());
        int header;
        if (isDatagram()) {
            SidrReq.write(mad, transaction, number, service);
            header = SidrReq.PRIVATE;
        } else {
            Req.begin(mad, transaction, number, service, management.guid);
            Req.queuePair(mad, localQueuePair, localPsn, responderResources, initiatorDepth, sharedReceives);
            Req.transport(mad, transportService(), flowControl, mtu, retryCount, rnrRetryCount, RESPONSE_TIMEOUT);
            Req.retries(mad, RETRIES);
            LocalAddresses own = management.addresses();
            Req.path(
                    mad,
                    own.high(index),
                    own.low(index),
                    remoteGidHigh(),
                    LocalAddresses.low(remote.getAddress()),
                    typeOfService,
                    HOPS,
                    ackTimeout);
            header = Req.PRIVATE;
        }
        IpHeader.write(
                mad + header,
                local.getPort(),
                local.getAddress().getAddress(),
                remote.getAddress().getAddress());
        put(privateData, mad + header + IpHeader.BYTES);
    }

    /** Whether a datagram for this id came from where its other side is, or may be. */
    boolean isPeer(InetSocketAddress sender) {
        return candidates.contains(sender);
    }

    /** From now on it is this one. */
    private void settle(InetSocketAddress sender) {
        candidates = List.of(sender);
        candidate = 0;
        refused = false;
        writeGid(gids() + rdma_ib_addr.dgid$offset());
    }

    /** A device of this machine does not serve what is asked for; whether there are others. */
    private boolean askNext(InetSocketAddress without) {
        if (candidates.size() < 2) {
            return false;
        }
        refused = true;
        boolean current = candidates.get(candidate).equals(without);
        int place = candidates.indexOf(without);
        candidates.remove(without);
        if (place < candidate) {
            candidate--;
        }
        if (current) {
            candidate %= candidates.size();
            ask();
            transmit();
            waitFor(candidates.size() > 1 ? PROBE_WAIT : FIRST_WAIT);
        }
        return true;
    }

    private void takeReply(long mad, InetSocketAddress sender) {
        if (state == State.REP_RECEIVED && Mad.localId(mad) == remoteNumber) {
            Mra.write(management.scratch(), transaction, number, remoteNumber, Mra.OF_REP, RESPONSE_TIMEOUT);
            answer();
        } else if (state == State.ESTABLISHED && Mad.localId(mad) == remoteNumber && request == null) {
            sendReady();
        } else if (state == State.REQ_SENT) {
            settle(sender);
            stopWaiting();
            remoteNumber = Mad.localId(mad);
            remoteQueuePair = Rep.queuePair(mad);
            remotePsn = Rep.psn(mad);
            initiatorDepth = Rep.responderResources(mad);
            responderResources = Rep.initiatorDepth(mad);
            rnrRetryCount = Rep.rnrRetryCount(mad);
            state = State.REP_RECEIVED;
            SoftCmEvent event = new SoftCmEvent(this, null, rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE(), 0);
            MemorySegment connection = event.connection();
            rdma_conn_param.responder_resources(connection, (byte) responderResources);
            rdma_conn_param.initiator_depth(connection, (byte) initiatorDepth);
            rdma_conn_param.flow_control(connection, (byte) (Rep.flowControl(mad) ? 1 : 0));
            rdma_conn_param.rnr_retry_count(connection, (byte) rnrRetryCount);
            rdma_conn_param.srq(connection, (byte) (Rep.sharedReceives(mad) ? 1 : 0));
            rdma_conn_param.qp_num(connection, remoteQueuePair);
            tell(event.privateData(mad + Rep.PRIVATE, Rep.PRIVATE_BYTES));
        }
    }

    int establish() {
        if (state != State.REP_RECEIVED) {
            return -Verbs.EINVAL;
        }
        state = State.ESTABLISHED;
        sendReady();
        return 0;
    }

    private void sendReady() {
        Mad.writeRtu(management.scratch(), transaction, number, remoteNumber);
        answer();
    }

    void takeDatagramAnswer(long mad, InetSocketAddress sender) {
        int status = SidrRep.status(mad);
        if (state != State.SIDR_SENT || (status == SidrRep.UNSUPPORTED && askNext(sender))) {
            return;
        }
        settle(sender);
        stopWaiting();
        state = status == SidrRep.VALID ? State.ESTABLISHED : State.OVER;
        SoftCmEvent event = new SoftCmEvent(
                this,
                null,
                status == SidrRep.VALID ? rdma_h.RDMA_CM_EVENT_ESTABLISHED() : rdma_h.RDMA_CM_EVENT_UNREACHABLE(),
                status);
        if (status == SidrRep.VALID) {
            writeRoute(rdma_ud_param.ah_attr(event.datagram()));
            rdma_ud_param.qp_num(event.datagram(), SidrRep.queuePair(mad));
            rdma_ud_param.qkey(event.datagram(), SidrRep.qkey(mad));
        }
        tell(event.privateData(mad + SidrRep.PRIVATE, SidrRep.PRIVATE_BYTES));
    }

    // The passive side.

    /** The request that made this id. */
    void takeRequest(long mad) {
        transaction = Mad.transaction(mad);
        SoftCmEvent event = new SoftCmEvent(this, listener, rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0);
        int header;
        int bytes;
        if (isDatagram()) {
            state = State.SIDR_RECEIVED;
            header = SidrReq.PRIVATE;
            bytes = SidrReq.PRIVATE_BYTES;
        } else {
            state = State.REQ_RECEIVED;
            header = Req.PRIVATE;
            bytes = Req.PRIVATE_BYTES;
            remoteQueuePair = Req.queuePair(mad);
            remotePsn = Req.psn(mad);
            initiatorDepth = Req.responderResources(mad);
            responderResources = Req.initiatorDepth(mad);
            retryCount = Req.retryCount(mad);
            rnrRetryCount = Req.rnrRetryCount(mad);
            mtu = Req.mtu(mad);
            ackTimeout = Req.ackTimeout(mad);
            MemorySegment connection = event.connection();
            rdma_conn_param.responder_resources(connection, (byte) responderResources);
            rdma_conn_param.initiator_depth(connection, (byte) initiatorDepth);
            rdma_conn_param.flow_control(connection, (byte) (Req.flowControl(mad) ? 1 : 0));
            rdma_conn_param.retry_count(connection, (byte) retryCount);
            rdma_conn_param.rnr_retry_count(connection, (byte) rnrRetryCount);
            rdma_conn_param.srq(connection, (byte) (Req.sharedReceives(mad) ? 1 : 0));
            rdma_conn_param.qp_num(connection, remoteQueuePair);
        }
        listener.unseen.incrementAndGet();
        tell(event.privateData(mad + header + IpHeader.BYTES, bytes - IpHeader.BYTES));
        listener = null;
    }

    /** The same request once more: the answer was lost, or takes long. */
    void takeRequestAgain() {
        if (state == State.REQ_RECEIVED) {
            Mra.write(management.scratch(), transaction, number, remoteNumber, Mra.OF_REQ, SERVICE_TIMEOUT);
            answer();
        } else if (state == State.REP_SENT || state == State.SIDR_ANSWERED) {
            transmit();
        }
    }

    int accept(MemorySegment parameters) {
        int bytes = Byte.toUnsignedInt(rdma_conn_param.private_data_len(parameters));
        int most = isDatagram() ? SidrRep.PRIVATE_BYTES : Rep.PRIVATE_BYTES;
        State wanted = isDatagram() ? State.SIDR_RECEIVED : State.REQ_RECEIVED;
        if (state != wanted || bytes > most || !takes(parameters)) {
            return -Verbs.EINVAL;
        }
        byte[] data = bytes(rdma_conn_param.private_data(parameters), bytes);
        if (isDatagram()) {
            answerDatagram(SidrRep.VALID, rdma_conn_param.qp_num(parameters), data);
            return 0;
        }
        responderResources = most(
                rdma_conn_param.responder_resources(parameters),
                Math.min(responderResources, SoftDevice.MAX_READ_ATOMIC));
        initiatorDepth =
                most(rdma_conn_param.initiator_depth(parameters), Math.min(initiatorDepth, SoftDevice.MAX_READ_ATOMIC));
        int retries = retryCount;
        int ownRnrRetries = rnrRetryCount;
        agree(parameters);
        long mad = message();
        Rep.begin(mad, transaction, number, remoteNumber, management.guid);
        Rep.queuePair(mad, localQueuePair, localPsn, responderResources, initiatorDepth, sharedReceives);
        Rep.transport(mad, flowControl, rnrRetryCount);
        put(data, mad + Rep.PRIVATE);
        // What who asked wants of this side's queue pair.
        retryCount = retries;
        rnrRetryCount = ownRnrRetries;
        state = State.REP_SENT;
        startSending(FIRST_WAIT);
        return 0;
    }

    private void answerDatagram(int status, int queuePair, byte... data) {
        long service = Integer.toUnsignedLong(portSpace << PORT_BITS | local.getPort());
        SidrRep.write(
                message(),
                transaction,
                remoteNumber,
                status,
                service,
                queuePair,
                status == SidrRep.VALID ? DATAGRAM_QKEY : 0);
        put(data, message() + SidrRep.PRIVATE);
        state = State.SIDR_ANSWERED;
        transmit();
    }

    int reject(int reason, MemorySegment privateBytes, int count) {
        byte[] data = bytes(privateBytes, count);
        if (state == State.SIDR_RECEIVED && count <= SidrRep.PRIVATE_BYTES) {
            answerDatagram(SidrRep.REJECTED, 0, data);
            return 0;
        }
        boolean possible = state == State.REQ_SENT
                || state == State.REQ_RECEIVED
                || state == State.REP_SENT
                || state == State.REP_RECEIVED;
        if (!possible || count > Rej.PRIVATE_BYTES) {
            return -Verbs.EINVAL;
        }
        writeRejection(reason);
        put(data, management.scratch() + Rej.PRIVATE);
        answer();
        stopWaiting();
        state = State.OVER;
        return 0;
    }

    private void writeRejection(int reason) {
        int of = Rej.OF_OTHER;
        if (state == State.REQ_RECEIVED) {
            of = Rej.OF_REQ;
        } else if (state == State.REP_RECEIVED) {
            of = Rej.OF_REP;
        }
        Rej.write(management.scratch(), transaction, number, remoteNumber, of, reason);
    }

    int notifyEvent(int event) {
        if (event != rdma_h.IBV_EVENT_COMM_EST()) {
            return -Verbs.EINVAL;
        }
        if (state == State.REP_SENT) {
            takeReady();
            return 0;
        }
        return state == State.ESTABLISHED ? -Verbs.EISCONN : -Verbs.EINVAL;
    }

    private void takeReady() {
        stopWaiting();
        state = State.ESTABLISHED;
        tell(rdma_h.RDMA_CM_EVENT_ESTABLISHED(), 0);
    }

    // Both sides.

    /** A datagram for this id, from its other side. */
    void take(int kind, long mad, InetSocketAddress sender) {
        if (kind == Mad.REP) {
            takeReply(mad, sender);
            return;
        }
        if (kind == Mad.REJ) {
            takeRejection(mad, sender);
            return;
        }
        if (kind == Mad.MRA && state == State.REQ_SENT && Mra.came(mad) == Mra.OF_REQ) {
            settle(sender);
            beToldToWait(Mra.timeout(mad));
            return;
        }
        if (Mad.localId(mad) != remoteNumber) {
            return;
        }
        switch (kind) {
            case Mad.MRA -> {
                if (state == State.REP_SENT && Mra.came(mad) == Mra.OF_REP) {
                    beToldToWait(Mra.timeout(mad));
                }
            }
            case Mad.RTU -> {
                if (state == State.REP_SENT) {
                    takeReady();
                }
            }
            case Mad.DREQ -> takeEnd(mad);
            case Mad.DREP -> {
                if (state == State.DREQ_SENT) {
                    linger();
                    tell(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), 0);
                }
            }
            default -> throw new AssertionError(kind);
        }
    }

    private void beToldToWait(int timeout) {
        long longer = 4096L << Math.min(timeout, LONGEST_SERVICE_TIMEOUT);
        giveUp = System.nanoTime() + longer + PATIENCE;
        waitFor(longer);
    }

    private void takeRejection(long mad, InetSocketAddress sender) {
        int reason = Rej.reason(mad);
        boolean early = state == State.REQ_SENT;
        boolean possible = early
                || state == State.REQ_RECEIVED
                || state == State.REP_SENT
                || state == State.REP_RECEIVED
                || state == State.ESTABLISHED
                || state == State.DREQ_SENT;
        boolean ours = early || Mad.localId(mad) == remoteNumber || Mad.localId(mad) == 0;
        if (!possible || !ours || isDatagram() || (early && reason == Rej.INVALID_SERVICE && askNext(sender))) {
            return;
        }
        settle(sender);
        stopWaiting();
        state = State.OVER;
        tell(new SoftCmEvent(this, null, rdma_h.RDMA_CM_EVENT_REJECTED(), reason)
                .privateData(mad + Rej.PRIVATE, Rej.PRIVATE_BYTES));
    }

    private void takeEnd(long mad) {
        if (state == State.ESTABLISHED || state == State.REP_SENT || state == State.DREQ_SENT) {
            if (isDatagram() || Dreq.queuePair(mad) != localQueuePair) {
                return;
            }
            stopWaiting();
            transaction = Mad.transaction(mad);
            state = State.DREQ_RECEIVED;
            tell(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), 0);
        } else if (state == State.TIMEWAIT || state == State.OVER) {
            // The answer was lost.
            Mad.writeDrep(management.scratch(), Mad.transaction(mad), number, remoteNumber);
            answer();
        }
    }

    int disconnect() {
        if (state.compareTo(State.REQ_SENT) < 0) {
            return -Verbs.EINVAL;
        }
        if (!isDatagram() && state == State.ESTABLISHED) {
            Dreq.write(message(), transaction, number, remoteNumber, remoteQueuePair);
            state = State.DREQ_SENT;
            startSending(FIRST_WAIT);
        } else if (state == State.DREQ_RECEIVED) {
            Mad.writeDrep(management.scratch(), transaction, number, remoteNumber);
            answer();
            linger();
        }
        return 0;
    }

    /** Until packets of this connection that are on their way have come. */
    private void linger() {
        state = State.TIMEWAIT;
        waitFor(2 * (4096L << Math.min(ackTimeout, ACK_TIMEOUT)));
    }

    /** Ends the id; what it told, and nobody has seen, is gone. The requests that nobody has seen are to be ended, too. */
    List<SoftCmId> destroy() {
        List<SoftCmId> requests = new ArrayList<>();
        for (SoftCmEvent each : channel == null ? List.<SoftCmEvent>of() : channel.takeOut(this)) {
            if (each.listener == this) {
                requests.add(each.id);
            }
            each.free();
        }
        leave();
        stopWaiting();
        state = State.OVER;
        if (local != null && request == null) {
            management.givePort(this, local.getPort());
        }
        if (number != 0) {
            management.unregister(number);
        }
        if (request != null) {
            management.unregister(request, this);
        }
        return requests;
    }

    /** Tells the other side. */
    private void leave() {
        switch (state) {
            case REQ_SENT -> {
                Rej.write(management.scratch(), transaction, number, 0, Rej.OF_REQ, Rej.TIMEOUT);
                Rej.guid(management.scratch(), management.guid);
                for (InetSocketAddress each : candidates) {
                    management.send(management.scratch(), each, index);
                }
            }
            case REQ_RECEIVED, REP_SENT, REP_RECEIVED -> {
                writeRejection(Rej.BY_CONSUMER);
                answer();
            }
            case SIDR_RECEIVED -> answerDatagram(SidrRep.REJECTED, 0);
            case ESTABLISHED -> {
                if (!isDatagram()) {
                    Dreq.write(message(), transaction, number, remoteNumber, remoteQueuePair);
                    transmit();
                }
            }
            case DREQ_RECEIVED -> {
                Mad.writeDrep(management.scratch(), transaction, number, remoteNumber);
                answer();
            }
            default -> {
                // Nobody waits for anything.
            }
        }
    }

    /** After {@link #destroy}. */
    void free() {
        block.free();
    }

    // Sending, and time.

    /** Sends what was written to the scratch memory, once. */
    private void answer() {
        management.send(management.scratch(), candidates.get(candidate), index);
    }

    private void transmit() {
        management.send(message(), candidates.get(candidate), index);
    }

    private void startSending(long first) {
        wait = first;
        giveUp = System.nanoTime() + PATIENCE;
        transmit();
        waitFor(first);
    }

    private void waitFor(long nanos) {
        boolean already = waiting;
        waiting = true;
        deadline = System.nanoTime() + nanos;
        management.device.wakeAt(this, already);
    }

    private void stopWaiting() {
        if (waiting) {
            waiting = false;
            management.device.forget(this);
        }
    }

    @Override
    public long deadline() {
        return deadline;
    }

    @Override
    public void expired() {
        waiting = false;
        if (state == State.TIMEWAIT) {
            state = State.OVER;
            if (request != null) {
                management.unregister(request, this);
            }
            tell(rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT(), 0);
            return;
        }
        boolean asking = state == State.REQ_SENT || state == State.SIDR_SENT;
        long left = giveUp - System.nanoTime();
        if (left <= 0) {
            giveUp();
        } else if (asking && refused && PATIENCE - left > PROBE_PATIENCE) {
            boolean datagram = isDatagram();
            state = State.OVER;
            tell(
                    datagram ? rdma_h.RDMA_CM_EVENT_UNREACHABLE() : rdma_h.RDMA_CM_EVENT_REJECTED(),
                    datagram ? SidrRep.UNSUPPORTED : Rej.INVALID_SERVICE);
        } else {
            if (asking && candidates.size() > 1) {
                candidate = (candidate + 1) % candidates.size();
                ask();
            }
            transmit();
            wait = Math.min(2 * wait, LONGEST_WAIT);
            // While it is not known who is meant, none is kept waiting for long.
            waitFor(asking && candidates.size() > 1 ? Math.min(wait, FIRST_WAIT) : wait);
        }
    }

    // Groups.

    private record Group(InetSocketAddress address, long context) {}

    private final List<Group> groups = new ArrayList<>();

    /** Only the word of it: datagrams to groups stay on this device, and go to those that are attached. */
    int join(InetSocketAddress group, long context) {
        if (index < 0 || !isDatagram() || !group.getAddress().isMulticastAddress()) {
            return -Verbs.EINVAL;
        }
        groups.add(new Group(group, context));
        SoftCmEvent event = new SoftCmEvent(this, null, rdma_h.RDMA_CM_EVENT_MULTICAST_JOIN(), 0);
        MemorySegment datagram = event.datagram();
        rdma_ud_param.private_data(datagram, MemorySegment.ofAddress(context));
        rdma_ud_param.qp_num(datagram, MULTICAST_QUEUE_PAIR);
        rdma_ud_param.qkey(datagram, DATAGRAM_QKEY);
        MemorySegment address = rdma_ud_param.ah_attr(datagram);
        boolean version4 = group.getAddress() instanceof Inet4Address;
        long high = version4 ? MULTICAST_GID : LocalAddresses.high(group.getAddress());
        writeRoute(address, high, LocalAddresses.low(group.getAddress()));
        tell(event);
        return 0;
    }

    int leave(InetSocketAddress group) {
        for (Group each : groups) {
            if (each.address().getAddress().equals(group.getAddress())) {
                groups.remove(each);
                return 0;
            }
        }
        return -Verbs.EADDRNOTAVAIL;
    }

    private void giveUp() {
        if (state == State.DREQ_SENT) {
            linger();
            tell(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), -Verbs.ETIMEDOUT);
        } else {
            state = State.OVER;
            tell(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), -Verbs.ETIMEDOUT);
        }
    }

    // Queue pairs.

    /** Writes what a queue pair needs for the state that struct ibv_qp_attr asks for. */
    int initQueuePair(long attributes, long mask) {
        MemorySegment attr = Native.struct(attributes, ibv_qp_attr.layout());
        int target = ibv_qp_attr.qp_state(attr);
        if (index < 0) {
            return -Verbs.EINVAL;
        }
        if (isDatagram() || state.compareTo(State.REQ_SENT) < 0) {
            writeInit(attr, mask, 0);
            if (target == Verbs.RTR) {
                ibv_qp_attr.rq_psn(attr, localPsn);
            }
            return 0;
        }
        boolean known = state.compareTo(State.REQ_RECEIVED) >= 0 && state.compareTo(State.ESTABLISHED) <= 0;
        if (target == Verbs.INIT && (known || state == State.REQ_SENT)) {
            writeInit(attr, mask, ACCESS | (responderResources > 0 ? MORE_ACCESS : 0));
        } else if (target == Verbs.RTR && known) {
            writeReadyToReceive(attr, mask);
        } else if (target == Verbs.RTS && known) {
            writeReadyToSend(attr, mask);
        } else {
            return -Verbs.EINVAL;
        }
        return 0;
    }

    private void writeInit(MemorySegment attr, long mask, int access) {
        int all = rdma_h.IBV_QP_STATE() | rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PORT();
        ibv_qp_attr.pkey_index(attr, (short) 0);
        ibv_qp_attr.port_num(attr, (byte) 1);
        if (isDatagram()) {
            ibv_qp_attr.qkey(attr, DATAGRAM_QKEY);
            all |= rdma_h.IBV_QP_QKEY();
        } else {
            ibv_qp_attr.qp_access_flags(attr, access);
            all |= rdma_h.IBV_QP_ACCESS_FLAGS();
        }
        Memory.putInt(mask, all);
    }

    private void writeReadyToReceive(MemorySegment attr, long mask) {
        int all = rdma_h.IBV_QP_STATE()
                | rdma_h.IBV_QP_AV()
                | rdma_h.IBV_QP_PATH_MTU()
                | rdma_h.IBV_QP_DEST_QPN()
                | rdma_h.IBV_QP_RQ_PSN();
        writeRoute(ibv_qp_attr.ah_attr(attr));
        ibv_qp_attr.path_mtu(attr, mtu);
        ibv_qp_attr.dest_qp_num(attr, remoteQueuePair);
        ibv_qp_attr.rq_psn(attr, localPsn);
        if (queuePairType == Verbs.RC) {
            all |= rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC() | rdma_h.IBV_QP_MIN_RNR_TIMER();
            ibv_qp_attr.max_dest_rd_atomic(attr, (byte) responderResources);
            ibv_qp_attr.min_rnr_timer(attr, (byte) 0);
        }
        Memory.putInt(mask, all);
    }

    private void writeReadyToSend(MemorySegment attr, long mask) {
        int all = rdma_h.IBV_QP_STATE() | rdma_h.IBV_QP_SQ_PSN();
        ibv_qp_attr.sq_psn(attr, remotePsn);
        if (queuePairType == Verbs.RC) {
            all |= rdma_h.IBV_QP_TIMEOUT()
                    | rdma_h.IBV_QP_RETRY_CNT()
                    | rdma_h.IBV_QP_RNR_RETRY()
                    | rdma_h.IBV_QP_MAX_QP_RD_ATOMIC();
            ibv_qp_attr.timeout(attr, (byte) ackTimeout);
            ibv_qp_attr.retry_cnt(attr, (byte) retryCount);
            ibv_qp_attr.rnr_retry(attr, (byte) rnrRetryCount);
            ibv_qp_attr.max_rd_atomic(attr, (byte) initiatorDepth);
        }
        Memory.putInt(mask, all);
    }

    /** The way to the other side, a struct ibv_ah_attr. */
    private void writeRoute(MemorySegment address) {
        writeRoute(address, remoteGidHigh(), LocalAddresses.low(remote.getAddress()));
    }

    private void writeRoute(MemorySegment address, long high, long low) {
        MemorySegment route = ibv_ah_attr.grh(address);
        long gid = ibv_global_route.dgid(route).address();
        Memory.putNetLong(gid, high);
        Memory.putNetLong(gid + Long.BYTES, low);
        ibv_global_route.sgid_index(route, (byte) index);
        ibv_global_route.hop_limit(route, (byte) HOPS);
        ibv_global_route.traffic_class(route, (byte) typeOfService);
        ibv_ah_attr.is_global(address, (byte) 1);
        ibv_ah_attr.port_num(address, (byte) 1);
    }
}
