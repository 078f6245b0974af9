package org.rdmapanama;

import static org.rdmapanama.FailingCallsLabTest.kind;
import static org.rdmapanama.FailingCallsLabTest.thrown;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.rdmapanama.ffm.Descriptors;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/**
 * Calls everything with 0, 1, 2, ... of something left that this process is not allowed much of, until it works. Prints
 * what fails, and as faults what does so in another way than it should, leaves descriptors open, or does not work again.
 */
final class Scarcity {
    /** No call needs more. */
    private static final int MOST = 40;

    /** What there is not much of. */
    private enum Scarce {
        /** For soft0's sockets the JDK says it, and where libibverbs reports something else, the cure does. */
        DESCRIPTORS("EMFILE|Too many open files|no file descriptor left") {
            @Override
            AutoCloseable takeAllBut(int left, ConnectedPair pair) throws IOException {
                return Descriptors.leave(left);
            }
        },
        LOCKED_PAGES("ENOMEM.*RLIMIT_MEMLOCK") {
            @Override
            AutoCloseable takeAllBut(int left, ConnectedPair pair) {
                return lockAllBut(left, pair.b);
            }
        };

        final Pattern message;

        Scarce(String message) {
            this.message = Pattern.compile(message);
        }

        abstract AutoCloseable takeAllBut(int left, ConnectedPair pair) throws IOException;
    }

    /** Each registration of the same page counts. */
    private static AutoCloseable lockAllBut(int left, Side side) {
        List<MemoryRegion> regions = new ArrayList<>();
        try {
            while (true) {
                regions.add(side.domain.register(side.memory.asSlice(0, 4096)));
            }
        } catch (VerbsException full) {
            for (int i = 0; i < left; i++) {
                regions.removeLast().close();
            }
        }
        return () -> regions.forEach(MemoryRegion::close);
    }

    private final Scarce scarce;

    private Scarcity(Scarce scarce) {
        this.scarce = scarce;
    }

    public static void main(String... arguments) throws Exception {
        loadAll();
        // It lists the devices when it is used first, which takes descriptors.
        MethodHandles.lookup().ensureInitialized(FailingCallsLabTest.class);
        Scarcity scarcity = new Scarcity(Scarce.valueOf(arguments[0]));
        // The JDK reads files when some of its classes are used first, too.
        ConnectedPair.open(QueuePairType.RC).close();
        if (scarcity.scarce == Scarce.DESCRIPTORS) {
            // soft0 opens its sockets when nobody else has it open.
            Device device = LabDevices.first();
            scarcity.sweep("Context.open", call -> {
                VerbsArena arena = VerbsArena.ofConfined();
                call.on(() -> Context.open(arena, device).close(), null);
                arena.close();
            });
        }
        for (Uses.Use use : Uses.ALL) {
            if (!FailingCallsLabTest.NOT_TO_BE_CALLED.contains(use.name())) {
                scarcity.sweep(use.name(), call -> {
                    try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
                        call.on(use.prepare(pair.a), pair);
                    }
                });
            }
        }
        System.out.println("done");
    }

    /** What to do with something that is prepared. */
    @FunctionalInterface
    private interface Call {
        void on(Uses.Prepared prepared, ConnectedPair pair) throws Exception;
    }

    /** Prepares something anew each time. */
    @FunctionalInterface
    private interface Preparation {
        void with(Call call) throws Exception;
    }

    /** A class is read from a file when it is used first. */
    private static void loadAll() throws IOException {
        for (String entry : System.getProperty("java.class.path").split(":", -1)) {
            Path folder = Path.of(entry);
            if (Files.isDirectory(folder)) {
                try (Stream<Path> files = Files.walk(folder)) {
                    files.map(file -> folder.relativize(file).toString())
                            .filter(name -> name.endsWith(".class") && !name.contains("-info"))
                            .forEach(Scarcity::load);
                }
            }
        }
    }

    private static void load(String file) {
        String name = file.substring(0, file.length() - ".class".length()).replace('/', '.');
        try {
            Class.forName(name, false, Scarcity.class.getClassLoader());
        } catch (ClassNotFoundException | LinkageError e) {
            // A class that needs what is not there: nobody will use it.
        }
    }

    /** Most need not be asked: they work. */
    private static Supplier<String> once(Callable<String> call) {
        AtomicReference<String> known = new AtomicReference<>();
        return () -> known.updateAndGet(value -> {
            try {
                return value == null ? call.call() : value;
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    private void sweep(String name, Preparation preparation) throws Exception {
        Supplier<String> usual = once(() -> {
            AtomicReference<String> kind = new AtomicReference<>();
            preparation.with((prepared, pair) -> kind.set(kind(thrown(prepared))));
            return kind.get();
        });
        AtomicBoolean works = new AtomicBoolean();
        for (int left = 0; left <= MOST && !works.get(); left++) {
            int few = left;
            preparation.with((prepared, pair) -> works.set(isUsual(name, prepared, pair, few, usual)));
        }
        if (!works.get()) {
            System.out.println("FAULT " + name + ": never works");
        }
    }

    private boolean isUsual(String name, Uses.Prepared prepared, ConnectedPair pair, int left, Supplier<String> usual)
            throws Exception {
        int before = Descriptors.open().size();
        Throwable thrown;
        AutoCloseable taken = scarce.takeAllBut(left, pair);
        try {
            thrown = thrown(prepared);
        } finally {
            taken.close();
        }
        if (thrown == null || kind(thrown).equals(usual.get())) {
            return true;
        }
        String call = name + " with " + left + " left";
        boolean told = thrown instanceof VerbsException
                && scarce.message.matcher(thrown.getMessage()).find();
        System.out.println((told ? "" : "FAULT ") + call + ": " + thrown);
        int after = Descriptors.open().size();
        if (after != before) {
            System.out.println("FAULT " + call + ": " + after + " descriptors are open, instead of " + before);
        }
        Throwable again = thrown(prepared);
        if (!kind(again).equals(usual.get())) {
            System.out.println("FAULT " + call + ": then " + again + " instead of " + usual.get());
        }
        return false;
    }
}
