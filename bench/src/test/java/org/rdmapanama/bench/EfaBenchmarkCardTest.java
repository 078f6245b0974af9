package org.rdmapanama.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.cards.Cards;
import org.rdmapanama.ffm.CCompiler;
import org.rdmapanama.ffm.NativeLibrary;

/**
 * What {@code bin/bench direct --card efa} measures works: each method completes all of its work requests, through C, calls and
 * directly, and the rings wrap.
 */
@Tag("card")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EfaBenchmarkCardTest {
    private static final String FOLDER = "org.rdmapanama.bench.native";

    /** Of which each one is a thousand work requests or more, and a ring has 256. */
    private static final int TURNS = 3;

    private static String folderBefore;

    @BeforeAll
    static void compile(@TempDir Path folder) throws Exception {
        assumeTrue(
                NativeLibrary.EFA.find("efadv_query_cq").isPresent(),
                "the installed libefa lacks efadv_query_cq; run lab/newer-rdma-core");
        CCompiler.assumeWanted();
        folderBefore = System.getProperty(FOLDER);
        System.setProperty(FOLDER, folder.toString());
        CCompiler.makeLibrary(folder.resolve(EfaHardware.LIBRARY), "bench/src/main/c/efaloops.c", "-libverbs");
    }

    @AfterAll
    static void restore() {
        if (folderBefore == null) {
            System.clearProperty(FOLDER);
        } else {
            System.setProperty(FOLDER, folderBefore);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "1, true, CONFINED",
        "16, true, CONFINED",
        "1, false, CONFINED",
        "16, false, CONFINED",
        "1, false, SHARED",
        "16, false, SHARED"
    })
    void shouldCompleteAllWorkRequests(int batch, boolean c, Threads threads) throws Throwable {
        boolean direct = Boolean.getBoolean("org.rdmapanama.direct");
        assumeTrue(!(c && direct), "C does not post to queues that Java writes");
        for (boolean extended : new boolean[] {false, true}) {
            EfaBenchmark benchmark = new EfaBenchmark(batch, c, extended, threads);
            benchmark.take();
            try {
                assertEquals(direct, benchmark.isDirect());
                long expected = 1000L * batch * (batch + 1) / 2;
                for (int turn = 0; turn < TURNS; turn++) {
                    assertEquals(expected, extended ? benchmark.build() : benchmark.postSend());
                    assertEquals(expected, benchmark.postReceive());
                    assertEquals(0, benchmark.pollEmpty());
                }
            } finally {
                benchmark.close();
                Cards.pause(false);
            }
        }
    }
}
