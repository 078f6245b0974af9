package org.rdmapanama.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.rdmapanama.ffm.internal.SystemFunctions;
import org.rdmapanama.testing.Bound;

/**
 * A process that can open only so many more files; closing this gives the others back. Linux only.
 *
 * <p>Java itself opens files, such as those of classes: so {@link #loadClasses} first, use once what is to be tested, and
 * do it in a process of its own ({@link Program#java}), which nothing else suffers in.
 */
public final class Descriptors implements AutoCloseable {
    /** How many numbers above those in use are left to be filled. */
    private static final int ROOM = 64;

    /** A process that may not open more than this is filled up as it is: with files of Java only, and no native call. */
    private static final int FEW = 512;

    /** A call that works with more than this needs too many. */
    private static final int MOST = 60;

    /** Negative when the limit was not changed. */
    private final long limitBefore;

    private final Deque<FileInputStream> files = new ArrayDeque<>();

    private Descriptors(long limitBefore) {
        this.limitBefore = limitBefore;
    }

    /** The limit, as C sets it. */
    private static final class Limit {
        private static final int RLIMIT_NOFILE = 7;
        private static final MethodHandle GETRLIMIT = handle("getrlimit");
        private static final MethodHandle SETRLIMIT = handle("setrlimit");

        private Limit() {}

        private static MethodHandle handle(String function) {
            return SystemFunctions.downcall(function, FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
        }

        /** Sets it to another one; what it was before. */
        static long set(long wanted) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment limits = arena.allocate(JAVA_LONG, 2);
                int failed = (int) GETRLIMIT.invokeExact(RLIMIT_NOFILE, limits.address());
                long before = limits.get(JAVA_LONG, 0);
                limits.set(JAVA_LONG, 0, wanted);
                failed |= (int) SETRLIMIT.invokeExact(RLIMIT_NOFILE, limits.address());
                if (failed != 0) {
                    throw new AssertionError("the limit of files cannot be set to " + wanted);
                }
                return before;
            } catch (Error | RuntimeException e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }
    }

    /** How many files this process may have open. */
    private static long limit() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/limits"))) {
            String line = lines.filter(each -> each.startsWith("Max open files"))
                    .findFirst()
                    .orElseThrow();
            return Long.parseLong(line.split(" +", -1)[3]);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What this process has open, as "number -> file", without what listing them takes. */
    public static List<String> open() {
        String[] numbers = new File("/proc/self/fd").list();
        if (numbers == null) {
            throw new AssertionError("no descriptor is left for listing them");
        }
        List<String> open = new ArrayList<>();
        for (String each : numbers) {
            try {
                open.add(each + " -> " + Files.readSymbolicLink(Path.of("/proc/self/fd", each)));
            } catch (IOException closed) {
                // It was that of the list.
            }
        }
        return open;
    }

    /** From now on this process can open so many more files, and no others. */
    public static Descriptors leave(int count) {
        int highest = Arrays.stream(new File("/proc/self/fd").list())
                .mapToInt(Integer::parseInt)
                .max()
                .orElseThrow();
        long limitBefore = limit() <= FEW ? -1 : Limit.set(highest + 1L + ROOM);
        Descriptors taken = new Descriptors(limitBefore);
        try {
            while (true) {
                taken.files.push(new FileInputStream("/dev/null"));
            }
        } catch (FileNotFoundException full) {
            for (int i = 0; i < count; i++) {
                close(taken.files.pop());
            }
            return taken;
        }
    }

    private static void close(FileInputStream file) {
        try {
            file.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        files.forEach(Descriptors::close);
        if (limitBefore >= 0) {
            Limit.set(limitBefore);
        }
    }

    /** Loads, without initializing them, all classes that lie where this one does; then they need no files any more. */
    public static void loadClasses(Class<?> one) throws IOException, ClassNotFoundException {
        Path root =
                Path.of(one.getProtectionDomain().getCodeSource().getLocation().getPath());
        if (Files.isDirectory(root)) {
            loadClasses(root, one.getClassLoader());
        } else {
            try (var jar = FileSystems.newFileSystem(root)) {
                loadClasses(jar.getPath("/"), one.getClassLoader());
            }
        }
    }

    private static void loadClasses(Path root, ClassLoader loader) throws IOException, ClassNotFoundException {
        List<String> names;
        try (Stream<Path> files = Files.walk(root)) {
            names = files.map(file -> root.relativize(file).toString())
                    .filter(file -> file.endsWith(".class") && !file.contains("-"))
                    .map(file ->
                            file.substring(0, file.length() - ".class".length()).replace('/', '.'))
                    .filter(name -> name.startsWith("org.rdmapanama."))
                    .toList();
        }
        for (String name : names) {
            try {
                Class.forName(name, false, loader);
            } catch (NoClassDefFoundError needsMore) {
                // Such as a test framework, which is not there in this process.
            }
        }
    }

    /** Something that may need descriptors. */
    @FunctionalInterface
    public interface Call {
        /** Does it; what it returns is closed, unless it is null. */
        AutoCloseable run() throws Exception;
    }

    /**
     * Calls with 0, 1, 2, ... descriptors left until it works. Each time it fails, that must be for a reason that says so,
     * nothing may stay open, and it must work once there are enough.
     *
     * @param name what it is, for messages
     * @param isClear whether a failure says what is missing
     * @param call what is to work at last; it has worked before
     * @return how many it needs
     */
    @SuppressWarnings("try") // it is only there
    public static int exhaust(String name, Predicate<Throwable> isClear, Call call) throws Exception {
        for (int left = 0; left <= MOST; left++) {
            List<String> before = open();
            Throwable failure = null;
            try (Descriptors few = leave(left)) {
                close(call.run());
            } catch (Throwable e) {
                failure = e;
            }
            assertSame(before, name + " with " + left + " descriptors left");
            if (failure == null) {
                return left;
            }
            if (!isClear.test(failure)) {
                throw new AssertionError(name + " with " + left + " descriptors left says " + failure, failure);
            }
            try {
                close(call.run());
            } catch (Throwable e) {
                e.addSuppressed(failure);
                throw new AssertionError(name + " after it had " + left + " descriptors left", e);
            }
            assertSame(before, name + " after it had " + left + " descriptors left");
        }
        throw new AssertionError(name + " does not work with " + MOST + " descriptors either");
    }

    private static void close(AutoCloseable made) throws Exception {
        if (made != null) {
            made.close();
        }
    }

    /** That the same are open as before; some are closed by other threads, soon. */
    public static void assertSame(List<String> before, String when) throws InterruptedException {
        Bound bound = Bound.ofSeconds(20);
        while (!open().equals(before)) {
            if (bound.isOver()) {
                List<String> more = new ArrayList<>(open());
                more.removeAll(before);
                List<String> less = new ArrayList<>(before);
                less.removeAll(open());
                throw new AssertionError(when + " there are " + more + ", and no more " + less);
            }
            Thread.sleep(20);
        }
    }
}
