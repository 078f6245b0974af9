package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.LabDevices;

/** Random calls, as many as one likes, leave the virtual machine alive and the kernel with nothing. */
@Tag("lab")
@Timeout(value = 3600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FuzzLabTest {
    private static final int CALLS = Integer.getInteger("fuzz.calls", 1_000_000);
    private static final long SEED = Long.getLong("fuzz.seed", 20261121);

    @Test
    void shouldSurviveRandomCalls() throws IOException {
        LabDevices.assumeOurs("random calls are nothing to make on a machine that others use");
        List<String> before = Commands.resources();
        // Two at a time, each in worlds of its own: with one seed each finds again what it found.
        int returned = LongStream.of(SEED, SEED + 1)
                .parallel()
                .mapToInt(seed -> new Fuzz(seed).run(CALLS / 2))
                .sum();
        assertTrue(returned > CALLS / 10, () -> "only " + returned + " of " + CALLS + " calls did anything");
        assertEquals(before, Commands.resources());
    }
}
