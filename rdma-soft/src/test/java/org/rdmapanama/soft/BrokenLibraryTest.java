package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.Program;

/** Where libibverbs should be loaded and cannot be, soft0 does not take the place of the devices that nobody can list. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BrokenLibraryTest {
    private static void assertSays(Program program, String why) throws InterruptedException {
        program.assertSucceeds();
        String output = program.output();
        assertTrue(output.contains("ENOSYS, ") && output.contains(why), output);
    }

    @Test
    void shouldMindThatTheLibraryThatIsNamedIsNotThere() throws Exception {
        String file = "/nowhere/libibverbs.so.1";
        try (Program program = Program.javaWith(List.of("-Dorg.rdmapanama.libibverbs=" + file), Listing.class)) {
            assertSays(program, "-Dorg.rdmapanama.libibverbs names it");
        }
    }

    @Test
    void shouldMindThatTheLibraryCannotBeLoaded(@TempDir Path folder) throws Exception {
        Path broken = Files.writeString(folder.resolve("libibverbs.so.1"), "no library");
        try (Program program = Program.java(List.of("env", "LD_LIBRARY_PATH=" + folder), Listing.class)) {
            assertSays(program, "libibverbs.so.1 could not be opened (" + broken);
        }
    }

    /** Prints the devices, or why there is no list. */
    static final class Listing {
        private Listing() {}

        public static void main(String... arguments) {
            try {
                System.out.println(DeviceList.query());
            } catch (VerbsException e) {
                System.out.println(e.errnoName() + ", " + e.cure());
            }
        }
    }
}
