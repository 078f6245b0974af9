package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ParentDomainOptions;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Side;

/** Single work requests are copied into the register of a thread domain, by Java as by libmlx5. */
@Tag("card")
class BlueFlameCardTest {
    private static final int ROUNDS = 300;

    /** That of another process on soft0, so that this one keeps its own. */
    private static final String OTHER_PORT = "-Dorg.rdmapanama.soft.port=4801";

    @TempDir
    private Path folder;

    @BeforeEach
    void assumeTheDriver() {
        assumeFalse(Boolean.getBoolean("org.rdmapanama.direct"), "all queue pairs are direct: none is the driver's");
    }

    @Test
    void shouldCopyAsTheDriverDoes() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            BlueFlameComparison.Copied copied = new BlueFlameComparison(arena).run();
            assertEquals(BlueFlameComparison.COPIES_INLINE, copied.inline() > 0, copied::toString);
            assertEquals(BlueFlameComparison.COPIES_OTHERS, copied.others() > 0, copied::toString);
        }
    }

    /** Each in a process of its own: Java sees the environment as it was when its process began. */
    @ParameterizedTest
    @CsvSource({
        "MLX5_SHUT_UP_BF=1, false, false",
        "MLX5_SHUT_UP_BF=0, true, true",
        "MLX5_POST_SEND_PREFER_BF=0, true, false",
        "MLX5_POST_SEND_PREFER_BF=1, true, true",
        "MLX5_SHUT_UP_BF=, false, false"
    })
    void shouldObeyTheEnvironment(String variable, boolean inline, boolean others) throws IOException {
        List<String> command = Program.javaCommand(
                List.of(
                        "env",
                        "--unset=MLX5_SHUT_UP_BF",
                        "--unset=MLX5_POST_SEND_PREFER_BF",
                        "SYSFS_PATH=" + Files.createDirectory(folder.resolve("sysfs")),
                        variable),
                List.of(OTHER_PORT),
                BlueFlameComparison.class);
        String output = Program.run(command.toArray(String[]::new));
        Matcher copied =
                Pattern.compile("Copied\\[inline=(\\d+), others=(\\d+)]").matcher(output);
        assertTrue(copied.find(), output);
        assertEquals(inline, Integer.parseInt(copied.group(1)) > 0, output);
        assertEquals(others, Integer.parseInt(copied.group(2)) > 0, output);
    }

    /** The card finds each work request in the register, the same as in the ring, and executes it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldLeaveWorkRequestsInTheRegister(boolean direct) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, "mlx5_0");
            Side a = ThreadDomainCardTest.side(arena, context, direct);
            Side b = ThreadDomainCardTest.side(arena, context, direct);
            Endpoint ofA = a.queuePair.localEndpoint();
            a.queuePair.connect(b.queuePair.localEndpoint());
            b.queuePair.connect(ofA);
            int expected = 0;
            for (int i = 0; i < ROUNDS; i++) {
                boolean inline = i % 3 != 0;
                int bytes = 8 + i % 190;
                a.memory.set(ValueLayout.JAVA_LONG, 0, i);
                Cards.pause(true);
                try {
                    a.post(a.request(i, 0, bytes).inline(inline).rdmaWrite(b.region.address(), b.region.rkey()));
                } finally {
                    Cards.pause(false);
                }
                a.await().is(CompletionOpcode.RDMA_WRITE, i);
                assertEquals(i, b.memory.get(ValueLayout.JAVA_LONG, 0));
                boolean copies = inline ? BlueFlameComparison.COPIES_INLINE : BlueFlameComparison.COPIES_OTHERS;
                expected += copies ? 1 : 0;
                assertEquals(expected, Cards.takenFromRegister(a.queuePair.number()), "after write " + i);
            }
        }
    }

    /** The driver has a next half of its own. */
    @Test
    void shouldCopyNothingBesideTheDriver() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, "mlx5_0");
            ProtectionDomain plain = context.allocateProtectionDomain();
            MemoryRegion region = plain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE);
            ProtectionDomain alone = threadDomain(context, plain);
            TwinQueuePair copying = twin(context, alone, region, true);
            ProtectionDomain mixed = threadDomain(context, plain);
            TwinQueuePair beside = twin(context, mixed, region, true);
            TwinQueuePair driver = twin(context, mixed, region, false);
            Cards.pause(true);
            try {
                assertEquals(BlueFlameComparison.COPIES_OTHERS ? 8 : 1, wordsRung(copying, region));
                assertEquals(1, wordsRung(beside, region));
            } finally {
                copying.forget();
                beside.forget();
                driver.forget();
                Cards.pause(false);
            }
        }
    }

    private static ProtectionDomain threadDomain(Context context, ProtectionDomain plain) {
        return plain.createParentDomain(new ParentDomainOptions().threadDomain(context.allocateThreadDomain()));
    }

    private static TwinQueuePair twin(Context context, ProtectionDomain domain, MemoryRegion region, boolean direct) {
        return new TwinQueuePair(context, domain, region, QueuePairType.RC, new TwinQueuePair.Sizes(16, 1, 0), direct);
    }

    /** Posts a work request of one block, and returns how many words of its register were stored. */
    private static int wordsRung(TwinQueuePair twin, MemoryRegion region) {
        twin.clearRegister();
        twin.queuePair.postSend(twin.sends[0].clear().send().add(region, 0, 8));
        int words = 0;
        for (int i = 0; i < 2 * twin.halfWords(); i++) {
            words += twin.registerWord(i) == TwinQueuePair.UNTOUCHED ? 0 : 1;
        }
        return words;
    }
}
