package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.soft.wire.UdpFlow;

/** Queue pairs between two hosts, and the paths that their packets take. */
class EqualCostPathsTest {
    private static final int PATHS = 4;

    private final EqualCostPaths router = new EqualCostPaths(PATHS);

    @ParameterizedTest
    @ValueSource(ints = {32, 64, 256, 1024})
    void shouldSpreadHashedSourcePorts(int queuePairs) {
        int[] counts = router.spread(queuePairs, UdpFlow::sourcePort);
        assertEquals(queuePairs, Arrays.stream(counts).sum());
        for (int each : counts) {
            assertTrue(each > queuePairs / (2 * PATHS) && each < 2 * queuePairs / PATHS, () -> Arrays.toString(counts));
        }
    }

    @Test
    void shouldSendAllFromOneSourcePortTheSameWay() {
        int[] counts = router.spread(64, EqualCostPaths::same);
        Arrays.sort(counts);
        assertArrayEquals(new int[] {0, 0, 0, 64}, counts);
    }

    /** Otherwise the packets of a queue pair would overtake each other. */
    @Test
    void shouldKeepThePathOfAFlow() {
        for (int port : IntStream.range(0xc000, 0xc100).toArray()) {
            assertEquals(router.path(port), new EqualCostPaths(PATHS).path(port));
        }
    }

    @Test
    void shouldShowBoth() {
        String[] lines = EqualCostPaths.table().split("\n", -1);
        assertEquals("ECMP, 64 connections between two hosts with 4 paths", lines[0]);
        assertTrue(lines[1].endsWith("    1    2    3    4"), lines[1]);
        assertTrue(lines[3].matches(".*one source port(?=.* 64\\b)(( +0| +64){4})"), lines[3]);
    }
}
