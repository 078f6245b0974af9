package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Cnp;
import org.rdmapanama.soft.wire.Congestion;
import org.rdmapanama.soft.wire.WireCount;

/**
 * Tells the peer of a queue pair that packets of it have come with a mark of congestion: the notification point of DCQCN.
 * One notification stands for all marks of some microseconds. {@link SoftQueuePair} owns it. Callers must hold the lock of
 * the device.
 */
final class CongestionNotifier {
    private final SoftDevice device;
    private final Congestion settings;

    /** When the last notification was sent, by System.nanoTime(). */
    private long told;

    CongestionNotifier(SoftDevice device, Congestion settings) {
        this.device = device;
        this.settings = settings;
        told = System.nanoTime() - settings.pauseNanos();
    }

    /** Notes a marked packet. A notification for which there is no room is not sent: the next mark will do. */
    void marked(SoftAddressHandle path, int destination) {
        device.counts.add(WireCount.MARKED_PACKETS);
        long now = System.nanoTime();
        if (now - told < settings.pauseNanos()) {
            return;
        }
        // From the port of all other packets of the queue pair: its peer takes none from elsewhere.
        long packet = device.wire().beginAtSocket(path.peer, path.socket);
        if (packet != 0) {
            device.wire().send(Cnp.write(packet, destination));
            device.counts.add(WireCount.SENT_NOTIFICATIONS);
            told = now;
        }
    }
}
