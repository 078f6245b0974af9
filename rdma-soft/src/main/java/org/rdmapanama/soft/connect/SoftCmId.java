package org.rdmapanama.soft.connect;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.SecretNumbers;
import org.rdmapanama.ffm.internal.SocketAddresses;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.rdma_cm_id;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.VerbsConstants;
import org.rdmapanama.soft.cm.Req;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.net.LocalAddresses;
import org.rdmapanama.soft.net.PortClaim;
import org.rdmapanama.soft.net.Wire;
import org.rdmapanama.soft.wire.Psn;

/**
 * An id, a struct rdma_cm_id: binds to an address and listens, or resolves the address of a peer and connects. The
 * exchange of datagrams with the peer is a {@link CmExchange}.
 *
 * <p>{@link SoftConnectionManager} calls it for the program, {@link SoftManagement} for datagrams that arrive.
 * Callers must hold the lock of the device, except for {@link #seen}.
 */
final class SoftCmId {
    /** In the order in which an id passes through them. */
    private enum IdState {
        IDLE,
        BOUND,
        LISTENING,
        RESOLVED,
        ROUTED,
        EXCHANGING
    }

    private static final int DEFAULT_BACKLOG = 1024;
    private static final int TIMEOUT_BITS = 0x1f;
    private static final int PORT_TRIES = 64;

    private final SoftManagement management;
    private final int portSpace;
    private final int queuePairType;
    private final NativeBlock struct = new NativeBlock(rdma_cm_id.sizeof());
    private final CmAddresses addresses;
    private final CmTerms terms;
    private final CmGroups groups = new CmGroups(this);
    private SoftEventChannel channel;
    private IdState state = IdState.IDLE;

    /** The exchange with the peer; null before it has begun. */
    private CmExchange exchange;

    // Options.
    private boolean sharesPort;
    private boolean familyOnly;
    private int typeOfService;

    /** What keeps other processes from the port. */
    private final PortClaim claim = new PortClaim();

    /** Of a listening id: how many requests the program has not taken yet; the backlog limits them. */
    private final AtomicInteger unseen = new AtomicInteger();

    private int backlog;

    SoftCmId(SoftManagement management, SoftEventChannel channel, int portSpace, int queuePairType) {
        this.management = management;
        this.channel = channel;
        this.portSpace = portSpace;
        this.queuePairType = queuePairType;
        addresses = new CmAddresses(management, struct.address());
        terms = new CmTerms(SecretNumbers.next(Psn.BITS));
        MemorySegment id = segment();
        rdma_cm_id.channel(id, MemorySegment.ofAddress(channel == null ? 0 : channel.address()));
        rdma_cm_id.ps(id, portSpace);
        rdma_cm_id.qp_type(id, queuePairType);
    }

    /** Creates the id of a request to a listener. */
    static SoftCmId ofRequest(
            SoftManagement management,
            SoftCmId listener,
            SoftManagement.Request request,
            InetSocketAddress remote,
            int index) {
        SoftCmId id = new SoftCmId(management, listener.channel, listener.portSpace, listener.queuePairType);
        id.typeOfService = listener.typeOfService;
        id.terms.ackTimeout = listener.terms.ackTimeout;
        id.begin(id.newExchange(request));
        InetAddress local = management.addresses().address(index);
        id.addresses.setLocal(
                new InetSocketAddress(local, listener.addresses.local().getPort()));
        id.addresses.setRemote(remote);
        return id;
    }

    private MemorySegment segment() {
        return Native.struct(struct.address(), rdma_cm_id.layout());
    }

    long address() {
        return struct.address();
    }

    int portSpace() {
        return portSpace;
    }

    boolean isDatagram() {
        return queuePairType == VerbsConstants.UD;
    }

    int transportService() {
        return queuePairType == VerbsConstants.UC ? Req.UC : Req.RC;
    }

    CmAddresses addresses() {
        return addresses;
    }

    CmTerms terms() {
        return terms;
    }

    int typeOfService() {
        return typeOfService;
    }

    // Addresses.

