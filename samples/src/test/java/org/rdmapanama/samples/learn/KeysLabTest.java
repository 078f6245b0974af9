package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Lab;

/** What the document about the lessons says of remote keys: whether those of a device tell the next one. */
@Tag("lab")
@NeedsKernelDevice("the kernel")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class KeysLabTest {
    private static final int KEYS = 64;

    /** The bits of a key that its owner may choose. */
    private static final int OWNER_BITS = 8;

    /** Others may register memory at the same time. */
    private static final int OTHERS = 1000;

    private static int[] keysOf(String device) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, device).allocateProtectionDomain();
            return IntStream.range(0, KEYS)
                    .map(i -> domain.register(arena.allocate(1), AccessFlag.REMOTE_READ)
                            .rkey())
                    .toArray();
        }
    }

    @BeforeEach
    void needTheLab() {
        assumeTrue(Lab.FIRST_DEVICE.equals("rxe0"), () -> Lab.FIRST_DEVICE + " is not a device of the lab");
    }

    @Test
    void shouldHave24RandomBitsWithSoftwareIwarp() {
        int[] keys = keysOf("siw0");
        int ones = Arrays.stream(keys).reduce(0, (one, other) -> one | other);
        int zeros = Arrays.stream(keys).reduce(0, (one, other) -> one | ~other);
        assertEquals(-1 << OWNER_BITS, ones & zeros, () -> Arrays.toString(keys));
        assertEquals(0, ones & ~(-1 << OWNER_BITS), () -> Arrays.toString(keys));
    }

    @Test
    void shouldCountUpWithSoftRoce() {
        int[] keys = keysOf("rxe0");
        for (int i = 1; i < KEYS; i++) {
            int step = (keys[i] >>> OWNER_BITS) - (keys[i - 1] >>> OWNER_BITS);
            assertTrue(step > 0 && step < OTHERS, () -> Arrays.toString(keys));
        }
    }
}
