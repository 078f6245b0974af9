package org.rdmapanama.mlx5.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.mlx5.mlx5dv_qp_ex;

/** The signatures written by hand, where an address is a long, against those that jextract read off the header. */
class Mlx5DescriptorsTest {
    @BeforeAll
    static void makeTheFunctionsVisible() {
        // The generated class looks each of them up when it is first asked for its signature.
        NativeLibrary.MLX5.load();
    }

    private static List<Field> handles() {
        List<Field> handles = Arrays.stream(Libmlx5.class.getDeclaredFields())
                .filter(field -> field.getType() == MethodHandle.class)
                .toList();
        assertTrue(handles.size() > 5);
        return handles;
    }

    @ParameterizedTest
    @MethodSource("handles")
    void shouldAgreeWithTheHeader(Field field) throws ReflectiveOperationException {
        field.setAccessible(true);
        MethodType own = ((MethodHandle) field.get(null)).type();
        String name = field.getName().toLowerCase(Locale.ROOT);
        FunctionDescriptor descriptor;
        // A segment in front is for errno, or the address of the function.
        int first = own.parameterType(0) == MemorySegment.class ? 1 : 0;
        if (name.equals("wr_set_dc_addr")) {
            descriptor = mlx5dv_qp_ex.wr_set_dc_addr.descriptor();
        } else {
            descriptor = (FunctionDescriptor)
                    mlx5dv_h.class.getMethod("mlx5dv_" + name + "$descriptor").invoke(null);
        }
        MethodType header = descriptor.toMethodType();
        assertEquals(withLongs(header), own.dropParameterTypes(0, first));
    }

    private static MethodType withLongs(MethodType type) {
        MethodType longs = type.returnType() == MemorySegment.class ? type.changeReturnType(long.class) : type;
        for (int i = 0; i < longs.parameterCount(); i++) {
            if (longs.parameterType(i) == MemorySegment.class) {
                longs = longs.changeParameterType(i, long.class);
            }
        }
        return longs;
    }
}
