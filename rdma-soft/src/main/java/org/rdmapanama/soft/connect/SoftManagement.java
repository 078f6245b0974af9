package org.rdmapanama.soft.connect;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.rdmapanama.ffm.internal.SecretNumbers;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.ManagementQueuePair;
import org.rdmapanama.soft.SoftContext;
import org.rdmapanama.soft.SoftDevice;
import org.rdmapanama.soft.cm.IpHeader;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.cm.Rej;
import org.rdmapanama.soft.cm.Req;
import org.rdmapanama.soft.cm.SidrReq;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.net.LocalAddresses;
import org.rdmapanama.soft.wire.Psn;

/**
 * The device side of the connection manager: the ids by the identifiers in datagrams, and port numbers.
 * {@link SoftConnectionManager} creates it with the first event channel, id or device list; {@link ManagementQueuePair}
 * passes it the datagrams that arrive. Callers must hold the lock of the device.
 */
final class SoftManagement implements ManagementQueuePair.Receiver {
    private static final int PORT_BITS = 16;
    private static final int PORT_MASK = 0xffff;

    // The range of ports for ids that ask for any port.
    private static final int FIRST_PORT = 32768;
    private static final int PORTS = 28232;

    /** Locally administered. */
    private static final long GUID_MASK = 0x00ff_ffff_ffff_ffffL;

    private static final long GUID_MARK = 0x0200_0000_0000_0000L;

    final SoftContext context;
    final SoftDevice device;

    /**
     * The GUID of this process, which differs from that of the device: peers use it to tell whether two connections
     * come from the same place, with the same identifiers and queue pairs.
     */
    final long guid;

    private final SoftConnectionManager manager;
    private final NativeBlock scratch = new NativeBlock(Mad.BYTES);
    private final Map<Integer, SoftCmId> byNumber = new HashMap<>();
    private final Map<Request, SoftCmId> byRequest = new HashMap<>();
    private final Map<Integer, List<SoftCmId>> byPort = new HashMap<>();

    /** Null until a listener has more requests than it wants. */
    private DroppedRequests dropped;

    private int psn = SecretNumbers.next(Psn.BITS);

    /** Identifies a request: its sender, and its communication identifier there. */
    record Request(InetSocketAddress sender, int number, boolean datagram) {}

    SoftManagement(SoftConnectionManager manager, SoftContext context) {
        this.manager = manager;
        this.context = context;
        device = context.device();
        guid = (SecretNumbers.nextLong() & GUID_MASK) | GUID_MARK;
    }

    void free() {
        scratch.free();
    }

    LocalAddresses addresses() {
        return device.addresses();
    }

    // Numbers of ids.

    /** Registers an id. Returns its communication identifier. */
    int register(SoftCmId id) {
        int number;
        do {
            number = SecretNumbers.next(Integer.SIZE);
        } while (number == 0 || byNumber.containsKey(number));
        byNumber.put(number, id);
        return number;
    }

    void unregister(int number) {
        byNumber.remove(number);
    }

    void register(Request request, SoftCmId id) {
        byRequest.put(request, id);
    }

    void unregister(Request request, SoftCmId id) {
        byRequest.remove(request, id);
    }

    // Port numbers.

    private static int key(int portSpace, int port) {
        return portSpace << PORT_BITS | port;
    }

    /** Takes a port for an id; 0 asks for any. Returns the port, or 0 if it is in use. */
    int takePort(SoftCmId id, InetAddress address, int wanted, boolean shared) {
        int port = wanted == 0 ? freePort(id.portSpace()) : wanted;
        List<SoftCmId> others = byPort.computeIfAbsent(key(id.portSpace(), port), key -> new ArrayList<>(1));
        for (SoftCmId each : others) {
            if (each.overlaps(address) && !(shared && each.sharesPort())) {
                return 0;
            }
        }
        others.add(id);
        return port;
    }

    private int freePort(int portSpace) {
        int start = (int) Long.remainderUnsigned(SecretNumbers.nextLong(), PORTS);
        for (int i = 0; i < PORTS; i++) {
            int port = FIRST_PORT + (start + i) % PORTS;
            if (!byPort.containsKey(key(portSpace, port))) {
                return port;
            }
        }
        return FIRST_PORT;
    }

    void givePort(SoftCmId id, int port) {
        List<SoftCmId> all = byPort.get(key(id.portSpace(), port));
        if (all != null && all.remove(id) && all.isEmpty()) {
            byPort.remove(key(id.portSpace(), port));
        }
    }

    /** Returns the id that listens for a service at an address, or null. */
    SoftCmId listener(long service, InetAddress address) {
        if (service >>> PORT_BITS > PORT_MASK) {
            return null;
        }
        SoftCmId found = null;
        for (SoftCmId each : byPort.getOrDefault((int) service, List.of())) {
            if (each.listensAt(address) && (found == null || !each.isWildcard())) {
                found = each;
            }
        }
        return found;
    }

