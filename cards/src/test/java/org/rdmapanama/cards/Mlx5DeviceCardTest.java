package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.mlx5.CompressionFormat;
import org.rdmapanama.mlx5.CompressionLimits;
import org.rdmapanama.mlx5.DcLimits;
import org.rdmapanama.mlx5.Mlx5Capability;
import org.rdmapanama.mlx5.Mlx5CompletionQueueOptions;
import org.rdmapanama.mlx5.Mlx5Device;
import org.rdmapanama.mlx5.Mlx5DeviceAttributes;
import org.rdmapanama.mlx5.ParsingLimits;
import org.rdmapanama.mlx5.ParsingOffload;
import org.rdmapanama.mlx5.StridingLimits;
import org.rdmapanama.mlx5.TunnelOffload;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Side;

/** What the driver of a ConnectX card adds to verbs: queries, and the options of completion queues. */
@Tag("card")
class Mlx5DeviceCardTest {
    private static final int ROUNDS = 200;

    private VerbsArena arena;
    private Context context;
    private Mlx5Device mlx5;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        context = Context.open(arena, "mlx5_0");
        mlx5 = Mlx5Device.of(context);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    /** Ports that are bonded, and reads of DC, libmlx5 asks devx for, which the card does not have. */
    @Test
    void shouldTellLimitsAndCapabilities() {
        assertEquals(
                new Mlx5DeviceAttributes(
                        Set.of(
                                Mlx5Capability.CQE_VERSION_1,
                                Mlx5Capability.MULTI_PACKET_SEND,
                                Mlx5Capability.ENHANCED_MULTI_PACKET_SEND,
                                Mlx5Capability.CQE_128_BYTES_COMPRESSION,
                                Mlx5Capability.CQE_128_BYTES_PADDING,
                                Mlx5Capability.PACKET_BASED_CREDIT_MODE),
                        new CompressionLimits(
                                60, Set.of(CompressionFormat.HASH, CompressionFormat.CHECKSUM_AND_STRIDE)),
                        new ParsingLimits(
                                Set.of(ParsingOffload.PARSING, ParsingOffload.CHECKSUM),
                                Set.of(QueuePairType.RAW_PACKET)),
                        new StridingLimits(6, 13, 9, 16, Set.of(QueuePairType.RAW_PACKET, QueuePairType.UD)),
                        Set.of(TunnelOffload.VXLAN, TunnelOffload.GENEVE),
                        new DcLimits(0, 0, 5, 3),
                        0,
                        0),
                mlx5.queryDevice());
        context.close();
        assertThrows(IllegalStateException.class, mlx5::queryDevice);
    }

    /** Each queue goes round several times, so that a wrong size is seen. */
    @ParameterizedTest
    @CsvSource({"0, false", "64, false", "128, false", "128, true"})
    void shouldCompleteInEntriesOfASize(int bytes, boolean padding) {
        Mlx5CompletionQueueOptions options = new Mlx5CompletionQueueOptions().padding(padding);
        if (bytes > 0) {
            options.entryBytes(bytes);
        }
        ProtectionDomain domain = context.allocateProtectionDomain();
        Side a = side(domain, mlx5.createCompletionQueue(new CompletionQueueOptions(15), options));
        Side b = side(domain, mlx5.createCompletionQueue(new CompletionQueueOptions(15), options));
        for (Side each : List.of(a, b)) {
            GivenToCard given = Cards.given(each.queuePair.number());
            assertEquals(bytes == 0 ? 64 : bytes, given.entryBytes());
            assertEquals(padding, given.padded());
        }
        Endpoint ofA = a.queuePair.localEndpoint();
        a.queuePair.connect(b.queuePair.localEndpoint());
        b.queuePair.connect(ofA);
        for (int i = 0; i < ROUNDS; i++) {
            a.memory.set(ValueLayout.JAVA_LONG, 0, i);
            b.postReceive(1000 + i, 0, 64);
            a.post(a.request(i, 0, 8).send());
            a.await().is(CompletionOpcode.SEND, i);
            b.await().is(CompletionOpcode.RECV, 1000 + i);
            assertEquals(i, b.memory.get(ValueLayout.JAVA_LONG, 0));
        }
    }

    private Side side(ProtectionDomain domain, CompletionQueue queue) {
        MemoryRegion region = domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE);
        return new Side(
                arena,
                domain,
                null,
                domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue)),
                region,
                Bound.USUAL);
    }

    @Test
    void shouldRefusePaddingOfSmallEntries() {
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class,
                () -> mlx5.createCompletionQueue(
                        new CompletionQueueOptions(15),
                        new Mlx5CompletionQueueOptions().entryBytes(64).padding(true)));
        assertEquals(
                "padding needs entries of 128 bytes; call entryBytes(128): entries of 64 bytes, padded",
                refused.getMessage());
    }

    @Test
    void shouldNameTheFunctionThatFailed() {
        VerbsException failed = assertThrows(
                VerbsException.class,
                () -> mlx5.createCompletionQueue(
                        new CompletionQueueOptions(1 << 25), new Mlx5CompletionQueueOptions()));
        assertTrue(failed.getMessage().startsWith("mlx5dv_create_cq failed"), failed::getMessage);
    }

    @Test
    void shouldCloseItsQueuesWithTheDevice() {
        ExtendedCompletionQueue queue =
                mlx5.createCompletionQueue(new CompletionQueueOptions(15), new Mlx5CompletionQueueOptions());
        context.close();
        assertThrows(IllegalStateException.class, queue::poll);
    }
}
