package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** Clients that ask to be connected, and never do what the answer asks of them. Closing this ends them. */
public final class StalledClients implements AutoCloseable {
    private final List<EventChannel> channels = new ArrayList<>();

    /** All on one channel. */
    public void add(int count, InetSocketAddress server, IntFunction<byte[]> privateData) throws InterruptedException {
        EventChannel channel = EventChannel.create();
        channels.add(channel);
        List<CmId> ids = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            CmId id = channel.createId(PortSpace.TCP);
            ids.add(id);
            TwoIds.resolve(channel, id, server);
        }
        for (int i = 0; i < count; i++) {
            ids.get(i).connect(TwoIds.parameters().privateData(privateData.apply(i)));
        }
    }

    /** Waits until a server has answered so many of them in this way: with CONNECT_RESPONSE, or REJECTED. */
    public void await(CmEventType answer, int count) throws InterruptedException {
        Bound bound = Bound.of(Lab.PATIENCE);
        int answered = 0;
        while (answered < count) {
            int missing = count - answered;
            bound.check(() -> missing + " were not answered by " + answer);
            for (EventChannel channel : channels) {
                answered += channel.await(Duration.ofMillis(50))
                                .filter(event -> event.type() == answer)
                                .isPresent()
                        ? 1
                        : 0;
            }
        }
    }

    @Override
    public void close() {
        channels.forEach(EventChannel::close);
    }
}
