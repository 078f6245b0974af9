package org.rdmapanama.soft.net;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.HashMap;
import java.util.Map;

/**
 * The peers that {@link Wire} knows, each by its address. Any number of strangers may send, under any addresses, so only
 * the last of those are remembered. But the peers of connections and address handles are the same objects as long as these
 * exist, however many strangers come: what a {@link Peer} has learned of its packets must not get lost. Callers must hold
 * the lock of the device.
 */
final class Peers {
    /** How many to remember whose packets have come, or got an answer. */
    static final int MOST_RECENT = 1024;

    private final InetSocketAddress[] own;
    private final Map<SocketAddress, Peer> recent = new HashMap<>();

    /** Those that the program sends to. The paths themselves hold them. */
    private final Map<SocketAddress, OfPath> ofPaths = new HashMap<>();

    private final ReferenceQueue<Peer> unused = new ReferenceQueue<>();

    private static final class OfPath extends WeakReference<Peer> {
        private final InetSocketAddress address;

        private OfPath(Peer peer, ReferenceQueue<Peer> unused) {
            super(peer, unused);
            address = peer.address;
        }
    }

    /** Creates this for a device with sockets at these addresses, by GID index. */
    Peers(InetSocketAddress... own) {
        this.own = own.clone();
    }

    /** Returns the peer at an address, for a packet that has come or for an answer. */
    Peer at(InetSocketAddress address) {
        Peer peer = recent.get(address);
        if (peer == null) {
            OfPath known = ofPaths.get(address);
            peer = known == null ? null : known.get();
            if (peer == null) {
                peer = new Peer(address, own);
            }
            if (recent.size() == MOST_RECENT) {
                recent.clear();
            }
            recent.put(address, peer);
        }
        return peer;
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
        return recent.size() + ofPaths.size();
    }
}
