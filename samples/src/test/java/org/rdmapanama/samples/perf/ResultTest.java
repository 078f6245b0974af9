package org.rdmapanama.samples.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.rdmapanama.samples.figures.LatencyRecord;

/** The arithmetic of results. */
class ResultTest {
    private static final double TINY = 1e-9;

    @Test
    void shouldCountHalfOfARoundTrip() {
        LatencyRecord oneWay = new LatencyRecord(2);
        LatencyRecord roundTrip = new LatencyRecord(1);
        for (int micros = 1; micros <= 1000; micros++) {
            oneWay.record(micros * 1000L);
            roundTrip.record(micros * 1000L);
        }
        oneWay.complete();
        roundTrip.complete();
        assertEquals(250, oneWay.at(50), 0.5);
        assertEquals(500, roundTrip.at(50), 1);
        assertEquals(990, roundTrip.at(99), 2);
        assertEquals(0.5, oneWay.min(), 0.01);
        assertEquals(500.5, roundTrip.average(), 1);
        assertEquals(288.7, roundTrip.deviation(), 1);
        assertEquals(1000, roundTrip.max(), 1);
        assertEquals(1000, roundTrip.count());
        roundTrip.clear();
        assertEquals(0, roundTrip.count());
    }

    @Test
    void shouldTakeWhatIsOutOfRangeAsTheLimit() {
        LatencyRecord times = new LatencyRecord(1);
        times.record(Long.MAX_VALUE);
        times.record(-1);
        times.complete();
        assertEquals(0, times.min());
        assertEquals(1e8, times.max(), 1e6);
    }

    @Test
    void shouldCountMoreThanItKeeps() {
        LatencyRecord times = new LatencyRecord(1);
        for (int i = 0; i < 100_000; i++) {
            times.record(i < 50_000 ? 1000 : 3000);
        }
        times.complete();
        assertEquals(100_000, times.count());
        assertEquals(1, times.at(49.9), 0.01);
        assertEquals(3, times.at(50.1), 0.01);
    }

    @Test
    void shouldComputeBandwidth() {
        // 1000 messages of 1 MiB in half a second, one in 250 microseconds at best.
        Outcome outcome = new Outcome(1100, 1000, 500_000_000L, 250_000);
        Result result = Result.bandwidth(1 << 20, outcome, null, null, 3);
        assertEquals(2000, result.average(), TINY);
        assertEquals(4000, result.peak(), TINY);
        assertEquals(0.002, result.messageRate(), TINY);
        assertEquals(1000, result.iterations());
        assertEquals(3, result.lost());
    }

    @Test
    void shouldAddBothDirections() {
        Outcome own = new Outcome(1000, 1000, 1_000_000_000L, 500_000);
        Outcome other = new Outcome(1000, 1000, 500_000_000L, 0);
        Result result = Result.bandwidth(1 << 20, own, other, null, 0);
        assertEquals(3000, result.average(), TINY);
        assertEquals(2000, result.peak(), TINY);
    }

    @Test
    void shouldTellTheOutcome() {
        Outcome outcome = new Outcome(5, 4, 3, 2.5);
        assertEquals(outcome, Outcome.of(ByteBuffer.wrap(outcome.toBytes())));
    }

    @Test
    void shouldFindThePeak() {
        // Four messages, each completed; the stretch from the third to the fourth is the fastest.
        long[] posted = {0, 10, 20, 30};
        long[] completed = {100, 200, 205, 210};
        assertEquals((210 - 0) / 4.0, Bandwidth.peak(posted, completed, 1), TINY);
        // With one completion for two messages.
        assertEquals(100 / 2.0, Bandwidth.peak(posted, new long[] {0, 100, 0, 300}, 1), TINY);
    }
}
