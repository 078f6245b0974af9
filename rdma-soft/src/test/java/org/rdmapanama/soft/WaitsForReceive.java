package org.rdmapanama.soft;

import org.rdmapanama.ConnectOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.queue.QueuePairType;

/** A process whose sends wait for a receive, for {@link ReceiveShortageTest}: twice, for longer than is usual. */
final class WaitsForReceive {
    private static final int ROUNDS = 2;
    private static final long MILLIS = 1600;

    private WaitsForReceive() {}

    /** The arguments are settings of the device. */
    public static void main(String[] settings) throws InterruptedException {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), settings)) {
            for (int i = 0; i < ROUNDS; i++) {
                pair.a.postSend(pair.request().send().add(pair.region, 0, 8));
                Thread.sleep(MILLIS);
                pair.b.postReceive(ReceiveWorkRequest.allocate(pair.arena, 1).add(pair.region, 64, 8));
                pair.next();
                pair.next();
            }
            System.out.printf("from 0x%06x to 0x%06x%n", pair.a.number(), pair.b.number());
        }
    }
}
