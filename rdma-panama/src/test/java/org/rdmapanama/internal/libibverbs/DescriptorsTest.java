package org.rdmapanama.internal.libibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
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
        List<Field> fields = Arrays.stream(owner.getDeclaredFields())
                .filter(field -> field.getType() == MethodHandle.class)
                .toList();
        assertFalse(fields.isEmpty());
        List<Arguments> handles = new ArrayList<>();
        for (Field field : fields) {
            field.setAccessible(true);
            handles.add(Arguments.of(field.getName(), ((MethodHandle) field.get(null)).type()));
        }
        return handles;
    }

    private static Stream<Arguments> exportedFunctions() throws IllegalAccessException {
        return Stream.concat(handlesOf(DeviceFunctions.class).stream(), handlesOf(Libibverbs.class).stream());
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

    /** What a handle for a signature takes and returns when addresses are longs. */
    private static MethodType withLongs(FunctionDescriptor generated) {
        MethodType type = generated.toMethodType();
        for (int i = 0; i < type.parameterCount(); i++) {
            if (type.parameterType(i) == MemorySegment.class) {
                type = type.changeParameterType(i, long.class);
            }
        }
        return type.returnType() == MemorySegment.class ? type.changeReturnType(long.class) : type;
    }

    /** The segment that takes the errno, or the function pointer, comes before the arguments of the C function. */
    private static MethodType argumentsOnly(MethodType handle) {
        return handle.parameterCount() > 0 && handle.parameterType(0) == MemorySegment.class
                ? handle.dropParameterTypes(0, 1)
                : handle;
    }

    private static FunctionDescriptor generated(String handle) throws ReflectiveOperationException {
        // Some functions have a second handle, which captures errno.
        String function = "ibv_" + handle.replace("_WITH_ERRNO", "").toLowerCase(Locale.ROOT);
        Method method;
        try {
            method = rdma_h.class.getMethod(function + "$descriptor");
        } catch (NoSuchMethodException e) {
            // Functions behind a macro or an inline function have a leading underscore.
            method = rdma_h.class.getMethod("_" + function + "$descriptor");
        }
        return (FunctionDescriptor) method.invoke(null);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("exportedFunctions")
    void shouldMatchTheHeader(String handle, MethodType type) throws ReflectiveOperationException {
        assertEquals(withLongs(generated(handle)), argumentsOnly(type));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("functionPointers")
    void shouldMatchTheFunctionPointer(String handle, MethodType type) {
        assertEquals(MemorySegment.class, type.parameterType(0), "the function pointer");
        // Some take a segment for the errno behind it.
        MethodType actual = argumentsOnly(type.dropParameterTypes(0, 1));
        if (handle.startsWith("POST")) {
            assertEquals(withLongs(ibv_context_ops.post_send.descriptor()), actual);
            assertEquals(withLongs(ibv_context_ops.post_recv.descriptor()), actual);
            assertEquals(withLongs(ibv_context_ops.post_srq_recv.descriptor()), actual);
            assertEquals(withLongs(ibv_wq.post_recv.descriptor()), actual);
            assertEquals(withLongs(verbs_context.post_srq_ops.descriptor()), actual);
        } else {
            assertEquals(withLongs(POINTERS.get(handle)), actual);
        }
    }

    private static MethodType generated(Class<?> struct, String member) throws ReflectiveOperationException {
        Class<?> function = Class.forName(struct.getName() + "$" + member);
        return withLongs((FunctionDescriptor) function.getMethod("descriptor").invoke(null));
    }

    @ParameterizedTest(name = "{1}")
    @MethodSource("functionsOfExtendedQueues")
    void shouldMatchTheFunctionOfAnExtendedQueue(Class<?> struct, String handle, MethodType type)
            throws ReflectiveOperationException {
        assertEquals(generated(struct, handle.toLowerCase(Locale.ROOT)), type.dropParameterTypes(0, 1));
    }

    @ParameterizedTest
    @EnumSource(ContextOp.class)
    void shouldMatchTheFunctionOfAContext(ContextOp op) throws ReflectiveOperationException {
        assertEquals(
                generated(verbs_context.class, op.name().toLowerCase(Locale.ROOT)),
                op.shape().handle.type().dropParameterTypes(0, 2));
    }
}
