package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.ffm.Program;

/** Two processes that exchange data make no garbage, in whatever thread. */
@EnabledOnOs(OS.LINUX)
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SteadyStateTest {
    private static final int JOIN_SECONDS = 100;

    @TempDir
    private Path folder;

    @TempDir(factory = InSharedMemory.class)
    private Path shared;

    @ParameterizedTest
    @CsvSource({"false,false", "false,true", "true,false", "true,true"})
    void shouldAllocateNothing(boolean ring, boolean sleeps) throws Exception {
        try (Program first = start("first", ring, sleeps, true);
                Program second = start("second", ring, sleeps, false)) {
            RingPeer.tell(folder.resolve("first"), RingPeer.placeOf(second));
            RingPeer.tell(folder.resolve("second"), RingPeer.placeOf(first));
            assertEnded(first);
            assertEnded(second);
        }
    }

    private static void assertEnded(Program program) throws InterruptedException {
        assertEquals(0, program.join(JOIN_SECONDS), program::toString);
    }

    private Program start(String name, boolean ring, boolean sleeps, boolean begins) throws IOException {
        List<String> options = new ArrayList<>(Program.sameProperties(AllocatingPeer.ROUND_PROPERTY));
        options.add("-Dorg.rdmapanama.soft.address=127.0.0.1");
        options.add("-Dorg.rdmapanama.soft.ring=" + (ring ? shared : "none"));
        return Program.javaWith(
                options,
                AllocatingPeer.class,
                folder.resolve(name).toString(),
                Boolean.toString(sleeps),
                Boolean.toString(begins),
                Boolean.toString(ring));
    }
}
