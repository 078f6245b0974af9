package org.rdmapanama.samples.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.rdmapanama.samples.Failure;

/** Parses the output of the programs. */
class ComparePerftestTest {
    @Test
    void shouldReadTheOutputOfPerftest() {
        String latency = """
                ---------------------------------------------------------------------------------------
                                    RDMA_Write Latency Test
                 Dual-port       : OFF\t\tDevice         : rxe1
                 local address: LID 0000 QPN 0x0011 PSN 0xcad93b RKey 0x000a3b VAddr 0x0056
                 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]
                 8       50          26.43          357335.56      6931.27  \t       19038.77     \t9640.84\t\t1.5 \t\t2.5
                ---------------------------------------------------------------------------------------
                """;
        assertEquals(6931.27, ComparePerftest.theirResult(TestKind.WRITE_LAT, 8, latency));
        String bandwidth = """
                 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
                 4096       1000             28.34              27.97\t\t   0.007161
                ------
                """;
        assertEquals(27.97, ComparePerftest.theirResult(TestKind.READ_BW, 4096, bandwidth));
        String slow = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
                + " 8          1000             0.40               0.38\t\t   0.049807\n";
        assertEquals(0.38, ComparePerftest.theirResult(TestKind.READ_BW, 8, slow), 0.0005);
        assertThrows(Failure.class, () -> ComparePerftest.theirResult(TestKind.READ_BW, 8, "nothing of it"));
    }

    @Test
    void shouldFindTheMedian() {
        assertEquals(2, ComparePerftest.median(new double[] {9, 1, 2}));
        assertEquals(2.5, ComparePerftest.median(new double[] {9, 1, 2, 3}));
    }

    @Test
    void shouldKnowTheGoals() {
        assertTrue(row(TestKind.READ_LAT, 105).isGoalMet());
        assertFalse(row(TestKind.READ_LAT, 106).isGoalMet());
        assertTrue(row(TestKind.READ_BW, 97).isGoalMet());
        assertFalse(row(TestKind.READ_BW, 96).isGoalMet());
    }

    @Test
    void shouldCompareTheBestRounds() {
        double[] theirs = {30, 10, 20};
        double[] ours = {60, 40, 15};
        assertEquals(1.5, new ComparePerftest.Row(TestKind.READ_LAT, 8, theirs, ours).bestRatio());
        assertEquals(2, new ComparePerftest.Row(TestKind.READ_BW, 8, theirs, ours).bestRatio());
        assertEquals(2, new ComparePerftest.Row(TestKind.READ_BW, 8, theirs, ours).ratio());
    }

    /** Creates a row of three rounds, whose medians are 100 and the given number. */
    private static ComparePerftest.Row row(TestKind kind, double ours) {
        return new ComparePerftest.Row(kind, 8, new double[] {100, 1, 900}, new double[] {ours, 900, 1});
    }
}
