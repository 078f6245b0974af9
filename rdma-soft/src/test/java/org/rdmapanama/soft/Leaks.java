package org.rdmapanama.soft;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.ref.Cleaner;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Bound;

/** A program that loses an arena with open objects, or closes it, and then waits for the collector. */
public final class Leaks {
    private Leaks() {}

    /** With "close" it closes the arena. */
    public static void main(String... arguments) throws InterruptedException {
        boolean closes = arguments.length > 0;
        PrintStream errors = System.err;
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
        CountDownLatch collected = new CountDownLatch(1);
        Cleaner cleaner = Cleaner.create();
        open(cleaner, collected, closes);
        Bound.ofSeconds(60).await("the arena is not collected", () -> {
            System.gc();
            return collected.await(100, TimeUnit.MILLISECONDS);
        });
        if (!closes) {
            // The detector's own thread may be later, and its first line of the log takes long where the processor is
            // slow.
            Bound.ofSeconds(60).await("the detector says nothing", () -> written.size() > 0);
        }
        // Until a warning is complete, and for one too many.
        Thread.sleep(500);
        errors.print(written.toString(StandardCharsets.UTF_8));
        errors.flush();
    }

    private static void open(Cleaner cleaner, CountDownLatch collected, boolean closes) {
        VerbsArena arena = VerbsArena.ofShared();
        cleaner.register(arena, collected::countDown);
        makeObjects(arena);
        if (closes) {
            arena.close();
        }
    }

    private static void makeObjects(VerbsArena arena) {
        ProtectionDomain domain = Context.open(arena, SoftDevice.NAME).allocateProtectionDomain();
        MemoryRegion region = domain.register(Arena.ofAuto().allocate(4711), AccessFlag.LOCAL_WRITE);
        CompletionQueue closed = domain.context().createCompletionQueue(16);
        closed.close();
        System.out.println("made " + region.byteSize() + " bytes");
    }
}
