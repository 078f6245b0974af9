package org.rdmapanama.samples.stream;

import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import org.rdmapanama.rsocket.RSocketProvider;

/**
 * What one side does.
 *
 * @param server the host of the server, or null on the server
 * @param bind the local host, or null
 * @param port the server's port
 * @param rounds the tests, connection by connection
 * @param bufferSize bytes of the send and of the receive buffer
 * @param keepAlive seconds between questions to a silent peer; null if there are none
 * @param provider makes the channels
 * @param calls how this side waits
 * @param verifies whether the data is verified
 */
record StreamSettings(
        String server,
        String bind,
        int port,
        List<StreamRound> rounds,
        int bufferSize,
        Integer keepAlive,
        SelectorProvider provider,
        Calls calls,
        boolean verifies) {
    String transport() {
        return provider instanceof RSocketProvider ? "RDMA" : "TCP";
    }

    boolean isClient() {
        return server != null;
    }

    /** Returns the largest size of a transfer in bytes. */
    int largest() {
        return rounds.stream()
                .flatMap(each -> each.tests().stream())
                .mapToInt(StreamTest::size)
                .max()
                .orElseThrow();
    }
}
