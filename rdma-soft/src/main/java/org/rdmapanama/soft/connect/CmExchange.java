package org.rdmapanama.soft.connect;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.List;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.SecretNumbers;
import org.rdmapanama.ffm.verbs.rdma_conn_param;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.soft.Timed;
import org.rdmapanama.soft.cm.IpHeader;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.net.PortProbe;

/**
 * One exchange of connection manager datagrams between two ids: the active side sends a request, and repeats it until
 * an answer arrives or time is up. {@link ConnectionExchange} sets up connections, {@link ServiceResolutionExchange} looks up
 * datagram queue pairs.
 *
 * <p>{@link SoftCmId} owns it and forwards the calls of the program and the datagrams of the peer; {@link ProgressEngine} calls
 * {@link #expired} when a timer fires. Callers must hold the lock of the device.
 */
abstract class CmExchange implements Timed {
    static final Logger LOG = Logging.logger(CmExchange.class);

    static final long MILLI = 1_000_000L;

    /** How long to retry in total, the same as the kernel. */
    private static final long PATIENCE = 68_000 * MILLI;

    /** With several candidates on this machine, how long to wait for one before asking the next. */
    private static final long PROBE_WAIT = 100 * MILLI;

    /** With several candidates of which one has refused, when to conclude that the others do not exist. */
    private static final long PROBE_PATIENCE = 4000 * MILLI;

    private static final int PORT_BITS = 16;

    final SoftCmId id;
    final SoftManagement management;
    final CmAddresses addresses;
    final CmCandidates peers;

    /** The request being answered; null on the active side. */
    final SoftManagement.Request request;

    // Communication identifiers of both sides, and the transaction identifier.
    int number;
    int remoteNumber;
    long transaction;

    /** The datagram that is retransmitted. */
    private final NativeBlock message = new NativeBlock(Mad.BYTES);

    private byte[] privateData = {};

    // Timer.
    private long deadline;
    private boolean waiting;
    private long wait;
    private long giveUp;

    /** Checks whether the host has a socket at that port; null until the first answer is late. */
    private PortProbe probe;

    /** Creates the active side, or, with a request, the passive side of an exchange. */
    CmExchange(SoftCmId id, SoftManagement management, SoftManagement.Request request) {
        this.id = id;
        this.management = management;
        this.request = request;
        addresses = id.addresses();
        peers = addresses.peers();
        if (request != null) {
            peers.settle(request.sender());
            number = management.register(id);
            remoteNumber = request.number();
            management.register(request, id);
        }
    }

    // Differences between the kinds of exchange.

    /** Returns how many bytes of private data fit into a request. */
    abstract int roomInRequest();

    /** Takes the parameters of a struct rdma_conn_param for a request. Returns 0 or a negated errno. */
    abstract int begin(MemorySegment parameters);

    /** Writes the request without its private data. Returns the offset of the private data. */
    abstract int writeRequest(long mad, long service);

    /** Returns whether the request has not been answered yet. */
    abstract boolean isAsking();

    /** Called when all candidates have refused: no program listens for the service. */
    abstract void refusedByAll();

    /** Called when no answer came in time. */
    abstract void giveUp(int errno);

    /** Handles a datagram of the peer; {@code kind} is its attribute. */
    abstract void take(int kind, long mad, InetSocketAddress sender);

    /** Handles the request on the passive side, for a listening id. */
    abstract void takeRequest(long mad, SoftCmId listener);

    /** Handles a repeated request: the answer was lost, or takes long. */
    abstract void takeRequestAgain();

    /** Accepts the request. Returns 0 or a negated errno. */
    abstract int accept(MemorySegment parameters);

    /** Rejects the request. Returns 0 or a negated errno. */
    abstract int reject(int reason, MemorySegment privateBytes, int count);

    /** Confirms the peer's answer. Returns 0 or a negated errno. */
    abstract int establish();

    /** Called when data from the peer shows that it is ready, although its RTU has not arrived. */
    abstract int takeAsReady();

    /** Ends the connection. Returns 0 or a negated errno. */
    abstract int disconnect();

    /** Notifies the peer that the id is being destroyed. */
    abstract void leave();

    /** Notifies the peer that this process ends. */
    void exit() {
        leave();
    }

    /** Called when the peer is known to be gone, and why; the peer need not be told. */
    abstract void peerGone(int errno);

    /** Writes the attributes of a queue pair for the state that the struct ibv_qp_attr names. */
    abstract int initQueuePair(MemorySegment attr, long mask);

    // Requests.

    /** Sends the request to the candidates in turn: several devices of this machine, or one of another machine. */
    final int connect(MemorySegment parameters, List<InetSocketAddress> devices) {
        int bytes = Byte.toUnsignedInt(rdma_conn_param.private_data_len(parameters));
        if (bytes > roomInRequest() - IpHeader.BYTES) {
            return -Errno.EINVAL;
        }
        int result = begin(parameters);
        if (result < 0) {
            return result;
        }
        privateData = bytes(rdma_conn_param.private_data(parameters), bytes);
        // If the address belongs to this machine, this device has implicitly refused unless it serves the id itself.
        boolean here = management.addresses().indexOf(addresses.remote().getAddress()) >= 0;
        peers.set(devices, here && !management.isServedHere(id));
        number = management.register(id);
        ask();
        startSending(peers.areSeveral() ? PROBE_WAIT : firstWait());
        return 0;
    }

