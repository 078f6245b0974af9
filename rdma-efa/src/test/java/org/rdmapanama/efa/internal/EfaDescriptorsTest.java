package org.rdmapanama.efa.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.invoke.MethodType;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.efa.efadv_cq;
import org.rdmapanama.ffm.efa.efadv_h;
import org.rdmapanama.testing.Signatures;

/** The signatures written by hand, where an address is a long, against those that jextract read off the header. */
class EfaDescriptorsTest {
    private static final String MEMBER = "wc_read_sgid";

    @BeforeAll
    static void makeTheFunctionsVisible() {
        // The generated class looks each of them up when it is first asked for its signature.
        NativeLibrary.EFA.load();
    }

    private static List<Signatures.Handle> handles() throws IllegalAccessException {
        List<Signatures.Handle> handles = Signatures.handlesOf(Libefa.class);
        assertTrue(handles.size() > 5);
        handles.addAll(Signatures.handlesOf(CriticalLibefa.class));
        return handles;
    }

    @ParameterizedTest
    @MethodSource("handles")
    void shouldAgreeWithTheHeader(Signatures.Handle handle) throws ReflectiveOperationException {
        String function = "efadv_" + handle.function();
        assumeTrue(
                handle.function().equals(MEMBER)
                        || NativeLibrary.EFA.find(function).isPresent(),
                "the installed libefa lacks it");
        MethodType header = handle.function().equals(MEMBER)
                ? Signatures.ofMember(efadv_cq.class, MEMBER)
                : Signatures.ofHeader(efadv_h.class, function);
        assertEquals(header, handle.ofFunction());
    }
}