    /** Binds for a program that may listen next, to a port that no other process of this machine has. */
    int bind(InetSocketAddress address) {
        boolean any = address.getPort() == 0;
        int result = -Errno.EADDRINUSE;
        for (int i = 0; result == -Errno.EADDRINUSE && i < (any ? PORT_TRIES : 1); i++) {
            result = bindHere(address);
            if (result == 0 && !sharesPort) {
                result = claimPort();
                if (result < 0) {
                    unbind();
                }
            }
        }
        if (any) {
            // Most ids with a port that they did not choose are clients, for which a descriptor would be too much.
            claim.close();
        }
        return result;
    }

    private int bindHere(InetSocketAddress address) {
        if (state != IdState.IDLE) {
            return -Errno.EINVAL;
        }
        boolean any = address.getAddress().isAnyLocalAddress();
        if (!any && management.addresses().indexOf(address.getAddress()) < 0) {
            return -Errno.EADDRNOTAVAIL;
        }
        int port = management.takePort(this, address.getAddress(), address.getPort(), sharesPort);
        if (port == 0) {
            return -Errno.EADDRINUSE;
        }
        addresses.setLocal(new InetSocketAddress(address.getAddress(), port));
        state = IdState.BOUND;
        return 0;
    }

    private int claimPort() {
        LocalAddresses all = management.addresses();
        List<InetAddress> own = IntStream.range(0, all.count())
                .mapToObj(all::address)
                .filter(each -> addresses.includes(each, familyOnly))
                .toList();
        return claim.take(portSpace, addresses.local().getPort(), own);
    }

    private void unbind() {
        management.givePort(this, addresses.local().getPort());
        addresses.clearLocal();
        state = IdState.IDLE;
    }

    boolean sharesPort() {
        return sharesPort && state != IdState.LISTENING;
    }

    boolean overlaps(InetAddress address) {
        return addresses.overlaps(address, familyOnly);
    }

    boolean isWildcard() {
        return addresses.isWildcard();
    }

    boolean listensAt(InetAddress address) {
        return state == IdState.LISTENING && addresses.includes(address, familyOnly);
    }

    /** Resolves the address of a peer, given the local address that leads there, or the errno if there is none. */
    int resolve(InetSocketAddress source, InetSocketAddress destination, InetAddress from, int errno) {
        InetSocketAddress own = state == IdState.IDLE ? source : addresses.local();
        if (own != null && Wire.family(own.getAddress()) != Wire.family(destination.getAddress())) {
            return -Errno.EINVAL;
        }
        if (state == IdState.IDLE && source != null) {
            int result = bindHere(source);
            if (result < 0) {
                return result;
            }
        }
        if (state != IdState.IDLE && state != IdState.BOUND) {
            return -Errno.EINVAL;
        }
        InetAddress way = wayTo(destination.getAddress(), from);
        int result = way == null ? errno : 0;
        if (result == 0 && (addresses.local() == null || isWildcard())) {
            result = choose(way);
        }
        if (result == 0 && !management.addresses().leadsTo(addresses.index(), destination.getAddress())) {
            // The program has bound it to the loopback address.
            result = -Errno.ENODEV;
        }
        if (result == -Errno.EADDRINUSE) {
            // Like the kernel, which binds before it looks for a route.
            return result;
        }
        if (result == 0) {
            addresses.setRemote(destination);
            state = IdState.RESOLVED;
            tell(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED(), 0);
        } else {
            tell(rdma_h.RDMA_CM_EVENT_ADDR_ERROR(), result);
        }
        return 0;
    }

    /**
     * Returns the local address that leads to a destination, given the one that the system would choose. Groups are within
     * this process, so to them any address of the same family leads.
     */
    private InetAddress wayTo(InetAddress destination, InetAddress chosen) {
        LocalAddresses own = management.addresses();
        if (!destination.isMulticastAddress() || (chosen != null && own.indexOf(chosen) >= 0)) {
            return chosen;
        }
        return IntStream.range(0, own.count())
                .mapToObj(own::address)
                .filter(each -> Wire.family(each) == Wire.family(destination))
                .findFirst()
                .orElse(chosen);
    }

