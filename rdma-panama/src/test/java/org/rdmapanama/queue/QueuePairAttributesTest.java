package org.rdmapanama.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Gid;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.QueueStructs;
import org.rdmapanama.memory.AccessFlag;

class QueuePairAttributesTest {
    private static QueuePairAttributes throughNativeMemory(QueuePairAttributes attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment struct = arena.allocate(ibv_qp_attr.layout());
            QueueStructs.writeAttributes(attributes, struct);
            return QueuePairAttributes.ofNative(struct, Codes.mask(attributes.given(), QueuePairAttribute::code));
        }
    }

    @Test
    void shouldGoThroughNativeMemory() {
        QueuePairCapabilities sizes = new QueuePairCapabilities(1, 2, 3, 4, 5);
        AddressVector way = AddressVector.toGid(1, 2, new Gid(3, 4));
        AddressVector alternate = AddressVector.toGid(2, 5, new Gid(6, 7));
        QueuePairAttributes given = new QueuePairAttributes()
                .state(QueuePairState.RTS)
                .currentState(QueuePairState.SQD)
                .pathMtu(Mtu.BYTES_2048)
                .qkey(0x8000_0001)
                .receivePsn(0xff_fffe)
                .sendPsn(0xff_ffff)
                .destinationQueuePair(0xfe_dcba)
                .accessFlags(Set.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC))
                .addressVector(way)
                .alternatePath(alternate, 9, 10)
                .pkeyIndex(65535)
                .notifyWhenDrained(true)
                .maxReadAtomicAsInitiator(200)
                .maxReadAtomicAsTarget(201)
                .minRnrTimer(31)
                .port(255)
                .timeout(30)
                .retryCount(7)
                .rnrRetry(6)
                .rateLimit(Integer.MAX_VALUE)
                .pathMigrationState(PathMigrationState.ARMED)
                .capabilities(sizes);
        assertEquals(EnumSet.allOf(QueuePairAttribute.class), given.given());

        QueuePairAttributes read = throughNativeMemory(given);
        assertEquals(given.toString(), read.toString());
        assertEquals(0xff_ffff, read.sendPsn());
        assertEquals(65535, read.pkeyIndex());
        assertEquals(200, read.maxReadAtomicAsInitiator());
        assertEquals(255, read.port());
        assertEquals(way, read.addressVector());
        assertEquals(alternate, read.alternatePath());
        assertEquals(9, read.alternatePkeyIndex());
        assertEquals(10, read.alternateTimeout());
        assertEquals(sizes, read.capabilities());
    }

    @Test
    void shouldGiveNothingAtFirst() {
        QueuePairAttributes attributes = new QueuePairAttributes();
        assertEquals(Set.of(), attributes.given());
        assertEquals("", attributes.toString());
        assertNull(throughNativeMemory(attributes).pathMtu(), "a queue pair that was never connected has none");
        assertThrows(
                UnsupportedOperationException.class, () -> attributes.given().add(QueuePairAttribute.QKEY));
    }

    @Test
    void shouldPrintWhatIsGiven() {
        QueuePairAttributes attributes =
                new QueuePairAttributes().state(QueuePairState.INIT).port(2);
        assertEquals("STATE=INIT, PORT=2", attributes.toString());
    }

    @Test
    void shouldCheckRanges() {
        checkRange("RQ_PSN", 0xff_ffff, value -> new QueuePairAttributes().receivePsn(value));
        checkRange("SQ_PSN", 0xff_ffff, value -> new QueuePairAttributes().sendPsn(value));
        checkRange("DEST_QPN", 0xff_ffff, value -> new QueuePairAttributes().destinationQueuePair(value));
        checkRange("PKEY_INDEX", 65535, value -> new QueuePairAttributes().pkeyIndex(value));
        checkRange("MAX_QP_RD_ATOMIC", 255, value -> new QueuePairAttributes().maxReadAtomicAsInitiator(value));
        checkRange("MAX_DEST_RD_ATOMIC", 255, value -> new QueuePairAttributes().maxReadAtomicAsTarget(value));
        checkRange("MIN_RNR_TIMER", 31, value -> new QueuePairAttributes().minRnrTimer(value));
        checkRange("PORT", 255, value -> new QueuePairAttributes().port(value));
        checkRange("TIMEOUT", 31, value -> new QueuePairAttributes().timeout(value));
        checkRange("RETRY_CNT", 7, value -> new QueuePairAttributes().retryCount(value));
        checkRange("RNR_RETRY", 7, value -> new QueuePairAttributes().rnrRetry(value));
    }

    private static void checkRange(String name, int max, IntConsumer setter) {
        setter.accept(0);
        setter.accept(max);
        for (int wrong : new int[] {-1, max + 1}) {
            IllegalArgumentException exception =
                    assertThrows(IllegalArgumentException.class, () -> setter.accept(wrong));
            assertTrue(
                    exception.getMessage().startsWith(name + " must be between 0 and " + max), exception::getMessage);
        }
    }

    @Test
    void shouldRefuseNull() {
        QueuePairAttributes attributes = new QueuePairAttributes();
        assertThrows(NullPointerException.class, () -> attributes.state(null));
        assertThrows(NullPointerException.class, () -> attributes.pathMtu(null));
        assertThrows(NullPointerException.class, () -> attributes.accessFlags(null));
        assertThrows(NullPointerException.class, () -> attributes.addressVector(null));
        assertThrows(NullPointerException.class, () -> attributes.capabilities(null));
        assertEquals(Set.of(), attributes.given(), "what was refused is not given");
    }
}
