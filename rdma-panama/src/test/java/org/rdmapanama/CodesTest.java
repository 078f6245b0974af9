package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Test;

/** Each constant is found by its value in C, and a value that is not known does no harm where a driver gave it. */
class CodesTest {
    private static <E extends Enum<E>> void check(Class<E> type, ToIntFunction<E> code, IntFunction<E> of) {
        Set<Integer> codes = new HashSet<>();
        for (E constant : type.getEnumConstants()) {
            assertSame(constant, of.apply(code.applyAsInt(constant)));
            codes.add(code.applyAsInt(constant));
        }
        assertEquals(type.getEnumConstants().length, codes.size(), () -> "two of " + type + " have the same value");
    }

    @Test
    void shouldFindConstantsByValue() {
        check(AsyncEventType.class, AsyncEventType::code, AsyncEventType::of);
        check(AtomicCapability.class, AtomicCapability::code, AtomicCapability::of);
        check(CompletionOpcode.class, CompletionOpcode::code, CompletionOpcode::of);
        check(CompletionStatus.class, CompletionStatus::code, CompletionStatus::of);
        check(GidType.class, GidType::code, GidType::of);
        check(LinkLayer.class, LinkLayer::code, LinkLayer::of);
        check(NodeType.class, NodeType::code, NodeType::of);
        check(PathMigrationState.class, PathMigrationState::code, PathMigrationState::of);
        check(PortState.class, PortState::code, PortState::of);
        check(QueuePairState.class, QueuePairState::code, QueuePairState::of);
        check(QueuePairType.class, QueuePairType::code, QueuePairType::of);
        check(TransportType.class, TransportType::code, TransportType::of);
        check(SendOperation.class, SendOperation::code, SendOperation::of);
        check(QueuePairCreateFlag.class, QueuePairCreateFlag::code, QueuePairCreateFlag::of);
        check(WorkRequestOpcode.class, WorkRequestOpcode::code, WorkRequestOpcode::of);
        check(FlushLevel.class, FlushLevel::code, FlushLevel::of);
        check(RxHashFunction.class, RxHashFunction::code, RxHashFunction::of);
    }

    @Test
    void shouldBearValuesThatAreNotKnown() {
        assertSame(AsyncEventType.UNKNOWN, AsyncEventType.of(999));
        assertSame(CompletionOpcode.UNKNOWN, CompletionOpcode.of(999));
        assertSame(CompletionStatus.GENERAL_ERR, CompletionStatus.of(999));
        assertSame(GidType.UNKNOWN, GidType.of(999));
        assertSame(QueuePairState.UNKNOWN, QueuePairState.of(999));
        assertSame(PortState.NOP, PortState.of(999));
        assertSame(AtomicCapability.NONE, AtomicCapability.of(999));
    }

    @Test
    void shouldMakeMasksOfFlags() {
        for (Set<AccessFlag> flags : List.of(
                EnumSet.noneOf(AccessFlag.class),
                EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.RELAXED_ORDERING),
                EnumSet.allOf(AccessFlag.class))) {
            assertEquals(flags, AccessFlag.of(AccessFlag.mask(flags)));
        }
        assertEquals(0, AccessFlag.mask(Set.of()));
        assertEquals(AccessFlag.LOCAL_WRITE.code() | AccessFlag.REMOTE_READ.code(), 5);
    }

    @Test
    void shouldHaveABitForEachFlagOfAQueuePair() {
        assertEquals(
                SendOperation.values().length,
                Integer.bitCount(SendOperation.mask(EnumSet.allOf(SendOperation.class))));
        assertEquals(
                QueuePairCreateFlag.values().length,
                Integer.bitCount(QueuePairCreateFlag.mask(EnumSet.allOf(QueuePairCreateFlag.class))));
        assertEquals(RxHashField.values().length, Long.bitCount(RxHashField.mask(EnumSet.allOf(RxHashField.class))));
        assertEquals(1L << 31, RxHashField.INNER.code());
        assertEquals(EnumSet.allOf(DataInOrder.class), DataInOrder.ofMask(3));
        assertEquals(Set.of(), DataInOrder.ofMask(0));
    }

    @Test
    void shouldHaveAsManyBitsAsAttributes() {
        int mask = QueuePairAttribute.mask(EnumSet.allOf(QueuePairAttribute.class));
        assertEquals(QueuePairAttribute.values().length, Integer.bitCount(mask));
    }
}