    /** Sets the local address, and takes a port if there is none yet. */
    private int choose(InetAddress from) {
        if (management.addresses().indexOf(from) < 0) {
            return -Errno.ENODEV;
        }
        InetSocketAddress local = addresses.local();
        int port = local == null ? management.takePort(this, from, 0, false) : local.getPort();
        if (port == 0) {
            return -Errno.EADDRINUSE;
        }
        addresses.setLocal(new InetSocketAddress(from, port));
        return 0;
    }

    InetSocketAddress remote() {
        return addresses.remote();
    }

    int resolveRoute() {
        if (state != IdState.RESOLVED) {
            return -Errno.EINVAL;
        }
        state = IdState.ROUTED;
        tell(rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED(), 0);
        return 0;
    }

    int listen(int newBacklog) {
        if (state == IdState.IDLE) {
            int result = bind(new InetSocketAddress(SocketAddresses.host(new byte[Integer.BYTES]), 0));
            if (result < 0) {
                return result;
            }
        }
        if (state != IdState.BOUND) {
            return -Errno.EINVAL;
        }
        if (!claim.isHeld()) {
            // Of those that share a port, one may listen.
            int result = claimPort();
            if (result < 0) {
                return result;
            }
        }
        backlog = newBacklog <= 0 ? DEFAULT_BACKLOG : Math.min(newBacklog, DEFAULT_BACKLOG);
        state = IdState.LISTENING;
        return 0;
    }

    boolean hasRoom() {
        return unseen.get() < backlog;
    }

    /** Returns whether there is room for a request that found none before: for a quarter more. */
    boolean hasRoomForRepeated() {
        return unseen.get() < backlog + Math.max(1, backlog / 4);
    }

    /** Called when the program has taken a request, without the lock of the device. */
    void seen() {
        unseen.decrementAndGet();
    }

    int setOption(int option, long value, long size) {
        boolean isByte = option == rdma_h.RDMA_OPTION_ID_TOS() || option == rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT();
        if (size != (isByte ? Byte.BYTES : Integer.BYTES)) {
            return -Errno.EINVAL;
        }
        if (option == rdma_h.RDMA_OPTION_ID_TOS()) {
            typeOfService = Byte.toUnsignedInt(Memory.getByte(value));
        } else if (option == rdma_h.RDMA_OPTION_ID_REUSEADDR()) {
            sharesPort = Memory.getInt(value) != 0;
        } else if (option == rdma_h.RDMA_OPTION_ID_AFONLY()) {
            if (state != IdState.IDLE) {
                return -Errno.EINVAL;
            }
            familyOnly = Memory.getInt(value) != 0;
        } else if (option == rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT()) {
            terms.ackTimeout = Memory.getByte(value) & TIMEOUT_BITS;
        } else {
            return -Errno.ENOSYS;
        }
        return 0;
    }

    // Events.

    void tell(SoftCmEvent event) {
        if (channel == null) {
            event.free();
        } else {
            channel.add(event);
        }
    }

    private void tell(int type, int status) {
        tell(new SoftCmEvent(this, null, type, status));
    }

