package org.rdmapanama.ffm.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class SecretNumbersTest {
    private static final int NUMBERS = 100_000;
    private static final Path PROJECT =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().getParent();
    private static final Pattern OTHERS =
            Pattern.compile("\\b(SplittableRandom|ThreadLocalRandom|new Random|Math\\.random|RandomGenerator)\\b");

    /**
     * Their numbers give nothing away: identifiers of work requests, which packets to lose on purpose, what a measurement
     * writes and where, the data of a training, and the number of a group of ranks, which is on their command lines.
     */
    private static final Set<String> HARMLESS = Set.of(
            "BenchKeys.java",
            "BottleneckSender.java",
            "EqualCostPaths.java",
            "FaultySender.java",
            "GracefulEnd.java",
            "LogBench.java",
            "LogPrimaryCommand.java",
            "NvmeLoad.java",
            "RankOptions.java",
            "Regression.java");

    @Test
    void shouldHaveAllBitsAndNoNumberTwice() {
        assertEquals(0, SecretNumbers.prepare());
        Set<Long> seen = ConcurrentHashMap.newKeySet();
        int[] ones = new int[Long.SIZE];
        IntStream.range(0, NUMBERS).parallel().forEach(i -> seen.add(SecretNumbers.nextLong()));
        seen.forEach(number -> IntStream.range(0, Long.SIZE).forEach(bit -> ones[bit] += (int) ((number >>> bit) & 1)));
        assertEquals(NUMBERS, seen.size());
        for (int each : ones) {
            assertTrue(Math.abs(each - NUMBERS / 2) < NUMBERS / 50, () -> "a bit is set in " + each + " numbers");
        }
    }

    @Test
    void shouldGiveAsManyBitsAsAreWanted() {
        assertEquals(0, SecretNumbers.prepare());
        for (int bits = 1; bits <= Integer.SIZE; bits++) {
            int all = 0;
            for (int i = 0; i < 1000; i++) {
                all |= SecretNumbers.next(bits);
            }
            assertEquals(-1 >>> (Integer.SIZE - bits), all);
        }
    }

    @Test
    void shouldBeTheSourceOfAllNumbersThatStrangersSee() throws IOException {
        Set<String> users = new TreeSet<>();
        for (String module : new String[] {
            "ffm-bindings", "rdma-panama", "rdma-cm", "rdma-soft", "rdma-nvme", "rdma-spark", "samples"
        }) {
            try (Stream<Path> files = Files.walk(PROJECT.resolve(module).resolve("src/main/java"))) {
                for (Path each : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
                    if (OTHERS.matcher(Files.readString(each)).find()) {
                        users.add(each.getFileName().toString());
                    }
                }
            }
        }
        assertEquals(HARMLESS, users);
    }
}
