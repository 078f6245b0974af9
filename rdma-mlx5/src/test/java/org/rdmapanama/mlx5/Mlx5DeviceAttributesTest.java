package org.rdmapanama.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmapanama.ffm.mlx5.mlx5dv_context;
import org.rdmapanama.ffm.mlx5.mlx5dv_cqe_comp_caps;
import org.rdmapanama.ffm.mlx5.mlx5dv_dci_streams_caps;
import org.rdmapanama.ffm.mlx5.mlx5dv_striding_rq_caps;
import org.rdmapanama.ffm.mlx5.mlx5dv_sw_parsing_caps;
import org.rdmapanama.queue.QueuePairType;

/** What is read of a struct mlx5dv_context. */
class Mlx5DeviceAttributesTest {
    private static final int RAW_PACKET = 1 << QueuePairType.RAW_PACKET.code();

    @Test
    void shouldReadEveryField() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment struct = arena.allocate(mlx5dv_context.layout());
            mlx5dv_context.flags(struct, -1);
            MemorySegment compression = mlx5dv_context.cqe_comp_caps(struct);
            mlx5dv_cqe_comp_caps.max_num(compression, 60);
            mlx5dv_cqe_comp_caps.supported_format(compression, 1 | 1 << 2 | 1 << 9);
            MemorySegment parsing = mlx5dv_context.sw_parsing_caps(struct);
            mlx5dv_sw_parsing_caps.sw_parsing_offloads(parsing, 1 | 1 << 1);
            mlx5dv_sw_parsing_caps.supported_qpts(parsing, RAW_PACKET);
            MemorySegment striding = mlx5dv_context.striding_rq_caps(struct);
            mlx5dv_striding_rq_caps.min_single_stride_log_num_of_bytes(striding, 6);
            mlx5dv_striding_rq_caps.max_single_stride_log_num_of_bytes(striding, 13);
            mlx5dv_striding_rq_caps.min_single_wqe_log_num_of_strides(striding, 9);
            mlx5dv_striding_rq_caps.max_single_wqe_log_num_of_strides(striding, 16);
            mlx5dv_striding_rq_caps.supported_qpts(striding, RAW_PACKET | 1 << QueuePairType.UD.code());
            mlx5dv_context.tunnel_offloads_caps(struct, 1 << 1 | 1 << 4);
            MemorySegment streams = mlx5dv_context.dci_streams_caps(struct);
            mlx5dv_dci_streams_caps.max_log_num_concurent(streams, (byte) 5);
            mlx5dv_dci_streams_caps.max_log_num_errored(streams, (byte) 200);
            mlx5dv_context.max_dc_rd_atom(struct, 16);
            mlx5dv_context.max_dc_init_rd_atom(struct, 8);
            mlx5dv_context.max_dynamic_bfregs(struct, 1024);
            mlx5dv_context.num_lag_ports(struct, (byte) 2);

            assertEquals(
                    new Mlx5DeviceAttributes(
                            EnumSet.allOf(Mlx5Capability.class),
                            new CompressionLimits(
                                    60, Set.of(CompressionFormat.HASH, CompressionFormat.CHECKSUM_AND_STRIDE)),
                            new ParsingLimits(
                                    Set.of(ParsingOffload.PARSING, ParsingOffload.CHECKSUM),
                                    Set.of(QueuePairType.RAW_PACKET)),
                            new StridingLimits(6, 13, 9, 16, Set.of(QueuePairType.RAW_PACKET, QueuePairType.UD)),
                            Set.of(TunnelOffload.GRE, TunnelOffload.MPLS_OVER_UDP),
                            new DcLimits(16, 8, 5, 200),
                            1024,
                            2),
                    Mlx5DeviceAttributes.read(struct));
        }
    }

    @Test
    void shouldTellNothingOfWhatALibraryDoesNotFillIn() {
        try (Arena arena = Arena.ofConfined()) {
            assertEquals(
                    new Mlx5DeviceAttributes(
                            Set.of(),
                            new CompressionLimits(0, Set.of()),
                            new ParsingLimits(Set.of(), Set.of()),
                            new StridingLimits(0, 0, 0, 0, Set.of()),
                            Set.of(),
                            new DcLimits(0, 0, 0, 0),
                            0,
                            0),
                    Mlx5DeviceAttributes.read(arena.allocate(mlx5dv_context.layout())));
        }
    }

    @Test
    void shouldRefuseSizesThatNoEntryHas() {
        Mlx5CompletionQueueOptions options = new Mlx5CompletionQueueOptions();
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> options.entryBytes(96));
        assertEquals("entryBytes must be 64 or 128: 96", refused.getMessage());
        options.entryBytes(64).padding(true);
        assertThrows(IllegalArgumentException.class, options::check);
    }
}
