package org.rdmapanama.soft.net;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.rdmapanama.ffm.internal.SocketAddresses;
import org.rdmapanama.ffm.verbs.sockaddr_in;
import org.rdmapanama.ffm.verbs.sockaddr_in6;

/**
 * The peers that {@link Wire} knows, each by its address and port, which is found without garbage for each packet. Any
 * number of strangers may send, under any addresses, so only the last of those are remembered. But the peers of connections
 * and address handles are the same objects as long as these exist, however many strangers come: what a {@link Peer} has
 * learned of its packets must not get lost. Callers must hold the lock of the device.
 */
final class Peers {
    /** How many to remember whose packets have come, or got an answer. */
    static final int MOST_RECENT = 1024;

    private static final int SLOTS = 2 * MOST_RECENT;

    private static final ValueLayout.OfShort PORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    /** The sockets of this device: those that receive, by GID index, and behind them those that only send. */
    private final List<InetSocketAddress> own;

    /** Whether an address can be sent many packets at once from the beginning. */
    private final Predicate<InetSocketAddress> batches;

    /** Open addressing: each recent peer is at the slot of its hash, or behind it. */
    private final Peer[] slots = new Peer[SLOTS];

    private int recent;

    /** Those that the program sends to. The paths themselves hold them. */
    private final Map<InetSocketAddress, OfPath> ofPaths = new HashMap<>();

    private final ReferenceQueue<Peer> unused = new ReferenceQueue<>();

    private static final class OfPath extends WeakReference<Peer> {
        private final InetSocketAddress address;

        private OfPath(Peer peer, ReferenceQueue<Peer> unused) {
            super(peer, unused);
            address = peer.address;
        }
    }

    /** Creates this for a device with sockets at these addresses, by GID index. */
    Peers(Predicate<InetSocketAddress> batches, InetSocketAddress... own) {
        this.own = new ArrayList<>(List.of(own));
        this.batches = batches;
    }

    /** Adds a socket of this device that only sends. Returns its number, for {@link Peer#toThem}. */
    int addSender(InetSocketAddress socket) {
        own.add(socket);
        return own.size() - 1;
    }

    /** Returns whether an address is that of a socket of this device. */
    boolean isOwn(InetSocketAddress address) {
        for (int i = 0; i < own.size(); i++) {
            if (own.get(i).equals(address)) {
                return true;
            }
        }
        return false;
    }

    /** Returns the peer at an address, for a packet that has come or for an answer. */
    Peer at(InetSocketAddress address) {
        InetAddress host = address.getAddress();
        Peer found = find(Gids.high(host), Gids.low(host), address.getPort());
        return found != null ? found : add(address);
    }

    /** Returns the peer with a struct sockaddr; {@code guess} may be it, or null. */
    Peer at(MemorySegment struct, Peer guess) {
        boolean version4 = struct.get(ValueLayout.JAVA_SHORT, 0) == SocketAddresses.AF_INET;
        int port = Short.toUnsignedInt(struct.get(PORT, sockaddr_in.sin_port$offset()));
        long at = version4 ? sockaddr_in.sin_addr$offset() : sockaddr_in6.sin6_addr$offset();
        long high = version4 ? 0 : struct.get(LONG, at);
        long low = version4
                ? Gids.MAPPED | Integer.toUnsignedLong(struct.get(INT, at))
                : struct.get(LONG, at + Long.BYTES);
        if (guess != null && guess.is(high, low, port)) {
            return guess;
        }
        Peer found = find(high, low, port);
        return found != null ? found : add(SocketStructs.read(struct.address()));
    }

    /** Returns the peer at an address, which stays the same object from now on, as long as something refers to it. */
    Peer ofPath(InetSocketAddress address) {
        while (unused.poll() instanceof OfPath gone) {
            ofPaths.remove(gone.address, gone);
        }
        Peer peer = at(address);
        OfPath known = ofPaths.get(address);
        if (known == null || known.get() == null) {
            ofPaths.put(address, new OfPath(peer, unused));
        }
        return peer;
    }

    /** Returns how many are remembered. */
    int count() {
        return recent + ofPaths.size();
    }

    private Peer find(long high, long low, int port) {
        for (int i = slot(high, low, port); slots[i] != null; i = (i + 1) % SLOTS) {
            if (slots[i].is(high, low, port)) {
                return slots[i];
            }
        }
        return null;
    }

    private static int slot(long high, long low, int port) {
        long mixed = ((high * 31 + low) * 31 + port) * 0x9E37_79B9_7F4A_7C15L;
        return (int) (mixed >>> 32) & SLOTS - 1;
    }

    private Peer add(InetSocketAddress address) {
        OfPath known = ofPaths.get(address);
        Peer peer = known == null ? null : known.get();
        if (peer == null) {
            peer = new Peer(address, own);
            peer.batches = batches.test(address);
        }
        if (recent == MOST_RECENT) {
            Arrays.fill(slots, null);
            recent = 0;
        }
        int i = slot(peer.gidHigh, peer.gidLow, address.getPort());
        while (slots[i] != null) {
            i = (i + 1) % SLOTS;
        }
        slots[i] = peer;
        recent++;
        return peer;
    }
}
