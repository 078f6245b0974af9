package org.rdmapanama.samples.top;

import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * What a port has moved since it counts.
 *
 * @param sentBytes empty if the driver does not count bytes, as the others
 * @param errors the sum of all counters whose names tell of something that went wrong
 */
record Traffic(
        OptionalLong sentBytes,
        OptionalLong receivedBytes,
        OptionalLong sentPackets,
        OptionalLong receivedPackets,
        long errors) {
    /** The unit of port_xmit_data and port_rcv_data, in bytes. */
    private static final long DATA_UNIT = 4;

    private static final Pattern ERROR =
            Pattern.compile("(^|_)err|discard|drop|timeout|nak|rnr|not_ready|repeated|retrans"
                    + "|out_of_seq|overrun|link_downed|constraint|malformed");

    /** Requests that were left when their queue pair ended, as at the end of each connection; some drivers call that an error. */
    private static final String FLUSHED = "flush";

    /** Reads the counters of a device of the kernel: those of InfiniBand, which most drivers have, or those of Soft-RoCE. */
    static Traffic ofKernel(Map<String, Long> counters) {
        return new Traffic(
                first(counters, DATA_UNIT, "port_xmit_data"),
                first(counters, DATA_UNIT, "port_rcv_data"),
                first(counters, 1, "port_xmit_packets", "sent_pkts"),
                first(counters, 1, "port_rcv_packets", "rcvd_pkts"),
                errors(counters));
    }

    /** Reads those of soft0. What its queue pairs send each other counts as sent and as received, a message as a packet. */
    static Traffic ofSoft(Map<String, Long> counters) {
        return new Traffic(
                sum(counters, "sent_bytes", "local_bytes"),
                sum(counters, "received_bytes", "local_bytes"),
                sum(counters, "sent_packets", "local_messages"),
                sum(counters, "received_packets", "local_messages"),
                errors(counters));
    }

    private static OptionalLong first(Map<String, Long> counters, long unit, String... names) {
        for (String name : names) {
            Long value = counters.get(name);
            if (value != null) {
                return OptionalLong.of(value * unit);
            }
        }
        return OptionalLong.empty();
    }

    private static OptionalLong sum(Map<String, Long> counters, String... names) {
        long sum = 0;
        for (String name : names) {
            sum += counters.getOrDefault(name, 0L);
        }
        return OptionalLong.of(sum);
    }

    private static long errors(Map<String, Long> counters) {
        long sum = 0;
        for (Map.Entry<String, Long> each : counters.entrySet()) {
            if (ERROR.matcher(each.getKey()).find() && !each.getKey().contains(FLUSHED)) {
                sum += each.getValue();
            }
        }
        return sum;
    }
}
