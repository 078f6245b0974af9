package org.rdmapanama.soft.net;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteOrder;
import java.util.function.Predicate;
import org.rdmapanama.ffm.internal.SocketAddresses;
import org.rdmapanama.ffm.verbs.sockaddr_in;
import org.rdmapanama.ffm.verbs.sockaddr_in6;

/**
 * The peers by address and port: the same object each time, which is found without garbage for each packet. Any number of
 * hosts may send packets, so those that this device does not talk to are forgotten from time to time. Callers must hold
 * the lock of the device.
 */
final class Peers {
    private static final int FIRST_SLOTS = 64;

    /** How many senders that this device does not talk to are remembered. */
    private static final int MAX_STRANGERS = 1024;

    /** How many of all, beyond which all are forgotten. */
    private static final int MAX_PEERS = 1 << 16;

    private static final ValueLayout.OfShort PORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private final InetSocketAddress[] own;

    /** Whether an address can be sent many packets at once from the beginning. */
    private final Predicate<InetSocketAddress> batches;

    /** Open addressing: each peer is at the slot of its hash, or behind it. */
    private Peer[] slots = new Peer[FIRST_SLOTS];

    private int count;
    private int strangers;

    Peers(InetSocketAddress[] own, Predicate<InetSocketAddress> batches) {
        this.own = own.clone();
        this.batches = batches;
    }

    /** Returns the peer at an address. */
    Peer of(InetSocketAddress address) {
        InetAddress host = address.getAddress();
        Peer found = find(Gids.high(host), Gids.low(host), address.getPort());
        return found != null ? found : add(address);
    }

    /** Returns the peer at an address to which packets will be sent. */
    Peer toTalkTo(InetSocketAddress address) {
        Peer peer = of(address);
        if (peer.isStranger) {
            peer.isStranger = false;
            strangers--;
        }
        return peer;
    }

    /** Returns the peer with a struct sockaddr; {@code guess} may be it, or null. */
    Peer of(MemorySegment struct, Peer guess) {
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

    private Peer find(long high, long low, int port) {
        int mask = slots.length - 1;
        for (int i = hash(high, low, port) & mask; slots[i] != null; i = (i + 1) & mask) {
            if (slots[i].is(high, low, port)) {
                return slots[i];
            }
        }
        return null;
    }

    private static int hash(long high, long low, int port) {
        long mixed = (high * 31 + low) * 31 + port;
        mixed *= 0x9E37_79B9_7F4A_7C15L;
        return (int) (mixed >>> 32);
    }

    private Peer add(InetSocketAddress address) {
        if (strangers == MAX_STRANGERS || count == MAX_PEERS) {
            forget();
        }
        if (2 * (count + 1) > slots.length) {
            rebuild(2 * slots.length);
        }
        Peer peer = new Peer(address, own);
        peer.batches = batches.test(address);
        put(peer);
        count++;
        strangers++;
        return peer;
    }

    /** Forgets the peers that this device does not talk to, or all if there are too many others. */
    private void forget() {
        Peer[] all = slots;
        boolean keeps = count < MAX_PEERS;
        slots = new Peer[keeps ? slots.length : FIRST_SLOTS];
        count = 0;
        strangers = 0;
        for (Peer each : all) {
            if (keeps && each != null && !each.isStranger) {
                put(each);
                count++;
            }
        }
    }

    private void rebuild(int size) {
        Peer[] all = slots;
        slots = new Peer[size];
        for (Peer each : all) {
            if (each != null) {
                put(each);
            }
        }
    }

    private void put(Peer peer) {
        int mask = slots.length - 1;
        int i = hash(peer.gidHigh, peer.gidLow, peer.address.getPort()) & mask;
        while (slots[i] != null) {
            i = (i + 1) & mask;
        }
        slots[i] = peer;
    }
}
