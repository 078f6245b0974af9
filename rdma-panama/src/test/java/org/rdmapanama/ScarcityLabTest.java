package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Commands;
import org.rdmapanama.testing.LabDevices;

/** Whatever is called while the process has not enough of something: it says so, leaves nothing, and works afterwards. */
@Tag("lab")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ScarcityLabTest {
    /** What there is little of, by the name that {@link Scarcity} has for it, and the command that sees to it. */
    private static final Map<String, List<String>> LIMITS = Map.of(
            "DESCRIPTORS", List.of("prlimit", "--nofile=256:256"),
            // CAP_IPC_LOCK, which root has, lifts the limit.
            "LOCKED_PAGES", List.of("prlimit", "--memlock=131072:131072", "setpriv", "--bounding-set", "-ipc_lock"));

    private static final Map<String, CompletableFuture<Commands.Result>> RUNNING = new LinkedHashMap<>();
    private static List<String> resources;

    /** In the lab both processes run at the same time, because each keeps one of its slow processors busy. */
    @BeforeAll
    static void startAll() throws IOException {
        resources = Commands.resources();
        if (LabDevices.areSoftRoce()) {
            for (String scarce : LIMITS.keySet()) {
                RUNNING.put(scarce, start(scarce));
            }
        }
    }

    private static CompletableFuture<Commands.Result> start(String scarce) {
        return Async.start(() -> Commands.java(LIMITS.get(scarce), Scarcity.class, scarce));
    }

    @AfterAll
    static void forget() {
        RUNNING.clear();
    }

    private static void assertNoFaults(String scarce, String... failing) throws Exception {
        // It ends by itself, within the limit of commands.
        Commands.Result result =
                RUNNING.computeIfAbsent(scarce, ScarcityLabTest::start).get();
        assertEquals(0, result.status(), result::output);
        assertFalse(result.output().contains("FAULT"), result::output);
        assertTrue(result.output().contains("done"), result::output);
        for (String call : failing) {
            assertTrue(result.output().contains(call + " with 0 left: "), result::output);
        }
        // What the others use is theirs as long as they run.
        CompletableFuture.allOf(RUNNING.values().toArray(CompletableFuture[]::new))
                .get();
        assertEquals(resources, Commands.resources(), "what the kernel keeps for the devices");
    }

    @Test
    void shouldBearThatThereAreNoDescriptors() throws Exception {
        String[] failing = LabDevices.areNative()
                ? new String[] {"Context.open", "Context.createCompletionChannel"}
                : new String[] {"Context.open"};
        assertNoFaults("DESCRIPTORS", failing);
    }

    @Test
    void shouldBearThatNoMoreMemoryMayBeLocked() throws Exception {
        LabDevices.assumeSoftRoce("lowering the limit needs root, and devices of this process lock nothing");
        assertNoFaults("LOCKED_PAGES", "ProtectionDomain.register", "RegisteredPool.create");
    }
}
