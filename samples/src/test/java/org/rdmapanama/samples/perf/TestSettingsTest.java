package org.rdmapanama.samples.perf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.samples.Failure;

/** The parameters of a test, and their encoding for the server. */
class TestSettingsTest {
    /** Returns the default settings of a test, apart from the arguments. */
    static TestSettings settings(TestKind kind, long size, boolean all, int rate) {
        return settings(kind, Connection.RC, size, all, rate);
    }

    static TestSettings settings(TestKind kind, Connection connection, long size, boolean all, int rate) {
        boolean latency = kind.latency;
        return new TestSettings(
                kind,
                connection,
                kind.operation == Operation.ATOMIC ? 8 : size,
                all,
                100,
                0,
                10,
                latency ? 1 : 128,
                512,
                1,
                1,
                latency || rate > 0 ? 1 : 100,
                0,
                true,
                false,
                false,
                0,
                1024,
                AtomicKind.CMP_AND_SWAP,
                rate);
    }

    @ParameterizedTest
    @EnumSource(TestKind.class)
    void shouldArriveAsItWasSent(TestKind kind) {
        TestSettings settings = settings(kind, 4096, false, 7);
        assertNull(settings.problem());
        assertEquals(settings, TestSettings.of(settings.toBytes()));
    }

    @Test
    void shouldRefuseWhatMakesNoSense() {
        byte[] bytes = settings(TestKind.READ_BW, 64, false, 0).toBytes();
        for (byte[] wrong :
                new byte[][] {{}, Arrays.copyOf(bytes, bytes.length - 1), "nonsense".getBytes(StandardCharsets.US_ASCII)
                }) {
            Failure failure = assertThrows(Failure.class, () -> TestSettings.of(wrong));
            assertTrue(failure.getMessage().contains("malformed"), failure.getMessage());
        }
    }

    /** A server checks the settings it receives, because the client may be another program. */
    @Test
    void shouldFindWhatIsOutOfRange() {
        TestSettings huge = settings(TestKind.WRITE_BW, TestSettings.MAX_SIZE + 1, false, 0);
        assertTrue(huge.problem().startsWith("--size must be between"), huge.problem());
        TestSettings negative = settings(TestKind.WRITE_BW, -1, false, 0);
        assertTrue(negative.problem().startsWith("--size must be between"), negative.problem());
        TestSettings fast = settings(TestKind.WRITE_BW, 8, false, -3);
        assertTrue(fast.problem().startsWith("--rate must be between"), fast.problem());
    }

    @Test
    void shouldSayWhatSrdCannotDo() {
        assertNull(settings(TestKind.SEND_LAT, Connection.SRD, 64, false, 0).problem());
        assertNull(settings(TestKind.READ_LAT, Connection.SRD, 64, false, 0).problem());
        for (Object[] each : new Object[][] {
            {TestKind.ATOMIC_BW, "SRD does not support ATOMIC: it supports send, write and read"},
            {TestKind.WRITE_LAT, "write-lat polls the last byte of its memory, which SRD may write before the others"},
            {TestKind.SEND_BW, "--cq-mod is not for SRD: each of its messages has a completion"}
        }) {
            String problem =
                    settings((TestKind) each[0], Connection.SRD, 64, false, 0).problem();
            assertTrue(problem.startsWith((String) each[1]), problem);
        }
    }

    @Test
    void shouldDoubleTheSize() {
        assertArrayEquals(
                new long[] {2, 4, 8, 16, 32},
                settings(TestKind.WRITE_BW, 50, true, 0).sizes());
        assertArrayEquals(
                new long[] {50}, settings(TestKind.WRITE_BW, 50, false, 0).sizes());
        long[] all =
                settings(TestKind.WRITE_BW, TestSettings.MAX_OF_ALL, true, 0).sizes();
        assertEquals(23, all.length);
        assertEquals(8 << 20, all[22]);
    }

    @Test
    void shouldHaveRoomForADatagramsHeader() {
        TestSettings settings = settings(TestKind.SEND_BW, 4096, false, 0);
        assertTrue(settings.stride() >= 4096 + 40);
        assertEquals(0, settings.stride() % 4096);
    }
}
