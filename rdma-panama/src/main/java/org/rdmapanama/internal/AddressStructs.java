package org.rdmapanama.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Gid;
import org.rdmapanama.device.Rate;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_global_route;

/** Reads and writes addresses in C structures. */
public final class AddressStructs {
    private static final ValueLayout.OfLong NETWORK_LONG = JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private AddressStructs() {}

    /** Reads a {@code union ibv_gid}. */
    public static Gid readGid(MemorySegment segment, long offset) {
        return new Gid(segment.get(NETWORK_LONG, offset), segment.get(NETWORK_LONG, offset + Long.BYTES));
    }

    /** Writes a {@code union ibv_gid}. */
    public static void writeGid(Gid gid, MemorySegment segment, long offset) {
        segment.set(NETWORK_LONG, offset, gid.subnetPrefix());
        segment.set(NETWORK_LONG, offset + Long.BYTES, gid.interfaceId());
    }

    /** Reads a {@code struct ibv_ah_attr}. */
    public static AddressVector readVector(MemorySegment attributes) {
        MemorySegment route = ibv_ah_attr.grh(attributes);
        return new AddressVector(
                Byte.toUnsignedInt(ibv_ah_attr.port_num(attributes)),
                Short.toUnsignedInt(ibv_ah_attr.dlid(attributes)),
                ibv_ah_attr.is_global(attributes) != 0,
                readGid(route, ibv_global_route.dgid$offset()),
                Byte.toUnsignedInt(ibv_global_route.sgid_index(route)),
                Byte.toUnsignedInt(ibv_global_route.hop_limit(route)),
                Byte.toUnsignedInt(ibv_global_route.traffic_class(route)),
                ibv_global_route.flow_label(route) & 0xf_ffff,
                Byte.toUnsignedInt(ibv_ah_attr.sl(attributes)) & 0xf,
                ibv_ah_attr.src_path_bits(attributes) & 0x7f,
                Rate.of(Byte.toUnsignedInt(ibv_ah_attr.static_rate(attributes))));
    }

    /** Writes a {@code struct ibv_ah_attr}. */
    public static void writeVector(AddressVector vector, MemorySegment attributes) {
        ibv_ah_attr.port_num(attributes, (byte) vector.port());
        ibv_ah_attr.dlid(attributes, (short) vector.lid());
        ibv_ah_attr.sl(attributes, (byte) vector.serviceLevel());
        ibv_ah_attr.src_path_bits(attributes, (byte) vector.sourcePathBits());
        ibv_ah_attr.static_rate(attributes, (byte) vector.staticRate().code());
        ibv_ah_attr.is_global(attributes, (byte) (vector.global() ? 1 : 0));
        MemorySegment route = ibv_ah_attr.grh(attributes);
        writeGid(vector.destination(), route, ibv_global_route.dgid$offset());
        ibv_global_route.sgid_index(route, (byte) vector.sourceGidIndex());
        ibv_global_route.hop_limit(route, (byte) vector.hopLimit());
        ibv_global_route.traffic_class(route, (byte) vector.trafficClass());
        ibv_global_route.flow_label(route, vector.flowLabel());
    }
}
