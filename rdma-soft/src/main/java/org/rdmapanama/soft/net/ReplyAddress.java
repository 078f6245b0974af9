package org.rdmapanama.soft.net;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.soft.memory.Memory;

/**
 * Derives the address vector of the sender of a datagram from the GRH in front of its data; see ibv_init_ah_from_wc(3).
 * {@link SoftContext} calls it on the thread of the program, without a lock; it has no state.
 */
public final class ReplyAddress {
    private static final int VERSION_SHIFT = 4;
    private static final int IPV4 = 4;
    private static final int IPV6 = 6;
    private static final int IPV4_AT = 20;
    private static final byte FARTHEST = (byte) 0xff;

    private ReplyAddress() {}

    private static int version(long header) {
        return Byte.toUnsignedInt(Memory.getByte(header)) >>> VERSION_SHIFT;
    }

    /** Writes a struct ibv_ah_attr. Returns 0 or a negated errno. */
    public static int write(int port, long grh, long attributes, LocalAddresses addresses) {
        if (port != 1) {
            return -Errno.EINVAL;
        }
        long sourceHigh;
        long sourceLow;
        long ownHigh;
        long ownLow;
        int trafficClass;
        // Check for IPv6 first: the place of the IPv4 version is then inside the source address and may have any value.
        // An IPv4 header is preceded by zeros.
        if (version(grh) == IPV6) {
            trafficClass = Memory.getNetInt(grh) >>> 20 & 0xff;
            sourceHigh = Memory.getNetLong(grh + 8);
            sourceLow = Memory.getNetLong(grh + 16);
            ownHigh = Memory.getNetLong(grh + 24);
            ownLow = Memory.getNetLong(grh + 32);
        } else if (version(grh + IPV4_AT) == IPV4) {
            long ip = grh + IPV4_AT;
            trafficClass = Byte.toUnsignedInt(Memory.getByte(ip + 1));
            // The port of the sender, if this device wrote one there.
            sourceHigh = Short.toUnsignedInt(Memory.getNetShort(ip - Short.BYTES));
            sourceLow = Gids.MAPPED | Integer.toUnsignedLong(Memory.getNetInt(ip + 12));
            ownHigh = addresses.highOfVersion4();
            ownLow = Gids.MAPPED | Integer.toUnsignedLong(Memory.getNetInt(ip + 16));
        } else {
            return -Errno.EPROTONOSUPPORT;
        }
        int index = addresses.indexOf(ownHigh, ownLow);
        if (index < 0) {
            return -Errno.EINVAL;
        }
        Memory.zero(attributes, ibv_ah_attr.sizeof());
        MemorySegment address = Native.struct(attributes, ibv_ah_attr.layout());
        MemorySegment route = ibv_ah_attr.grh(address);
        long gid = ibv_global_route.dgid(route).address();
        Memory.putNetLong(gid, sourceHigh);
        Memory.putNetLong(gid + Long.BYTES, sourceLow);
        ibv_global_route.sgid_index(route, (byte) index);
        ibv_global_route.hop_limit(route, FARTHEST);
        ibv_global_route.traffic_class(route, (byte) trafficClass);
        ibv_ah_attr.is_global(address, (byte) 1);
        ibv_ah_attr.port_num(address, (byte) port);
        return 0;
    }
}
