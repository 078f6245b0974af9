package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** The socket options of one channel, through rsetsockopt and rgetsockopt. Safe for use by several threads. */
final class Options {
    /** librdmacm splits buffers in halves, and smaller halves are not worth a message. */
    private static final int SMALLEST_BUFFER = 4096;

    /** librdmacm doubles the value. */
    private static final int LARGEST_BUFFER = 1 << 29;

    private record Place(int level, int option, int least, int most) {}

    private static final Map<SocketOption<?>, Place> NUMBERS = Map.of(
            StandardSocketOptions.SO_RCVBUF, new Place(Rsockets.SOL_SOCKET, Rsockets.SO_RCVBUF, 0, Integer.MAX_VALUE),
            StandardSocketOptions.SO_SNDBUF, new Place(Rsockets.SOL_SOCKET, Rsockets.SO_SNDBUF, 0, Integer.MAX_VALUE),
            RSocketOptions.RDMA_SQSIZE, new Place(Rsockets.SOL_RDMA, Rsockets.RDMA_SQSIZE, 1, 0xfffe),
            RSocketOptions.RDMA_RQSIZE, new Place(Rsockets.SOL_RDMA, Rsockets.RDMA_RQSIZE, 1, 0xfffe),
            RSocketOptions.RDMA_INLINE, new Place(Rsockets.SOL_RDMA, Rsockets.RDMA_INLINE, 0, 0xfffe),
            RSocketOptions.RDMA_IOMAPSIZE, new Place(Rsockets.SOL_RDMA, Rsockets.RDMA_IOMAPSIZE, 0, 0x7f00));

    private static final Map<SocketOption<?>, Place> SWITCHES = Map.of(
            StandardSocketOptions.SO_REUSEADDR, new Place(Rsockets.SOL_SOCKET, Rsockets.SO_REUSEADDR, 0, 1),
            StandardSocketOptions.SO_KEEPALIVE, new Place(Rsockets.SOL_SOCKET, Rsockets.SO_KEEPALIVE, 0, 1),
            StandardSocketOptions.TCP_NODELAY, new Place(Rsockets.IPPROTO_TCP, Rsockets.TCP_NODELAY, 0, 1));

    static final Set<SocketOption<?>> SUPPORTED = all();

    private final NativeSocket socket;
    private final Map<SocketOption<?>, byte[]> routes = Collections.synchronizedMap(new HashMap<>());

    Options(NativeSocket socket) {
        this.socket = socket;
    }

    private static Set<SocketOption<?>> all() {
        Map<SocketOption<?>, Place> all = new HashMap<>(NUMBERS);
        all.putAll(SWITCHES);
        all.put(RSocketOptions.RDMA_ROUTE, new Place(Rsockets.SOL_RDMA, Rsockets.RDMA_ROUTE, 0, 0));
        return Set.copyOf(all.keySet());
    }

    <T> void set(SocketOption<T> option, T value) throws IOException {
        Objects.requireNonNull(option, "option");
        if (!SUPPORTED.contains(option)) {
            throw new UnsupportedOperationException(
                    "rsockets do not support the option " + option + "; supportedOptions() lists those they do");
        }
        if (value == null || !option.type().isInstance(value)) {
            throw new IllegalArgumentException(
                    option + " must have a value of type " + option.type().getSimpleName() + ": " + value);
        }
        if (value instanceof Integer number) {
            Place place = NUMBERS.get(option);
            if (number < place.least || number > place.most) {
                throw new IllegalArgumentException(
                        option + " must be between " + place.least + " and " + place.most + ": " + number);
            }
            int fitting =
                    place.level == Rsockets.SOL_SOCKET ? Math.clamp(number, SMALLEST_BUFFER, LARGEST_BUFFER) : number;
            socket.setInt(place.level, place.option, fitting);
        } else if (value instanceof Boolean on) {
            Place place = SWITCHES.get(option);
            socket.setInt(place.level, place.option, on ? 1 : 0);
        } else if (value instanceof byte[] route) {
            socket.setBytes(Rsockets.SOL_RDMA, Rsockets.RDMA_ROUTE, route);
            routes.put(option, route.clone());
        }
    }

    /** Copies the options that librdmacm does not pass from a listening rsocket to an accepted one. */
    void passOn(Options accepted) throws IOException {
        for (SocketOption<Boolean> option :
                List.of(StandardSocketOptions.SO_KEEPALIVE, StandardSocketOptions.TCP_NODELAY)) {
            if (get(option, false)) {
                accepted.set(option, true);
            }
        }
    }

    /**
     * Returns the value of an option.
     *
     * @param connected whether the rsocket is connected; before that, rgetsockopt would overwrite a route that was set
     *     with the contents of the caller's memory
     */
    <T> T get(SocketOption<T> option, boolean connected) throws IOException {
        Objects.requireNonNull(option, "option");
        if (!SUPPORTED.contains(option)) {
            throw new UnsupportedOperationException(
                    "rsockets do not support the option " + option + "; supportedOptions() lists those they do");
        }
        Place place = NUMBERS.get(option);
        if (place != null) {
            return option.type().cast(socket.getInt(place.level, place.option));
        }
        place = SWITCHES.get(option);
        if (place != null) {
            return option.type().cast(socket.getInt(place.level, place.option) != 0);
        }
        if (!connected) {
            return option.type().cast(routes.getOrDefault(option, new byte[0]).clone());
        }
        return option.type().cast(socket.getBytes(Rsockets.SOL_RDMA, Rsockets.RDMA_ROUTE));
    }
}
