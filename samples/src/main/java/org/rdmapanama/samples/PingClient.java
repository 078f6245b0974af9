package org.rdmapanama.samples;

import java.util.function.Consumer;

/** The client side of ping: offers data, and gets it back. */
final class PingClient {
    private final PingLink link;
    private final boolean validate;
    private final Consumer<String> show;
    private final Latencies latencies = new Latencies();

    /** Creates the client. The consumer receives the text of each ping; it may be null. */
    PingClient(PingLink link, boolean validate, Consumer<String> show) {
        this.link = link;
        this.validate = validate;
        this.show = show;
    }

    /** Pings the given number of times, or, if that is 0, until it is interrupted. */
    void ping(int count) throws InterruptedException {
        for (int ping = 0; count == 0 || ping < count; ping = ping == Integer.MAX_VALUE ? 0 : ping + 1) {
            PingData.fill(link.source(), ping);
            long start = System.nanoTime();
            link.offerSource();
            awaitServer(ping);
            link.offerSink();
            awaitServer(ping);
            latencies.record(System.nanoTime() - start);
            int wrong = validate ? PingData.firstWrongByte(link.sink(), ping) : -1;
            if (wrong >= 0) {
                throw new Failure("ping " + ping + " came back corrupted from byte " + wrong);
            }
            if (show != null) {
                show.accept(PingData.text(link.sink()));
            }
        }
    }

    private void awaitServer(int ping) throws InterruptedException {
        if (!link.awaitGoAhead()) {
            throw new Failure("the server ended the connection in the middle of ping " + ping);
        }
    }

    Latencies latencies() {
        return latencies;
    }
}
