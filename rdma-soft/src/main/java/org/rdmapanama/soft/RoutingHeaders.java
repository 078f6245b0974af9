package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Flow;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Memory;

/** The headers before the data of datagrams, which tell where these come from: one at a time. */
final class RoutingHeaders {
    static final int BYTES = 40;

    private static final int IPV4_BYTES = 20;
    private static final int UDP = 17;
    private static final int UDP_BYTES = 8;
    private static final int HOPS = 64;

    private final LocalAddresses addresses;
    private final NativeBlock header = new NativeBlock(BYTES);

    RoutingHeaders(LocalAddresses addresses) {
        this.addresses = addresses;
    }

    /** The header before the data of a datagram: of IPv4 in its last 20 bytes, of IPv6 in all 40. */
    long of(SoftAddressHandle to, long bytes) {
        int length = (int) (SoftDevice.TRANSPORT_BYTES + bytes);
        long sourceHigh = addresses.high(to.sourceIndex);
        long sourceLow = addresses.low(to.sourceIndex);
        return write(sourceHigh, sourceLow, to.gidHigh, to.gidLow, to.trafficClass, to.hopLimit, length);
    }

    /** The same for a datagram from elsewhere: of what its header said the system tells the addresses only. */
    long of(Peer from, int index, int bytes) {
        int port = from.address.getPort();
        boolean tells = Peer.receivesWhereItSends(port) && port != Flow.ROCE_PORT;
        return write(
                tells && LocalAddresses.isVersion4(from.gidHigh, from.gidLow) ? port : from.gidHigh,
                from.gidLow,
                addresses.high(index),
                addresses.low(index),
                0,
                HOPS,
                UDP_BYTES + bytes + InvariantCrc.BYTES);
    }

    private long write(
            long sourceHigh, long sourceLow, long high, long low, int trafficClass, int hopLimit, int length) {
        long at = header.address();
        Memory.zero(at, BYTES);
        if (LocalAddresses.isVersion4(high, low)) {
            long ip = at + BYTES - IPV4_BYTES;
            // Where nothing else is, for who answers: the port, if it is not that of RoCEv2.
            Memory.putNetShort(ip - Short.BYTES, (short) sourceHigh);
            Memory.putNetInt(ip, 0x4500_0000 | trafficClass << 16 | (length + IPV4_BYTES));
            Memory.putNetInt(ip + 4, 0x4000);
            Memory.putNetInt(ip + 8, hopLimit << 24 | UDP << 16);
            Memory.putNetInt(ip + 12, (int) sourceLow);
            Memory.putNetInt(ip + 16, (int) low);
        } else {
            Memory.putNetInt(at, 6 << 28 | trafficClass << 20);
            Memory.putNetInt(at + 4, length << 16 | UDP << 8 | hopLimit);
            Memory.putNetLong(at + 8, sourceHigh);
            Memory.putNetLong(at + 16, sourceLow);
            Memory.putNetLong(at + 24, high);
            Memory.putNetLong(at + 32, low);
        }
        return at;
    }

    void free() {
        header.free();
    }
}
