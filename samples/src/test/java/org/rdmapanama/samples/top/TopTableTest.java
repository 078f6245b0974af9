package org.rdmapanama.samples.top;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Rates from counters of several drivers. */
class TopTableTest {
    private static Sample sample(long seconds, Traffic mlx5, Traffic rxe, Traffic soft) {
        TreeMap<Sample.PortName, Traffic> ports = new TreeMap<>();
        ports.put(new Sample.PortName("mlx5_0", 1, 0), mlx5);
        ports.put(new Sample.PortName("rxe0", 1, 0), rxe);
        if (soft != null) {
            ports.put(new Sample.PortName("soft0", 1, 4242), soft);
        }
        return new Sample(seconds * 1_000_000_000, ports, seconds == 0 ? List.of() : List.of("process 4242: a note"));
    }

    private static Traffic mlx5(long units, long packets, long discards) {
        return Traffic.ofKernel(Map.of(
                "port_xmit_data",
                units,
                "port_rcv_data",
                2 * units,
                "port_xmit_packets",
                packets,
                "port_rcv_packets",
                2 * packets,
                "port_xmit_discards",
                discards,
                "out_of_sequence",
                discards,
                "req_cqe_flush_error",
                1000L,
                "resp_cqe_flush_error",
                1000L));
    }

    private static Traffic rxe(long packets) {
        return Traffic.ofKernel(Map.of("sent_pkts", packets, "rcvd_pkts", packets, "rcvd_rnr_err", 3L));
    }

    private static Traffic soft(long bytes, long messages) {
        return Traffic.ofSoft(Map.of(
                "sent_bytes",
                bytes,
                "local_bytes",
                bytes,
                "received_bytes",
                0L,
                "local_messages",
                messages,
                "sent_packets",
                0L,
                "received_packets",
                messages,
                "dropped_state",
                2L,
                "repeated_packets",
                5L));
    }

    @Test
    void shouldShowRates() {
        Sample before = sample(0, mlx5(0, 0, 0), rxe(100), soft(0, 0));
        Sample after = sample(2, mlx5(500_000, 3000, 4), rxe(300), soft(1_000_000, 10));
        assertEquals("""
                device       port  process    sent MB/s    recv MB/s   sent pkt/s   recv pkt/s     errors
                mlx5_0          1        -         1.00         2.00         1500         3000          8
                rxe0            1        -            -            -          100          100          3
                soft0           1     4242         1.00         0.50            5           10          7
                process 4242: a note
                """, new TopTable(before, after).text());
    }

    /** A process that has just come, and one whose device was opened anew. */
    @Test
    void shouldShowNoRatesItDoesNotKnow() {
        Traffic still = mlx5(0, 0, 0);
        Sample without = sample(0, still, rxe(0), null);
        Sample with = sample(1, still, rxe(0), soft(1_000_000, 10));
        String row =
                new TopTable(without, with).text().lines().skip(3).findFirst().orElseThrow();
        assertEquals("soft0           1     4242            -            -            -            -          7", row);
        Sample fewer = sample(2, still, rxe(0), soft(0, 0));
        String next =
                new TopTable(with, fewer).text().lines().skip(3).findFirst().orElseThrow();
        assertEquals("soft0           1     4242         0.00         0.00            0            0          7", next);
    }
}
