package org.rdmapanama.address;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.device.Rate;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.internal.AddressStructs;
import org.rdmapanama.testing.CStructs;

class AddressVectorTest {
    private static final Gid GID = new Gid(1, 2);

    private static AddressVector throughNativeMemory(AddressVector vector) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(ibv_ah_attr.layout());
            AddressStructs.writeVector(vector, attributes);
            return AddressStructs.readVector(attributes);
        }
    }

    @Test
    void shouldGoThroughNativeMemory() {
        AddressVector largest =
                new AddressVector(255, 0xffff, true, GID, 255, 255, 255, 0xf_ffff, 15, 127, Rate.GBPS_1200);
        assertEquals(largest, throughNativeMemory(largest));
        AddressVector smallest = new AddressVector(0, 0, false, Gid.ZERO, 0, 0, 0, 0, 0);
        assertEquals(smallest, throughNativeMemory(smallest));
        AddressVector distinct = new AddressVector(1, 2, true, GID, 3, 4, 5, 6, 7, 8, Rate.GBPS_25);
        assertEquals(distinct, throughNativeMemory(distinct));
        AddressVector limited = distinct.withSourcePathBits(127).withStaticRate(Rate.GBPS_1200);
        assertEquals(limited, throughNativeMemory(limited));
        assertEquals(127, limited.sourcePathBits());
        assertEquals(Rate.GBPS_1200, limited.staticRate());
        assertEquals(distinct, limited.withSourcePathBits(8).withStaticRate(Rate.GBPS_25));
        assertEquals(
                new AddressVector(1, 2, true, GID, 3, 4, 5, 6, 7),
                limited.withSourcePathBits(0).withStaticRate(Rate.MAX));
    }

    @Test
    void shouldFillTheStructureAsCDoes() throws Exception {
        AddressVector vector = new AddressVector(1, 2, true, GID, 3, 4, 5, 6, 7, 8, Rate.GBPS_2_5);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(ibv_ah_attr.layout());
            AddressStructs.writeVector(vector, attributes);
            CStructs.assertSame("""
                    struct ibv_ah_attr x;
                    memset(&x, 0, sizeof x);
                    x.port_num = 1;
                    x.dlid = 2;
                    x.is_global = 1;
                    x.grh.dgid.raw[7] = 1;
                    x.grh.dgid.raw[15] = 2;
                    x.grh.sgid_index = 3;
                    x.grh.hop_limit = 4;
                    x.grh.traffic_class = 5;
                    x.grh.flow_label = 6;
                    x.sl = 7;
                    x.src_path_bits = 8;
                    x.static_rate = IBV_RATE_2_5_GBPS;
                    """, attributes.toArray(ValueLayout.JAVA_BYTE));
        }
    }

    @Test
    @Shows({"ibv_flow_label_to_udp_sport"})
    void shouldMakeAPortOfTheFlowLabelAsCDoes() throws IOException {
        int[] labels = {0, 1, 0x3fff, 0x4000, 0xf_ffff, 0xa_bcde, 0x1_0001, 0xf_c000};
        StringBuilder statements = new StringBuilder("uint16_t x[] = {");
        ByteBuffer ports = ByteBuffer.allocate(labels.length * Short.BYTES).order(ByteOrder.nativeOrder());
        for (int label : labels) {
            statements.append("ibv_flow_label_to_udp_sport(").append(label).append("),");
            ports.putShort((short) new AddressVector(1, 0, true, GID, 0, 64, 0, label, 0).udpSourcePort());
        }
        CStructs.assertSame(statements + "};", ports.array());
    }

    @Test
    void shouldGoByGidOrByLid() {
        AddressVector byGid = AddressVector.toGid(1, 3, GID);
        assertTrue(byGid.global());
        assertEquals(3, byGid.sourceGidIndex());
        assertEquals(64, byGid.hopLimit());
        AddressVector byLid = AddressVector.toLid(2, 7);
        assertFalse(byLid.global());
        assertEquals(7, byLid.lid());
        assertEquals(2, byLid.port());
    }

    @Test
    void shouldRefuseNumbersOutOfRange() {
        refused("port", () -> new AddressVector(256, 0, true, GID, 0, 0, 0, 0, 0));
        refused("LID", () -> new AddressVector(1, 0x1_0000, true, GID, 0, 0, 0, 0, 0));
        refused("source GID index", () -> new AddressVector(1, 0, true, GID, 256, 0, 0, 0, 0));
        refused("hop limit", () -> new AddressVector(1, 0, true, GID, 0, 256, 0, 0, 0));
        refused("traffic class", () -> new AddressVector(1, 0, true, GID, 0, 0, -1, 0, 0));
        refused("flow label", () -> new AddressVector(1, 0, true, GID, 0, 0, 0, 0x10_0000, 0));
        refused("service level", () -> new AddressVector(1, 0, true, GID, 0, 0, 0, 0, 16));
        AddressVector way = AddressVector.toLid(1, 2);
        refused("source path bits", () -> way.withSourcePathBits(128));
        refused("source path bits", () -> way.withSourcePathBits(-1));
        assertThrows(NullPointerException.class, () -> AddressVector.toGid(1, 0, null));
        assertThrows(NullPointerException.class, () -> way.withStaticRate(null));
    }

    private static void refused(String name, Executable construction) {
        IllegalArgumentException exception = assertThrows(IllegalArgumentException.class, construction);
        assertTrue(exception.getMessage().startsWith(name + " must be between"), exception::getMessage);
    }
}
