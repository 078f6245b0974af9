package org.rdmapanama.ffm.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.rdmapanama.ffm.Descriptors;
import org.rdmapanama.ffm.Program;

class FreeDescriptorsTest {
    @Test
    void shouldCountThoseThatAreLeft() throws Exception {
        try (Program program = Program.java(List.of("prlimit", "--nofile=200:200"), WithFew.class)) {
            program.assertSucceeds();
        }
    }

    /** A server has as many open files as connections, and asks again and again. */
    @Test
    void shouldNotMakeAListOfAllThatAreInUse() throws Exception {
        try (Program program = Program.java(List.of("prlimit", "--nofile=4000:4000"), WithMany.class)) {
            program.assertSucceeds();
        }
    }

    /** Asks in a process that uses many. */
    static final class WithMany {
        private static final int IN_USE = 3500;
        private static final int CALLS = 10;

        private WithMany() {}

        public static void main(String... arguments) throws Exception {
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            long few = allocated(threads);
            List<FileInputStream> files = new ArrayList<>();
            for (int i = 0; i < IN_USE; i++) {
                files.add(new FileInputStream("/dev/null"));
            }
            long many = allocated(threads);
            for (FileInputStream each : files) {
                each.close();
            }
            assertTrue(many < few + IN_USE, many + " bytes instead of " + few);
        }

        /** Bytes that one call takes, once all of it is loaded. */
        private static long allocated(ThreadMXBean threads) {
            assertEquals(0, FreeDescriptors.check(FreeDescriptors.TO_START));
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < CALLS; i++) {
                assertEquals(0, FreeDescriptors.check(FreeDescriptors.TO_START));
            }
            return (threads.getCurrentThreadAllocatedBytes() - before) / CALLS;
        }
    }

    /** Asks in a process that has few. */
    static final class WithFew {
        private static final int MANY = 16;

        private WithFew() {}

        @SuppressWarnings("try") // it is only there
        public static void main(String... arguments) throws Exception {
            // So that the classes are there.
            assertEquals(0, FreeDescriptors.check(MANY), "of " + MANY);
            Descriptors.leave(MANY).close();
            for (int left = 0; left <= MANY + 1; left++) {
                try (Descriptors few = Descriptors.leave(left)) {
                    for (int count = 1; count <= MANY; count++) {
                        int expected = count <= left ? 0 : -Errno.EMFILE;
                        assertEquals(expected, FreeDescriptors.check(count), count + " of " + left);
                    }
                }
            }
            assertTakesOneAtATime();
        }

        /** Who opens a file meanwhile, while there is one more, must not fail. */
        @SuppressWarnings("try") // it is only there
        private static void assertTakesOneAtATime() throws InterruptedException, IOException {
            AtomicBoolean ends = new AtomicBoolean();
            Thread asking = new Thread(() -> {
                while (!ends.get()) {
                    FreeDescriptors.check(MANY);
                }
            });
            try (Descriptors few = Descriptors.leave(4)) {
                asking.start();
                for (int i = 0; i < 20_000; i++) {
                    new FileInputStream("/dev/null").close();
                }
            } finally {
                ends.set(true);
                asking.join();
            }
            assertTrue(new File("/proc/self/fd").list().length < 200);
        }
    }
}
