package org.rdmapanama.samples.today;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The table and the notes made from the measurements. */
class TodayTableTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long MEBIBYTE = 1 << 20;

    @Test
    void shouldCountForEachGibibyte() {
        Sample sample = new Sample(256 * MEBIBYTE, SECOND / 2, SECOND / 8, SECOND / 4, SECOND, 0);
        assertEquals(512, sample.rate(), 1e-9);
        assertEquals(0.5, sample.senderEach(), 1e-9);
        assertEquals(1, sample.receiverEach(), 1e-9);
        assertEquals(1.5, sample.bothEach(), 1e-9);
        assertEquals(4, sample.machineEach(), 1e-9);
    }

    @ParameterizedTest
    @CsvSource({"7, 7", "3;1;2, 2", "1;9, 5", "4;1;100;2, 3"})
    void shouldTakeTheMedian(String values, double expected) {
        List<Sample> samples = List.of(values.split(";", -1)).stream()
                .map(value -> new Sample(1, 1, 0, 0, 0, Long.parseLong(value)))
                .toList();
        assertEquals(expected, Sample.median(samples, Sample::crossed), 1e-9);
    }

    @Test
    void shouldPrintARow() {
        List<Sample> one = List.of(new Sample(1024 * MEBIBYTE, 2 * SECOND, SECOND, 2 * SECOND, 4 * SECOND, 0));
        assertEquals(
                "TCP 512.0 1.000 2.000 3.000 4.000", TodayTable.row("TCP", one).replaceAll(" +", " "));
    }

    @Test
    void shouldSayWhatTheFiguresAreWorth() {
        List<String> lab = TodayTable.notes("veth0", true, "rxe0 and rxe1 are", "rxe", true);
        assertTrue(lab.stream().allMatch(line -> line.length() <= 100 && !line.isBlank()), lab::toString);
        String text = String.join(" ", lab);
        assertTrue(text.contains("TCP traffic left through veth0."), text);
        assertTrue(text.contains("rxe0 and rxe1 are software"), text);
        assertTrue(text.contains("emulated by qemu"), text);

        String card = String.join(" ", TodayTable.notes("eth0", false, "mlx5_0 is", "mlx5", false));
        assertTrue(card.contains("TCP traffic did not leave through eth0"), card);
        assertTrue(card.contains("mlx5_0 is hardware"), card);
        assertFalse(card.contains("emula"), card);

        String soft = String.join(" ", TodayTable.notes("eth0", false, "soft0 is", "soft", false));
        assertTrue(soft.contains("soft0 is software, in Java"), soft);
        assertFalse(soft.contains("kernel builds"), soft);
    }
}
