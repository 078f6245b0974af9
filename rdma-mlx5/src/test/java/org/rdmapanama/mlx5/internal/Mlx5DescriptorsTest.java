package org.rdmapanama.mlx5.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.invoke.MethodType;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.mlx5.mlx5dv_qp_ex;
import org.rdmapanama.testing.Signatures;

/** The signatures written by hand, where an address is a long, against those that jextract read off the header. */
class Mlx5DescriptorsTest {
    private static final String MEMBER = "wr_set_dc_addr";

    @BeforeAll
    static void makeTheFunctionsVisible() {
        // The generated class looks each of them up when it is first asked for its signature.
        NativeLibrary.MLX5.load();
    }

    private static List<Signatures.Handle> handles() throws IllegalAccessException {
        List<Signatures.Handle> handles = Signatures.handlesOf(Libmlx5.class);
        assertTrue(handles.size() > 5);
        return handles;
    }

    @ParameterizedTest
    @MethodSource("handles")
    void shouldAgreeWithTheHeader(Signatures.Handle handle) throws ReflectiveOperationException {
        MethodType header = handle.function().equals(MEMBER)
                ? Signatures.ofMember(mlx5dv_qp_ex.class, MEMBER)
                : Signatures.ofHeader(mlx5dv_h.class, "mlx5dv_" + handle.function());
        assertEquals(header, handle.ofFunction());
    }
}
