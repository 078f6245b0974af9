package org.rdmapanama.rsocket;

import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;

/** The socket options of one channel. Threads: any. */
final class Options {
    /** Buffers are used in halves, and smaller halves are not worth a message. */
    private static final int SMALLEST_BUFFER = 8192;

    private static final int LARGEST_BUFFER = 1 << 30;
    private static final int FEWEST_REQUESTS = 16;
    private static final int MOST_REQUESTS = 0xfffe;
    private static final int MOST_INLINE = 0xfffe;
    private static final int DEFAULT_POLLING_MICROS = 10;
    private static final int MOST_POLLING_MICROS = 1_000_000;

    /** A value for SO_LINGER that says that closing does not wait. */
    private static final int NO_LINGER = -1;

    private static final int MOST_LINGER = 65535;
    private static final int MOST_TYPE_OF_SERVICE = 255;

    private static final int DEFAULT_KEEP_ALIVE_SECONDS = 15;

    /** As of Linux: tcp(7). */
    private static final int MOST_KEEP_ALIVE_SECONDS = 32767;

    /** Values from the least to the most that are not an error; those outside of the useful range are adapted. */
    private record Range(int least, int most, int leastUseful, int mostUseful) {
        Range(int least, int most) {
            this(least, most, least, most);
        }
    }

    private static final Map<SocketOption<?>, Range> NUMBERS = Map.of(
            StandardSocketOptions.SO_RCVBUF, new Range(0, Integer.MAX_VALUE, SMALLEST_BUFFER, LARGEST_BUFFER),
            StandardSocketOptions.SO_SNDBUF, new Range(0, Integer.MAX_VALUE, SMALLEST_BUFFER, LARGEST_BUFFER),
            ExtendedSocketOptions.TCP_KEEPIDLE, new Range(1, MOST_KEEP_ALIVE_SECONDS),
            StandardSocketOptions.SO_LINGER, new Range(Integer.MIN_VALUE, Integer.MAX_VALUE, NO_LINGER, MOST_LINGER),
            StandardSocketOptions.IP_TOS, new Range(0, MOST_TYPE_OF_SERVICE),
            RSocketOptions.RDMA_SQSIZE, new Range(1, MOST_REQUESTS, FEWEST_REQUESTS, MOST_REQUESTS),
            RSocketOptions.RDMA_RQSIZE, new Range(1, MOST_REQUESTS, FEWEST_REQUESTS, MOST_REQUESTS),
            RSocketOptions.RDMA_INLINE, new Range(0, MOST_INLINE),
            RSocketOptions.RDMA_IOMAPSIZE, new Range(0, ConnectionData.MAX_MAPPINGS),
            RSocketOptions.RDMA_POLLING_TIME, new Range(0, MOST_POLLING_MICROS));

    private static final Set<SocketOption<Boolean>> SWITCHES = Set.of(
            StandardSocketOptions.SO_REUSEADDR, StandardSocketOptions.SO_KEEPALIVE, StandardSocketOptions.TCP_NODELAY);

    static final Set<SocketOption<?>> SUPPORTED = all();

    private final Map<SocketOption<?>, Object> values = new ConcurrentHashMap<>();

    Options() {
        StreamSizes sizes = StreamSizes.DEFAULT;
        values.put(StandardSocketOptions.SO_RCVBUF, sizes.receiveBytes());
        values.put(StandardSocketOptions.SO_SNDBUF, sizes.sendBytes());
        values.put(StandardSocketOptions.SO_LINGER, NO_LINGER);
        values.put(StandardSocketOptions.IP_TOS, 0);
        values.put(ExtendedSocketOptions.TCP_KEEPIDLE, DEFAULT_KEEP_ALIVE_SECONDS);
        values.put(RSocketOptions.RDMA_SQSIZE, sizes.sends());
        values.put(RSocketOptions.RDMA_RQSIZE, sizes.receives());
        values.put(RSocketOptions.RDMA_INLINE, sizes.inline());
        values.put(RSocketOptions.RDMA_IOMAPSIZE, sizes.mappings());
        values.put(RSocketOptions.RDMA_POLLING_TIME, DEFAULT_POLLING_MICROS);
        SWITCHES.forEach(each -> values.put(each, false));
    }

