package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.LabDevices;

/** What tests do in a process of its own, because it needs other rights or limits, or because its log is looked at. */
@SuppressWarnings("CheckReturnValue") // objects that are only there
final class LabChild {
    private LabChild() {}

    public static void main(String[] arguments) {
        switch (arguments[0]) {
            case "failing-deregistration" -> failDeregistration();
            case "register" -> register(Long.parseLong(arguments[1]));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static void failDeregistration() {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        recording.failOnce("dereg_mr", Errno.EBUSY);
        VerbsArena arena = VerbsArena.ofConfined();
        Context context = Context.open(arena, LabDevices.first(), () -> recording);
        context.allocateProtectionDomain().register(arena.allocate(4096));
        try {
            arena.close();
            throw new IllegalStateException("nothing failed");
        } catch (VerbsException expected) {
            System.out.println("as expected: " + expected.getMessage());
        }
    }

    /** Opens the first device, registers so many bytes, and prints what goes wrong. */
    private static void register(long bytes) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            MemorySegment memory = arena.allocate(bytes, 4096);
            MemoryRegion region = context.allocateProtectionDomain().register(memory, AccessFlag.LOCAL_WRITE);
            System.out.println("registered " + region);
        } catch (VerbsException e) {
            System.out.println(e.errnoName() + ": " + e.getMessage());
        }
    }
}
