package org.rdmapanama.internal.libibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodType;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.verbs.ibv_context_ops;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.ffm.verbs.ibv_dm;
import org.rdmapanama.ffm.verbs.ibv_qp_ex;
import org.rdmapanama.ffm.verbs.ibv_wq;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.verbs_context;
import org.rdmapanama.testing.Signatures;

/** The signatures written by hand, where an address is a long, against those that jextract read off the header. */
class DescriptorsTest {
    private static final Map<String, FunctionDescriptor> POINTERS = Map.ofEntries(
            Map.entry("POLL_CQ", ibv_context_ops.poll_cq.descriptor()),
            Map.entry("POLL_CQ_CRITICAL", ibv_context_ops.poll_cq.descriptor()),
            Map.entry("REQ_NOTIFY_CQ", ibv_context_ops.req_notify_cq.descriptor()),
            Map.entry("ALLOC_MW", ibv_context_ops.alloc_mw.descriptor()),
            Map.entry("DEALLOC_MW", ibv_context_ops.dealloc_mw.descriptor()),
            Map.entry("BIND_MW", ibv_context_ops.bind_mw.descriptor()),
            Map.entry("MEMCPY_TO_DM", ibv_dm.memcpy_to_dm.descriptor()),
            Map.entry("MEMCPY_FROM_DM", ibv_dm.memcpy_from_dm.descriptor()),
            Map.entry("ADVISE_MR", verbs_context.advise_mr.descriptor()),
            Map.entry("REG_DM_MR", verbs_context.reg_dm_mr.descriptor()),
            Map.entry("READ_COUNTERS", verbs_context.read_counters.descriptor()),
            Map.entry("QUERY_PORT", verbs_context.query_port.descriptor()),
            Map.entry("QUERY_DEVICE_EX", verbs_context.query_device_ex.descriptor()));

    @BeforeAll
    static void makeTheFunctionsVisible() {
        // The generated class looks each of them up when it is first asked for its signature.
        NativeLibrary.IBVERBS.load();
    }

    private static List<Arguments> handlesOf(Class<?> owner) throws IllegalAccessException {
        return Signatures.handlesOf(owner).stream()
                .map(handle -> Arguments.of(handle.name(), handle.type()))
                .toList();
    }

    private static Stream<Signatures.Handle> exportedFunctions() throws IllegalAccessException {
        return Stream.concat(
                Signatures.handlesOf(DeviceFunctions.class).stream(), Signatures.handlesOf(Libibverbs.class).stream());
    }

    private static Stream<Arguments> functionsOfExtendedQueues() throws IllegalAccessException {
        return Stream.concat(
                handlesOf(NativeSendVerbs.class).stream()
                        .map(a -> Arguments.of(ibv_qp_ex.class, a.get()[0], a.get()[1])),
                handlesOf(NativeCompletionVerbs.class).stream()
                        .map(a -> Arguments.of(ibv_cq_ex.class, a.get()[0], a.get()[1])));
    }

    private static Stream<Arguments> functionPointers() throws IllegalAccessException {
        return handlesOf(InlineVerbs.class).stream();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("exportedFunctions")
    void shouldMatchTheHeader(Signatures.Handle handle) throws ReflectiveOperationException {
        // Some functions have a second handle, which captures errno.
        String function = handle.function().replace("_with_errno", "");
        assertEquals(Signatures.ofHeader(rdma_h.class, "ibv_" + function), handle.ofFunction());
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("functionPointers")
    void shouldMatchTheFunctionPointer(String handle, MethodType type) {
        assertEquals(MemorySegment.class, type.parameterType(0), "the function pointer");
        // Some take a segment for the errno behind it.
        MethodType actual = Signatures.withoutSegment(type.dropParameterTypes(0, 1));
        if (handle.startsWith("POST")) {
            assertEquals(Signatures.withLongs(ibv_context_ops.post_send.descriptor()), actual);
            assertEquals(Signatures.withLongs(ibv_context_ops.post_recv.descriptor()), actual);
            assertEquals(Signatures.withLongs(ibv_context_ops.post_srq_recv.descriptor()), actual);
            assertEquals(Signatures.withLongs(ibv_wq.post_recv.descriptor()), actual);
            assertEquals(Signatures.withLongs(verbs_context.post_srq_ops.descriptor()), actual);
        } else {
            assertEquals(Signatures.withLongs(POINTERS.get(handle)), actual);
        }
    }

    @ParameterizedTest(name = "{1}")
    @MethodSource("functionsOfExtendedQueues")
    void shouldMatchTheFunctionOfAnExtendedQueue(Class<?> struct, String handle, MethodType type)
            throws ReflectiveOperationException {
        assertEquals(Signatures.ofMember(struct, handle.toLowerCase(Locale.ROOT)), type.dropParameterTypes(0, 1));
    }

    @ParameterizedTest
    @EnumSource(ContextOp.class)
    void shouldMatchTheFunctionOfAContext(ContextOp op) throws ReflectiveOperationException {
        assertEquals(
                Signatures.ofMember(verbs_context.class, op.name().toLowerCase(Locale.ROOT)),
                op.shape().handle.type().dropParameterTypes(0, 2));
    }
}