    void migrate(SoftEventChannel target) {
        List<SoftCmEvent> events = channel == null ? List.of() : channel.takeOut(this);
        moveTo(target);
        for (SoftCmEvent each : events) {
            // Requests that the program has not taken move along.
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

    // The exchange with the peer.

    private CmExchange newExchange(SoftManagement.Request request) {
        return isDatagram()
                ? new ServiceResolutionExchange(this, management, request)
                : new ConnectionExchange(this, management, request);
    }

    private void begin(CmExchange begun) {
        exchange = begun;
        state = IdState.EXCHANGING;
    }

    /** Asks for a connection, given the devices of this machine that may serve it, or the one of another machine. */
    int connect(MemorySegment parameters, List<InetSocketAddress> devices) {
        if (state != IdState.ROUTED) {
            return -Errno.EINVAL;
        }
        CmExchange asking = newExchange(null);
        int result = asking.connect(parameters, devices);
        if (result < 0) {
            asking.free();
        } else {
            begin(asking);
        }
        return result;
    }

    /** Handles the request that created this id. */
    void takeRequest(long mad, SoftCmId listener) {
        listener.unseen.incrementAndGet();
        exchange.takeRequest(mad, listener);
    }

    /** Handles a repetition of that request. */
    void takeRequestAgain() {
        exchange.takeRequestAgain();
    }

    /**
     * Handles a datagram, but only from a socket at which the peer's device is or may be: any host can send datagrams.
     */
    boolean take(int kind, long mad, InetSocketAddress sender) {
        if (!addresses.peers().contains(sender)) {
            return false;
        }
        exchange.take(kind, mad, sender);
        return true;
    }

    /** Calls the exchange; returns -EINVAL if there is none. */
    private int ofExchange(ToIntFunction<CmExchange> call) {
        return exchange == null ? -Errno.EINVAL : call.applyAsInt(exchange);
    }

    int accept(MemorySegment parameters) {
        return ofExchange(each -> each.accept(parameters));
    }

    int reject(int reason, MemorySegment privateBytes, int count) {
        return ofExchange(each -> each.reject(reason, privateBytes, count));
    }

    int establish() {
        return ofExchange(CmExchange::establish);
    }

    int notifyEvent(int event) {
        return event == rdma_h.IBV_EVENT_COMM_EST() ? ofExchange(CmExchange::takeAsReady) : -Errno.EINVAL;
    }

    int disconnect() {
        return ofExchange(CmExchange::disconnect);
    }

    /** Ends the connection, or rejects the one that is being set up, because this process ends. */
    void exit() {
        if (exchange != null) {
            exchange.exit();
        }
    }

    /** The process has ended that had a socket. */
    void peerGone(InetSocketAddress peer) {
        if (exchange != null && addresses.peers().isAt(peer)) {
            exchange.peerGone(Errno.ECONNRESET);
        }
    }

    int keepAlive(long time, long timeout) {
        if (isDatagram() || time <= 0 || timeout <= 0) {
            return -Errno.EINVAL;
        }
        terms.keepAliveTime = time;
        terms.keepAliveTimeout = timeout;
        return 0;
    }

    // Groups.

    int join(InetSocketAddress group, long context) {
        if (addresses.index() < 0 || !isDatagram() || !group.getAddress().isMulticastAddress()) {
            return -Errno.EINVAL;
        }
        groups.join(group, context);
        return 0;
    }

    int leave(InetSocketAddress group) {
        return groups.leave(group) ? 0 : -Errno.EADDRNOTAVAIL;
    }

    // Queue pairs.

    /** Writes the attributes of a queue pair for the state that the struct ibv_qp_attr names. */
    int initQueuePair(long attributes, long mask) {
        MemorySegment attr = Native.struct(attributes, ibv_qp_attr.layout());
        if (addresses.index() < 0) {
            return -Errno.EINVAL;
        }
        if (exchange != null) {
            return exchange.initQueuePair(attr, mask);
        }
        if (isDatagram()) {
            CmQueuePair.writeDatagram(attr, mask, terms.localPsn);
        } else {
            CmQueuePair.writeInit(attr, mask, 0);
        }
        return 0;
    }

    // Destroying.

    /** Ends the id and drops its pending events. Returns the ids of pending requests, which the caller must destroy. */
    List<SoftCmId> destroy() {
        List<SoftCmId> requests = new ArrayList<>();
        for (SoftCmEvent each : channel == null ? List.<SoftCmEvent>of() : channel.takeOut(this)) {
            if (each.listener == this) {
                requests.add(each.id);
            }
            each.free();
        }
        if (exchange != null) {
            exchange.end();
        }
        InetSocketAddress local = addresses.local();
        if (local != null && (exchange == null || exchange.request == null)) {
            management.givePort(this, local.getPort());
        }
        claim.close();
        return requests;
    }

    /** Frees the memory, after {@link #destroy}. */
    void free() {
        if (exchange != null) {
            exchange.free();
        }
        struct.free();
    }
}
