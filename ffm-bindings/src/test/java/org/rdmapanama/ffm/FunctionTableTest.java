package org.rdmapanama.ffm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmapanama.ffm.FunctionTable.Proof;

class FunctionTableTest {
    @Test
    void shouldFindTags() {
        assertEquals(
                Map.of(
                        "ibv_a", Set.of("Thing#first"),
                        "ibv_b", Set.of("Thing#first", "new Thing"),
                        "ibv_c", Set.of("Thing"),
                        "ibv_d", Set.of("Thing#SECOND"),
                        "ibv_e", Set.of("Thing#many"),
                        "ibv_f", Set.of("Thing#close"),
                        "ibv_g", Set.of("Thing#close")),
                FunctionTable.methodsOf("Thing", """
                        /**
                         * About {@code x}.
                         *
                         * @verb ibv_c
                         */
                        public final class Thing extends Other {
                            /** Second. @verb ibv_d */
                            SECOND(2);

                            /** No tag. */
                            private final int x;

                            /**
                             * New.
                             * @verb ibv_b
                             */
                            Thing() {}

                            /**
                             * First.
                             *
                             * @return it
                             * @verb ibv_a
                             * @verb ibv_b
                             */
                            @SuppressWarnings({"unused", "restricted"})
                            public Optional<String> first(int a, int b) { }

                            /** @verb ibv_e */
                            static <T extends Map<A, B>> Map<A, B> many(
                                    int a) { }

                            static final Ending ENDING = new Ending("ibv_f", ProviderContext::end);

                            @Override
                            String destroyVerb() {
                                return "ibv_g";
                            }
                        }
                        """));
    }

    @Test
    void shouldFindWhatTestsShow() {
        assertEquals(
                Map.of("ibv_a", Proof.LAB, "ibv_b", Proof.LAB, "ibv_c", Proof.UNSUPPORTED_PATH),
                FunctionTable.proofsOf("""
                        @Tag("lab")
                        class Some {
                            @Shows({
                                "ibv_a",
                                "ibv_b"
                            })
                            @Shows("ibv_a")
                            void x() {
                                Unsupported.verb("ibv_b", () -> x());
                                Unsupported.verb(
                                        "ibv_c", () -> {});
                            }
                        }
                        """));
        assertEquals(Map.of("ibv_a", Proof.UNIT), FunctionTable.proofsOf("@Shows(\"ibv_a\") void x() {}"));
        assertEquals(
                Map.of("ibv_a", Proof.STAND_IN, "ibv_b", Proof.UNSUPPORTED_PATH),
                FunctionTable.proofsOf(
                        "@Shows(value = {\"ibv_a\"}, standIn = true) void x() { Unsupported.reached(\"ibv_b\", e); }"));
    }
}