    /** Returns whether an id of this device listens for the service that an id asks for. */
    boolean isServedHere(SoftCmId id) {
        long service = Integer.toUnsignedLong(key(id.portSpace(), id.remote().getPort()));
        return listener(service, id.remote().getAddress()) != null;
    }

    static boolean isWildcardOf(InetAddress wildcard, InetAddress address, boolean familyOnly) {
        boolean version6 = wildcard instanceof Inet6Address;
        return wildcard.isAnyLocalAddress()
                && (version6 == address instanceof Inet6Address || (version6 && !familyOnly));
    }

    // Sending.

    /** Returns where to write a datagram that is sent only once. */
    long scratch() {
        return scratch.address();
    }

    void send(long mad, InetSocketAddress to, int index) {
        device.management().send(mad, to, index, psn++);
    }

    // Receiving.

    private void refuse(long mad, InetSocketAddress sender, int index, int reason) {
        device.management().refuse(mad, sender, index, reason);
    }

    @Override
    public void take(long mad, InetSocketAddress sender, int index) {
        int kind = Mad.attribute(mad);
        switch (kind) {
            case Mad.REQ -> takeRequest(mad, sender, index);
            case Mad.SIDR_REQ -> takeDatagramRequest(mad, sender, index);
            case Mad.SIDR_REP -> {
                SoftCmId id = byNumber.get(Mad.localId(mad));
                if (id != null) {
                    id.take(kind, mad, sender);
                }
            }
            case Mad.REP, Mad.RTU, Mad.MRA, Mad.REJ, Mad.DREQ, Mad.DREP -> {
                SoftCmId id = byNumber.get(Mad.remoteId(mad));
                if (id == null && kind == Mad.REJ && Rej.reason(mad) == Rej.TIMEOUT) {
                    // A peer that gives up before our answer does not know our identifier.
                    id = byRequest.get(new Request(sender, Mad.localId(mad), false));
                }
                if ((id == null || !id.take(kind, mad, sender)) && kind == Mad.DREQ) {
                    // The connection has ended and is forgotten: confirm, so that the peer stops asking.
                    refuse(mad, sender, index, 0);
                }
            }
            default -> {
                // Others, such as for alternate paths, which are not supported.
            }
        }
    }

    @Override
    public void peerGone(InetSocketAddress peer) {
        for (SoftCmId each : List.copyOf(byNumber.values())) {
            each.peerGone(peer);
        }
    }

    private void takeRequest(long mad, InetSocketAddress sender, int index) {
        Request request = new Request(sender, Mad.localId(mad), false);
        SoftCmId known = byRequest.get(request);
        if (known != null) {
            known.takeRequestAgain();
            return;
        }
        SoftCmId listener = listener(Req.service(mad), addresses().address(index));
        int reason = 0;
        if (listener == null) {
            reason = Rej.INVALID_SERVICE;
        } else if (listener.isDatagram() || Req.transportService(mad) != listener.transportService()) {
            reason = Rej.INVALID_TRANSPORT;
        } else if (Req.mtu(mad) < rdma_h.IBV_MTU_256() || Req.mtu(mad) > device.activeMtu(index)) {
            reason = Rej.INVALID_MTU;
        } else if (!IpHeader.isValid(mad + Req.PRIVATE)) {
            reason = Rej.UNSUPPORTED;
        }
        if (reason != 0) {
            refuse(mad, sender, index, reason);
        } else if (hasRoom(listener, request)) {
            InetSocketAddress remote =
                    new InetSocketAddress(sender.getAddress(), IpHeader.sourcePort(mad + Req.PRIVATE));
            manager.made(SoftCmId.ofRequest(this, listener, request, remote, index))
                    .takeRequest(mad, listener);
        }
    }

    /** Returns whether a request may wait at its listener; one that is repeated may even where no other one may. */
    private boolean hasRoom(SoftCmId listener, Request request) {
        if (listener.hasRoom()) {
            return true;
        }
        if (dropped == null) {
            dropped = new DroppedRequests();
        }
        return dropped.add(request) && listener.hasRoomForRepeated();
    }

    private void takeDatagramRequest(long mad, InetSocketAddress sender, int index) {
        Request request = new Request(sender, Mad.localId(mad), true);
        SoftCmId known = byRequest.get(request);
        if (known != null) {
            known.takeRequestAgain();
            return;
        }
        long service = SidrReq.service(mad);
        SoftCmId listener = listener(service, addresses().address(index));
        if (listener == null || !listener.isDatagram() || !IpHeader.isValid(mad + SidrReq.PRIVATE)) {
            refuse(mad, sender, index, 0);
        } else if (hasRoom(listener, request)) {
            InetSocketAddress remote =
                    new InetSocketAddress(sender.getAddress(), IpHeader.sourcePort(mad + SidrReq.PRIVATE));
            manager.made(SoftCmId.ofRequest(this, listener, request, remote, index))
                    .takeRequest(mad, listener);
        }
    }
}
