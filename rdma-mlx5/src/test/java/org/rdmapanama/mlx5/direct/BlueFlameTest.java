package org.rdmapanama.mlx5.direct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.mlx5.direct.BlueFlame.Copying;

/** Which work requests are copied into the register of a thread domain, and where to. */
class BlueFlameTest {
    private static final long ADDRESS = 0x7f00_0000_0800L;
    private static final int HALF_BYTES = 256;
    private static final int MOST = 16;

    /** Only "0" stands for no, as in libmlx5. */
    @ParameterizedTest
    @CsvSource({
        ", , ALL",
        "0, , ALL",
        "1, , NONE",
        "'', , NONE",
        "no, , NONE",
        ", 0, INLINE",
        ", 1, ALL",
        ", '', ALL",
        "0, 0, INLINE",
        "1, 1, NONE",
        "1, 0, NONE"
    })
    void shouldDecideByTheEnvironment(String shutUp, String prefer, Copying expected) {
        Map<String, String> environment = new HashMap<>();
        environment.put("MLX5_SHUT_UP_BF", shutUp);
        environment.put("MLX5_POST_SEND_PREFER_BF", prefer);
        assertEquals(expected, Copying.of(environment::get));
    }

    @ParameterizedTest
    @CsvSource({"ALL, true, true", "INLINE, false, true", "NONE, false, false"})
    void shouldTakeWhatFits(Copying copying, boolean takesOthers, boolean takesInline) {
        BlueFlame register = new BlueFlame(ADDRESS, HALF_BYTES, copying, new AtomicBoolean(), null);
        for (int segments = 2; segments <= MOST; segments++) {
            assertEquals(takesOthers, register.takes(segments, false), segments + " segments");
            assertEquals(takesInline, register.takes(segments, true), segments + " segments, inline");
        }
        for (boolean inline : new boolean[] {false, true}) {
            assertFalse(register.takes(1, inline), "no longer than a doorbell");
            assertFalse(register.takes(MOST + 1, inline), "longer than a half");
        }
    }

    @Test
    void shouldTakeNothingOnceTheDriverPosts() {
        AtomicBoolean driverPosts = new AtomicBoolean();
        BlueFlame register = new BlueFlame(ADDRESS, HALF_BYTES, Copying.ALL, driverPosts, null);
        assertTrue(register.takes(2, true));
        driverPosts.set(true);
        assertFalse(register.takes(2, true));
    }

    @Test
    void shouldUseTheHalvesInTurn() {
        BlueFlame register = new BlueFlame(ADDRESS, HALF_BYTES, Copying.NONE, new AtomicBoolean(), null);
        assertEquals(ADDRESS, register.half());
        register.turn();
        assertEquals(ADDRESS + HALF_BYTES, register.half());
        register.turn();
        assertEquals(ADDRESS, register.half());
    }

    /** The driver gives a register to another thread domain without a doorbell in between. */
    @Test
    void shouldGoOnWhereTheFormerOneEnded() {
        BlueFlame former = new BlueFlame(ADDRESS, HALF_BYTES, Copying.ALL, new AtomicBoolean(), null);
        former.turn();
        BlueFlame next = new BlueFlame(ADDRESS, HALF_BYTES, Copying.ALL, new AtomicBoolean(), former);
        assertEquals(ADDRESS + HALF_BYTES, next.half());
    }
}
