package org.rdmapanama.samples.today;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The table and the notes made from the measurements. */
class TodayTableTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long MEBIBYTE = 1 << 20;

    private static Sample sample(long bytes, long nanos, long sender, long receiver, long machine) {
        return new Sample(
                bytes,
                nanos,
                sender,
                receiver,
                machine,
                0,
                new Counts(4, 2 * MEBIBYTE, 5, 3 * MEBIBYTE, MEBIBYTE, 6, 7, ""),
                new Counts(8, 9 * MEBIBYTE, 10, 0, 0, 11, 12, ""));
    }

    private static String spaced(String row) {
        return row.replaceAll(" +", " ");
    }

    @Test
    void shouldCountForEachGibibyte() {
        Sample sample = sample(256 * MEBIBYTE, SECOND / 2, SECOND / 8, SECOND / 4, SECOND);
        assertEquals(512, sample.rate(), 1e-9);
        assertEquals(0.5, Sample.senderEach(List.of(sample)), 1e-9);
        assertEquals(1, Sample.receiverEach(List.of(sample)), 1e-9);
        assertEquals(1.5, Sample.bothEach(List.of(sample)), 1e-9);
        assertEquals(4, Sample.machineEach(List.of(sample)), 1e-9);
    }

    @ParameterizedTest
    @CsvSource({"7, 7", "3;1;2, 2", "1;9, 5", "4;1;100;2, 3"})
    void shouldTakeTheMedian(String values, double expected) {
        List<Sample> samples = List.of(values.split(";", -1)).stream()
                .map(value -> sample(1, 1, Long.parseLong(value), 0, 0))
                .toList();
        assertEquals(expected, Sample.median(samples, Sample::sender), 1e-9);
    }

    @Test
    void shouldPrintARow() {
        List<Sample> one = List.of(sample(1024 * MEBIBYTE, 2 * SECOND, SECOND, 2 * SECOND, 4 * SECOND));
        assertEquals(
                "TCP 512.0 1.000 2.000 3.000 4.000", TodayTable.row("TCP", one).replaceAll(" +", " "));
    }

    @Test
    void shouldPrintADashWhereAnIntervalIsTooShort() {
        // The clock of the machine has ticks of ten milliseconds, and a thread that ended takes its time with it.
        List<Sample> shortest = List.of(sample(1024 * MEBIBYTE, SECOND, SECOND, -1, -SECOND / 100));
        assertEquals("TCP 1024.0 1.000 - - -", spaced(TodayTable.row("TCP", shortest)));
        List<Sample> tick = List.of(sample(1024 * MEBIBYTE, SECOND, 0, 0, SECOND / 100));
        assertEquals("TCP 1024.0 0.000 0.000 0.000 -", spaced(TodayTable.row("TCP", tick)));
        assertEquals("TCP - - - - -", spaced(TodayTable.row("TCP", List.of())));
    }

    /** Whatever was lost with threads that ended, and by the steps of the clocks. */
    @Test
    void shouldNeverPrintANegativeTime() {
        long[] times = {-SECOND, -1, 0, 1, SECOND};
        List<Sample> all = new ArrayList<>();
        for (long sender : times) {
            for (long receiver : times) {
                for (long machine : times) {
                    all.add(sample(1024 * MEBIBYTE, SECOND, sender, receiver, machine));
                }
            }
        }
        for (Sample one : all) {
            for (Sample other : all) {
                String row = TodayTable.row("TCP", List.of(one, other));
                assertFalse(row.contains("-0") || row.contains("-1"), () -> one + ", " + other + ": " + row);
            }
        }
    }

    @Test
    void shouldPrintWhatTheKernelCounted() {
        List<Sample> one = List.of(sample(MEBIBYTE, SECOND, 0, 0, 0));
        assertEquals("TCP 4 2.0 5 3.0 1.0 8 9.0", spaced(TodayTable.calls("TCP", one)));
        assertEquals(
                "TCP, file: read and write 3 3 6 7 11 12", spaced(TodayTable.switches(TransferMethod.READ_WRITE, one)));
        assertEquals("TCP - - - - - - -", spaced(TodayTable.calls("TCP", List.of())));
    }

    @Test
    void shouldSayWhyCountsAreMissing() {
        Counts counts = Counts.parse("- - - - - 3 4 /proc/self/io: Permission denied");
        assertEquals(3, counts.voluntary());
        assertTrue(Double.isNaN(counts.reads()));
        assertEquals(counts, Counts.parse(counts.words()));
        Sample sample = new Sample(1, 1, 0, 0, 0, 0, counts, counts);
        assertEquals("TCP - - - - - - -", spaced(TodayTable.calls("TCP", List.of(sample))));
        List<String> notes = TodayTable.countNotes(counts.missing(), "");
        assertTrue(notes.contains("Not counted: /proc/self/io: Permission denied"), notes::toString);
        assertTrue(notes.stream().allMatch(line -> line.length() <= 100 && !line.isBlank()), notes::toString);
    }

    @Test
    void shouldSayWhyDirectReadingIsMissing() {
        List<String> notes = TodayTable.countNotes("", "data: Invalid argument");
        assertTrue(
                String.join(" ", notes).contains("could not be read by direct I/O (data: Invalid argument)"),
                notes::toString);
    }

    @Test
    void shouldCountTheArrows() {
        assertEquals(2, TransferMethod.MEMORY.path().byCpu());
        assertEquals(2, TransferMethod.MEMORY.path().byDma());
        assertEquals(1, TransferMethod.TRANSFER_TO.path().byCpu());
        assertEquals(0, TransferMethod.RDMA_READY.path().byCpu());
        assertEquals(3, TransferMethod.RDMA_READY.path().byDma());
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