    private static Set<SocketOption<?>> all() {
        Map<SocketOption<?>, Object> all = new ConcurrentHashMap<>(NUMBERS);
        SWITCHES.forEach(each -> all.put(each, each));
        return Set.copyOf(all.keySet());
    }

    /** Returns options with the values of these, for a channel that a server has accepted. */
    Options copy() {
        Options copy = new Options();
        copy.values.putAll(values);
        return copy;
    }

    /**
     * Checks a value.
     *
     * @throws UnsupportedOperationException when there is no such option
     * @throws IllegalArgumentException when the value is not valid
     */
    static <T> void check(SocketOption<T> option, T value) {
        check(option);
        if (value == null || !option.type().isInstance(value)) {
            throw new IllegalArgumentException(
                    option + " must have a value of type " + option.type().getSimpleName() + ": " + value);
        }
        if (value instanceof Integer number) {
            Range range = Objects.requireNonNull(NUMBERS.get(option));
            if (number < range.least || number > range.most) {
                throw new IllegalArgumentException(
                        option + " must be between " + range.least + " and " + range.most + ": " + number);
            }
        }
    }

    /** Sets an option, after {@link #check}. */
    <T> void set(SocketOption<T> option, T value) {
        check(option, value);
        values.put(option, value instanceof Integer number ? fitting(option, number) : value);
    }

    private static int fitting(SocketOption<?> option, int number) {
        Range range = Objects.requireNonNull(NUMBERS.get(option));
        int fitting = Math.clamp(number, range.leastUseful, range.mostUseful);
        return option.equals(RSocketOptions.RDMA_IOMAPSIZE) ? ConnectionData.tellable(fitting) : fitting;
    }

    /**
     * Returns the value of an option.
     *
     * @throws UnsupportedOperationException when there is no such option
     */
    <T> T get(SocketOption<T> option) {
        check(option);
        return option.type().cast(Objects.requireNonNull(values.get(option)));
    }

    private static void check(SocketOption<?> option) {
        Objects.requireNonNull(option, "option");
        if (!SUPPORTED.contains(option)) {
            throw new UnsupportedOperationException("channels over RDMA do not have the option " + option
                    + "; supportedOptions() lists those they have");
        }
    }

    /** Whether an option can only be set before there is a connection, apart from those of which the size is a wish. */
    static boolean isOfQueues(SocketOption<?> option) {
        return option.equals(RSocketOptions.RDMA_SQSIZE)
                || option.equals(RSocketOptions.RDMA_RQSIZE)
                || option.equals(RSocketOptions.RDMA_INLINE)
                || option.equals(RSocketOptions.RDMA_IOMAPSIZE);
    }

    StreamSizes sizes() {
        return new StreamSizes(
                get(StandardSocketOptions.SO_SNDBUF),
                get(StandardSocketOptions.SO_RCVBUF) & -2,
                get(RSocketOptions.RDMA_SQSIZE),
                get(RSocketOptions.RDMA_RQSIZE),
                get(RSocketOptions.RDMA_INLINE),
                get(RSocketOptions.RDMA_IOMAPSIZE));
    }

    /** How long closing waits for the peer; null if it does not wait. */
    @Nullable
    Duration linger() {
        int seconds = get(StandardSocketOptions.SO_LINGER);
        return seconds < 0 ? null : Duration.ofSeconds(seconds);
    }

    int typeOfService() {
        return get(StandardSocketOptions.IP_TOS);
    }

    Duration pollingTime() {
        return Duration.ofNanos(get(RSocketOptions.RDMA_POLLING_TIME) * 1000L);
    }

    boolean keepAlive() {
        return get(StandardSocketOptions.SO_KEEPALIVE);
    }

    Duration keepAliveTime() {
        return Duration.ofSeconds(get(ExtendedSocketOptions.TCP_KEEPIDLE));
    }
}
