package org.rdmapanama.soft.net;

import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * Builds the GRH that precedes the data of a received datagram and tells its receiver where it comes from. The one
 * buffer is reused for every datagram. {@link SoftDevice} owns it. Callers must hold the lock of the device.
 */
public final class RoutingHeaders {
    public static final int BYTES = 40;

    private static final int IPV4_BYTES = 20;
    private static final int UDP = 17;
    private static final int UDP_BYTES = 8;
    private static final int HOPS = 64;

    private final LocalAddresses addresses;
    private final NativeBlock header = new NativeBlock(BYTES);

    public RoutingHeaders(LocalAddresses addresses) {
        this.addresses = addresses;
    }

    /** Builds the header of a local datagram: an IPv4 header in the last 20 bytes, or an IPv6 header in all 40. */
    public long of(int index, long gidHigh, long gidLow, int trafficClass, int hopLimit, int length) {
        long sourceHigh = addresses.high(index);
        long sourceLow = addresses.low(index);
        return write(sourceHigh, sourceLow, gidHigh, gidLow, trafficClass, hopLimit, length);
    }

    /**
     * Builds the header of a datagram from another device, of whose IP header the system reveals only the addresses.
     */
    public long of(Peer from, int index, int bytes) {
        int port = from.address.getPort();
        boolean tells = Peer.receivesWhereItSends(port) && port != UdpFlow.ROCE_PORT;
        return write(
                tells && Gids.isVersion4(from.gidHigh, from.gidLow) ? port : from.gidHigh,
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
        if (Gids.isVersion4(high, low)) {
            long ip = at + BYTES - IPV4_BYTES;
            // The port of the sender, unless it is 4791, in unused bytes before the IPv4 header: ReplyAddress reads it.
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

    public void free() {
        header.free();
    }
}
