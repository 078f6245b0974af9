package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ffm.verbs.rdma_conn_param;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.cm.IpHeader;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.wire.Memory;

/**
 * What two ids say to each other, in datagrams of the connection manager: who asks sends a request, again and again until
 * there is an answer, or time is over. Whoever calls has the device's lock.
 */
abstract class CmExchange implements Timed {
    private static final Logger LOG = LogManager.getLogger(CmExchange.class);

    static final long MILLI = 1_000_000L;

    /** What was lost is sent again after this long, then after twice as long, and so on until the longest. */
    static final long FIRST_WAIT = 250 * MILLI;

    private static final long LONGEST_WAIT = 4300 * MILLI;

    /** As long as the kernel tries. */
    private static final long PATIENCE = 68_000 * MILLI;

    /** Where several devices of this machine may be meant, each has this long to answer before the next is asked. */
    private static final long PROBE_WAIT = 100 * MILLI;

    /** And after this long, where at least one said that it is not meant, the others are taken to be none. */
    private static final long PROBE_PATIENCE = 4000 * MILLI;

    private static final int PORT_BITS = 16;

    final SoftCmId id;
    final SoftManagement management;
    final CmAddresses addresses;
    final CmCandidates peers;

    /** Of who is asked: by what; null of who asks. */
    final SoftManagement.Request request;

    // Numbers of both sides, and of the exchange.
    int number;
    int remoteNumber;
    long transaction;

    /** The datagram that is sent again. */
    private final NativeBlock message = new NativeBlock(Mad.BYTES);

    private byte[] privateData = {};

    // Time.
    private long deadline;
    private boolean waiting;
    private long wait;
    private long giveUp;

    /** Whether anything receives there; null as long as nobody wonders. */
    private PortProbe probe;

    /** Of who asks, or of who was asked by a request. */
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

    // What kinds of exchange differ in.

    /** How many bytes of private data a request has room for. */
    abstract int roomInRequest();

    /** Begins to ask, with what a struct rdma_conn_param wants; zero or a negative errno. */
    abstract int begin(MemorySegment parameters);

    /** Writes the request, all but its private data; at what distance those are. */
    abstract int writeRequest(long mad, long service);

    /** Whether nothing has come back yet. */
    abstract boolean isAsking();

    /** Nobody serves what is asked for. */
    abstract void refusedByAll();

    /** No answer came in all that time. */
    abstract void giveUp(int errno);

    /** A datagram of a kind from the other side. */
    abstract void take(int kind, long mad, InetSocketAddress sender);

    /** The request, of who is asked; with who listens. */
    abstract void takeRequest(long mad, SoftCmId listener);

    /** The same once more: the answer was lost, or takes long. */
    abstract void takeRequestAgain();

    abstract int accept(MemorySegment parameters);

    abstract int reject(int reason, MemorySegment privateBytes, int count);

    abstract int establish();

    /** The program knows that the other side is ready, though it has not said so. */
    abstract int takeAsReady();

    abstract int disconnect();

    /** Tells the other side that the id ends. */
    abstract void leave();

    /** Writes what a queue pair needs for the state that a struct ibv_qp_attr asks for. */
    abstract int initQueuePair(MemorySegment attr, long mask);

    // Asking.

    /** Asks one of several devices of this machine, or that of another. */
    final int connect(MemorySegment parameters, List<InetSocketAddress> devices) {
        int bytes = Byte.toUnsignedInt(rdma_conn_param.private_data_len(parameters));
        if (bytes > roomInRequest() - IpHeader.BYTES) {
            return -Verbs.EINVAL;
        }
        int result = begin(parameters);
        if (result < 0) {
            return result;
        }
        privateData = bytes(rdma_conn_param.private_data(parameters), bytes);
        // Where this machine is meant, this device, which is no candidate then, does not serve it.
        boolean here = management.addresses().indexOf(addresses.remote().getAddress()) >= 0;
        peers.set(devices, here && !management.isServedHere(id));
        number = management.register(id);
        transaction = Integer.toUnsignedLong(number);
        ask();
        startSending(peers.areSeveral() ? PROBE_WAIT : FIRST_WAIT);
        return 0;
    }

    /** Writes the request to the device that it is meant for at the moment. */
    private void ask() {
        addresses.writeRemoteGid();
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

    /** A device of this machine does not serve what is asked for; whether there are others. */
    final boolean askNext(InetSocketAddress without) {
        if (!peers.areSeveral()) {
            return false;
        }
        if (peers.leaveOut(without)) {
            ask();
            transmit();
            waitFor(peers.areSeveral() ? PROBE_WAIT : FIRST_WAIT);
        }
        return true;
    }

    // Bytes of programs.

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

    /** Where to write a datagram that is sent once. */
    final long scratch() {
        return management.scratch();
    }

    /** Sends what was written there. */
    final void answer() {
        management.send(scratch(), peers.current(), addresses.index());
    }

    final void transmit() {
        management.send(message(), peers.current(), addresses.index());
    }

    // Time.

    /** Sends the message until there is an answer. */
    final void startSending(long first) {
        wait = first;
        giveUp = System.nanoTime() + PATIENCE;
        transmit();
        waitFor(first);
    }

    /** The answer takes so much longer. */
    final void waitLonger(long nanos) {
        giveUp = System.nanoTime() + nanos + PATIENCE;
        waitFor(nanos);
    }

    final void waitFor(long nanos) {
        boolean already = waiting;
        waiting = true;
        deadline = System.nanoTime() + nanos;
        management.device.turns.wakeAt(this, already);
    }

    final void stopWaiting() {
        stopProbing();
        if (waiting) {
            waiting = false;
            management.device.turns.forget(this);
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

    /** What was waited for has not come: tries again, or gives up. */
    void timeIsOver() {
        long left = giveUp - System.nanoTime();
        if (left <= 0) {
            stopProbing();
            giveUp(Verbs.ETIMEDOUT);
        } else if (isAsking() && !peers.areSeveral() && isNobodyThere()) {
            stopProbing();
            giveUp(Verbs.EHOSTUNREACH);
        } else if (isAsking() && peers.isRefused() && PATIENCE - left > PROBE_PATIENCE) {
            refusedByAll();
        } else {
            sendAgain();
        }
    }

    /** Whether the host says that it has no such device; it is asked when the first answer does not come. */
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
        wait = Math.min(2 * wait, LONGEST_WAIT);
        // While it is not known who is meant, none is kept waiting for long.
        waitFor(probes ? Math.min(wait, FIRST_WAIT) : wait);
    }

    /** Ends it, without a word of it to the program. */
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

    /** After {@link #end}. */
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
        LOG.error("a connection by address does not go on, because of what follows", cause);
    }
}
