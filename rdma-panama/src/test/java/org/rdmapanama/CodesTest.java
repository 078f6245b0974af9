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
        check(MemoryAdvice.class, MemoryAdvice::code, MemoryAdvice::of);
        check(MemoryWindowType.class, MemoryWindowType::code, MemoryWindowType::of);
        check(ReregistrationFailure.class, ReregistrationFailure::code, ReregistrationFailure::of);
        check(NodeType.class, NodeType::code, NodeType::of);
        check(PathMigrationState.class, PathMigrationState::code, PathMigrationState::of);
        check(PortState.class, PortState::code, PortState::of);
        check(QueuePairState.class, QueuePairState::code, QueuePairState::of);
        check(QueuePairType.class, QueuePairType::code, QueuePairType::of);
        check(SharedReceiveQueueType.class, SharedReceiveQueueType::code, SharedReceiveQueueType::of);
        check(TagOpcode.class, TagOpcode::code, TagOpcode::of);
        check(WorkQueueState.class, WorkQueueState::code, WorkQueueState::of);
        check(WorkQueueType.class, WorkQueueType::code, WorkQueueType::of);
        check(TransportType.class, TransportType::code, TransportType::of);
    }

    @Test
    void shouldBearValuesThatAreNotKnown() {
        assertSame(AsyncEventType.UNKNOWN, AsyncEventType.of(999));
        assertSame(CompletionOpcode.UNKNOWN, CompletionOpcode.of(999));
        assertSame(CompletionStatus.GENERAL_ERR, CompletionStatus.of(999));
        assertSame(GidType.UNKNOWN, GidType.of(999));
        assertSame(MemoryAdvice.UNKNOWN, MemoryAdvice.of(999));
        assertSame(MemoryWindowType.UNKNOWN, MemoryWindowType.of(999));
        assertSame(ReregistrationFailure.UNKNOWN, ReregistrationFailure.of(999));
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
    void shouldMakeMasksOfFieldsOfCompletions() {
        for (Set<CompletionField> fields : List.of(
                EnumSet.noneOf(CompletionField.class),
                EnumSet.of(CompletionField.BYTE_LEN, CompletionField.TM_INFO),
                EnumSet.allOf(CompletionField.class))) {
            assertEquals(fields, CompletionField.of(CompletionField.mask(fields)));
        }
        assertEquals(
                0x7f, CompletionField.mask(EnumSet.range(CompletionField.BYTE_LEN, CompletionField.DLID_PATH_BITS)));
        assertEquals(1 << 11, CompletionField.COMPLETION_TIMESTAMP_WALLCLOCK.code());
    }

    @Test
    void shouldDescribeEveryStatus() {
        Set<String> texts = new HashSet<>();
        for (CompletionStatus status : CompletionStatus.values()) {
            texts.add(status.describe());
        }
        assertEquals(CompletionStatus.values().length, texts.size());
    }

    @Test
    void shouldHaveAsManyBitsAsAttributes() {
        int mask = QueuePairAttribute.mask(EnumSet.allOf(QueuePairAttribute.class));
        assertEquals(QueuePairAttribute.values().length, Integer.bitCount(mask));
    }
}
