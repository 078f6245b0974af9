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
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.verbs.ibv_context_ops;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.verbs_context;

/** The signatures written by hand, where an address is a long, against those that jextract read off the header. */
class DescriptorsTest {
    private static final Map<String, FunctionDescriptor> POINTERS = Map.of(
            "POLL_CQ", ibv_context_ops.poll_cq.descriptor(),
            "POLL_CQ_CRITICAL", ibv_context_ops.poll_cq.descriptor(),
            "REQ_NOTIFY_CQ", ibv_context_ops.req_notify_cq.descriptor(),
            "QUERY_PORT", verbs_context.query_port.descriptor(),
            "QUERY_DEVICE_EX", verbs_context.query_device_ex.descriptor());

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
        return handlesOf(Libibverbs.class).stream();
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
        String function = "ibv_" + handle.toLowerCase(Locale.ROOT);
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
        MethodType actual = type.dropParameterTypes(0, 1);
        if (handle.startsWith("POST")) {
            assertEquals(withLongs(ibv_context_ops.post_send.descriptor()), actual);
            assertEquals(withLongs(ibv_context_ops.post_recv.descriptor()), actual);
        } else {
            assertEquals(withLongs(POINTERS.get(handle)), actual);
        }
    }
}
