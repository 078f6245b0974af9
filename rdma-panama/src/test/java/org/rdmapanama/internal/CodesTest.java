package org.rdmapanama.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Test;
import org.rdmapanama.address.GidType;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.AtomicCapability;
import org.rdmapanama.device.DeviceCapability;
import org.rdmapanama.device.ExtendedPortCapability;
import org.rdmapanama.device.LinkLayer;
import org.rdmapanama.device.NodeType;
import org.rdmapanama.device.OdpOperation;
import org.rdmapanama.device.PciAtomicSize;
import org.rdmapanama.device.PortCapability;
import org.rdmapanama.device.PortState;
import org.rdmapanama.device.Rate;
import org.rdmapanama.device.RawPacketCapability;
import org.rdmapanama.device.RxHashField;
import org.rdmapanama.device.RxHashFunction;
import org.rdmapanama.device.TagMatchingTransport;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.flow.CounterDescription;
import org.rdmapanama.flow.CounterReadFlag;
import org.rdmapanama.flow.EspFlag;
import org.rdmapanama.flow.FlowFlag;
import org.rdmapanama.flow.FlowRuleType;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.FlushLevel;
import org.rdmapanama.memory.ForkStatus;
import org.rdmapanama.memory.MemoryAdvice;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.memory.ReregistrationFailure;
import org.rdmapanama.queue.DataInOrder;
import org.rdmapanama.queue.PathMigrationState;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairCreateFlag;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.queue.SharedReceiveQueueType;
import org.rdmapanama.queue.TagOpcode;
import org.rdmapanama.queue.WorkQueueState;
import org.rdmapanama.queue.WorkQueueType;
import org.rdmapanama.queue.WorkRequestOpcode;

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

    /** As a queue pair reports it. */
    private static PathMigrationState pathMigrationState(int code) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment struct = arena.allocate(ibv_qp_attr.layout());
            ibv_qp_attr.path_mig_state(struct, code);
            return QueuePairAttributes.ofNative(struct, 0).pathMigrationState();
        }
    }

    @Test
    void shouldFindConstantsByValue() {
        check(AsyncEventType.class, AsyncEventType::code, AsyncEventType::of);
        check(AtomicCapability.class, AtomicCapability::code, AtomicCapability::of);
        check(CompletionOpcode.class, CompletionOpcode::code, CompletionOpcode::of);
        check(CompletionStatus.class, CompletionStatus::code, CompletionStatus::of);
        check(ForkStatus.class, ForkStatus::code, ForkStatus::of);
        check(CounterDescription.class, CounterDescription::code, CounterDescription::of);
        check(FlowRuleType.class, FlowRuleType::code, FlowRuleType::of);
        check(GidType.class, GidType::code, GidType::of);
        check(LinkLayer.class, LinkLayer::code, LinkLayer::of);
        check(MemoryAdvice.class, MemoryAdvice::code, MemoryAdvice::of);
        check(MemoryWindowType.class, MemoryWindowType::code, MemoryWindowType::of);
        check(ReregistrationFailure.class, ReregistrationFailure::code, ReregistrationFailure::of);
        check(NodeType.class, NodeType::code, NodeType::of);
        check(PathMigrationState.class, PathMigrationState::code, CodesTest::pathMigrationState);
        check(PortState.class, PortState::code, PortState::of);
        check(QueuePairState.class, QueuePairState::code, QueuePairState::of);
        check(QueuePairType.class, QueuePairType::code, QueuePairType::of);
        check(SharedReceiveQueueType.class, SharedReceiveQueueType::code, SharedReceiveQueueType::of);
        check(TagOpcode.class, TagOpcode::code, TagOpcode::of);
        check(WorkQueueState.class, WorkQueueState::code, WorkQueueState::of);
        check(WorkQueueType.class, WorkQueueType::code, WorkQueueType::of);
        check(Rate.class, Rate::code, Rate::of);
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
        assertSame(AsyncEventType.UNKNOWN, AsyncEventType.of(20), "a speed change, which newer kernels tell");
        assertSame(Rate.MAX, Rate.of(999));
        assertSame(ForkStatus.DISABLED, ForkStatus.of(999));
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
            assertEquals(flags, Codes.flags(AccessFlag.class, AccessFlag::code, Codes.mask(flags, AccessFlag::code)));
        }
        assertEquals(0, Codes.mask(Set.of(), AccessFlag::code));
        assertEquals(6, Codes.mask(EnumSet.allOf(FlowFlag.class), FlowFlag::code));
        assertEquals(15, Codes.mask(EnumSet.allOf(EspFlag.class), EspFlag::code));
        assertEquals(1, Codes.mask(EnumSet.allOf(CounterReadFlag.class), CounterReadFlag::code));
        assertEquals(AccessFlag.LOCAL_WRITE.code() | AccessFlag.REMOTE_READ.code(), 5);
    }

    @Test
    void shouldMakeMasksOfFieldsOfCompletions() {
        for (Set<CompletionField> fields : List.of(
                EnumSet.noneOf(CompletionField.class),
                EnumSet.of(CompletionField.BYTE_LEN, CompletionField.TM_INFO),
                EnumSet.allOf(CompletionField.class))) {
            assertEquals(
                    fields,
                    Codes.flags(
                            CompletionField.class, CompletionField::code, Codes.mask(fields, CompletionField::code)));
        }
        assertEquals(
                0x7f,
                Codes.mask(
                        EnumSet.range(CompletionField.BYTE_LEN, CompletionField.DLID_PATH_BITS),
                        CompletionField::code));
        assertEquals(1 << 11, CompletionField.COMPLETION_TIMESTAMP_WALLCLOCK.code());
    }

    @Test
    void shouldDescribeEveryStatus() {
        Set<String> texts = new HashSet<>();
        for (CompletionStatus status : CompletionStatus.values()) {
            texts.add(status.description());
        }
        assertEquals(CompletionStatus.values().length, texts.size());
    }

    @Test
    void shouldMakeSetsOfBits() {
        assertEquals(
                EnumSet.allOf(DeviceCapability.class), Codes.flags(DeviceCapability.class, DeviceCapability::code, -1));
        assertEquals(
                EnumSet.of(DeviceCapability.RESIZE_MAX_WR, DeviceCapability.PCI_WRITE_END_PADDING),
                Codes.flags(DeviceCapability.class, DeviceCapability::code, 1L << 36 | 1));
        assertEquals(
                EnumSet.noneOf(DeviceCapability.class),
                Codes.flags(DeviceCapability.class, DeviceCapability::code, 1L << 63 | 1L << 32));
        assertEquals(EnumSet.allOf(OdpOperation.class), Codes.flags(OdpOperation.class, OdpOperation::code, 0x3f));
        assertEquals(EnumSet.of(RxHashField.INNER), Codes.flags(RxHashField.class, RxHashField::code, 1L << 31));
        assertEquals(EnumSet.noneOf(RxHashField.class), Codes.flags(RxHashField.class, RxHashField::code, -1L << 32));
        assertEquals(EnumSet.allOf(RxHashFunction.class), Codes.flags(RxHashFunction.class, RxHashFunction::code, 1));
        assertEquals(
                EnumSet.allOf(RawPacketCapability.class),
                Codes.flags(RawPacketCapability.class, RawPacketCapability::code, 0xf));
        assertEquals(
                EnumSet.allOf(TagMatchingTransport.class),
                Codes.flags(TagMatchingTransport.class, TagMatchingTransport::code, 1));
        assertEquals(
                EnumSet.of(PciAtomicSize.BYTES_4, PciAtomicSize.BYTES_16),
                Codes.flags(PciAtomicSize.class, PciAtomicSize::code, 5));
        assertEquals(
                EnumSet.of(PortCapability.SM, PortCapability.IP_BASED_GIDS),
                Codes.flags(PortCapability.class, PortCapability::code, 1 << 26 | 2));
        assertEquals(
                EnumSet.allOf(ExtendedPortCapability.class),
                Codes.flags(ExtendedPortCapability.class, ExtendedPortCapability::code, 0xffff));
        assertEquals(EnumSet.of(QueuePairType.RC, QueuePairType.XRC_RECV), QueuePairType.ofMask(1 << 2 | 1 << 10));
        assertEquals(EnumSet.complementOf(EnumSet.of(QueuePairType.DRIVER)), QueuePairType.ofMask(-1));
    }

    void shouldHaveABitForEachFlagOfAQueuePair() {
        assertEquals(
                SendOperation.values().length,
                Integer.bitCount(Codes.mask(EnumSet.allOf(SendOperation.class), SendOperation::code)));
        assertEquals(
                QueuePairCreateFlag.values().length,
                Integer.bitCount(Codes.mask(EnumSet.allOf(QueuePairCreateFlag.class), QueuePairCreateFlag::code)));
        assertEquals(
                RxHashField.values().length,
                Long.bitCount(Codes.longMask(EnumSet.allOf(RxHashField.class), RxHashField::code)));
        assertEquals(1L << 31, RxHashField.INNER.code());
        assertEquals(EnumSet.allOf(DataInOrder.class), Codes.flags(DataInOrder.class, DataInOrder::code, 3));
        assertEquals(Set.of(), Codes.flags(DataInOrder.class, DataInOrder::code, 0));
    }

    @Test
    void shouldHaveAsManyBitsAsAttributes() {
        int mask = Codes.mask(EnumSet.allOf(QueuePairAttribute.class), QueuePairAttribute::code);
        assertEquals(QueuePairAttribute.values().length, Integer.bitCount(mask));
    }
}