    /** Writes the request for the current candidate. */
    private void ask() {
        addresses.writeRemoteGid();
        transaction = SecretNumbers.nextLong();
        InetSocketAddress local = addresses.local();
        InetSocketAddress remote = addresses.remote();
        int header = writeRequest(message(), service(remote.getPort()));
        IpHeader.write(
                message() + header,
                local.getPort(),
                local.getAddress().getAddress(),
                remote.getAddress().getAddress());
        put(privateData, message() + header + IpHeader.BYTES);
    }

    final long service(int port) {
        return Integer.toUnsignedLong(id.portSpace() << PORT_BITS | port);
    }

    /** Called when a device of this machine refuses. Returns whether there are further candidates. */
    final boolean askNext(InetSocketAddress without) {
        if (!peers.areSeveral()) {
            return false;
        }
        if (peers.leaveOut(without)) {
            askAnew();
        }
        return true;
    }

    /** Sends another request in place of one that was refused. */
    final void askAnew() {
        ask();
        transmit();
        waitFor(peers.areSeveral() ? PROBE_WAIT : firstWait());
    }

    // Private data.

    static byte[] bytes(MemorySegment pointer, int count) {
        byte[] copy = new byte[count];
        for (int i = 0; i < count; i++) {
            copy[i] = Memory.getByte(pointer.address() + i);
        }
        return copy;
    }

    static void put(byte[] bytes, long to) {
        for (int i = 0; i < bytes.length; i++) {
            Memory.putByte(to + i, bytes[i]);
        }
    }

    // Sending.

    final long message() {
        return message.address();
    }

    /** Returns where to write a datagram that is sent only once. */
    final long scratch() {
        return management.scratch();
    }

    /** Sends the datagram in {@link #scratch}. */
    final void answer() {
        management.send(scratch(), peers.current(), addresses.index());
    }

    /** Sends the datagram in {@link #message}. */
    final void transmit() {
        management.send(message(), peers.current(), addresses.index());
    }

    // Timers and retransmission.

    /** Sends the message, and retransmits it until an answer arrives. */
    final long firstWait() {
        return management.device.cmTimes().firstWaitNanos();
    }

    final void startSending(long first) {
        wait = first;
        giveUp = System.nanoTime() + PATIENCE;
        transmit();
        waitFor(first);
    }

    /** Extends the timeout, because the peer announced a late answer. */
    final void waitLonger(long nanos) {
        giveUp = System.nanoTime() + nanos + PATIENCE;
        waitFor(nanos);
    }

    final void waitFor(long nanos) {
        boolean already = waiting;
        waiting = true;
        deadline = System.nanoTime() + nanos;
        management.device.engine.wakeAt(this, already);
    }

    final void stopWaiting() {
        stopProbing();
        if (waiting) {
            waiting = false;
            management.device.engine.forget(this);
        }
    }

    private void stopProbing() {
        if (probe != null) {
            probe.close();
            probe = null;
        }
    }

    @Override
    public final long deadline() {
        return deadline;
    }

    @Override
    public final void expired() {
        waiting = false;
        timeIsOver();
    }

    /** Handles a timeout: retransmits, or gives up. */
    void timeIsOver() {
        long left = giveUp - System.nanoTime();
        if (left <= 0) {
            stopProbing();
            giveUp(Errno.ETIMEDOUT);
        } else if (isAsking() && !peers.areSeveral() && isNobodyThere()) {
            stopProbing();
            if (peers.isRefused()) {
                // The last candidate has ended, and all others have refused.
                refusedByAll();
            } else {
                giveUp(Errno.EHOSTUNREACH);
            }
        } else if (isAsking() && peers.isRefused() && PATIENCE - left > PROBE_PATIENCE) {
            refusedByAll();
        } else {
            sendAgain();
        }
    }

    /** Returns whether the host reports the port unreachable; it is probed once the first answer is late. */
    private boolean isNobodyThere() {
        if (probe == null) {
            probe = new PortProbe(peers.current());
        }
        return probe.isRefused();
    }

    private void sendAgain() {
        boolean probes = isAsking() && peers.areSeveral();
        if (probes) {
            peers.next();
            ask();
        }
        transmit();
        wait = Math.min(2 * wait, management.device.cmTimes().longestWaitNanos());
        // While it is not known who is meant, none is kept waiting for long.
        waitFor(probes ? Math.min(wait, PROBE_WAIT) : wait);
    }

    /** Ends the exchange without an event for the program. */
    void end() {
        leave();
        stopWaiting();
        if (number != 0) {
            management.unregister(number);
        }
        if (request != null) {
            management.unregister(request, id);
        }
    }

    /** Frees the memory, after {@link #end}. */
    final void free() {
        message.free();
    }

    final void tell(int type, int status) {
        id.tell(event(type, status));
    }

    final SoftCmEvent event(int type, int status) {
        return new SoftCmEvent(id, null, type, status);
    }

    final SoftCmEvent requestEvent(SoftCmId listener) {
        return new SoftCmEvent(id, listener, rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0);
    }

    @Override
    public void failed(Throwable cause) {
        LOG.error("setting up or ending a connection failed unexpectedly", cause);
    }
}
