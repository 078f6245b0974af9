package org.rdmapanama.soft.wire;

/**
 * What a device has counted since it was opened, of congestion and repetitions. The device counts with its lock held; other
 * threads may read, and see how far it was at some moment.
 */
public final class WireCounts {
    private static volatile WireCounts last = new WireCounts();

    private long repeated;
    private long marked;
    private long notificationsSent;
    private long notificationsReceived;

    private WireCounts() {}

    /** Begins to count, for a device that is being opened. */
    public static WireCounts begin() {
        last = new WireCounts();
        return last;
    }

    /** Returns the counts of the device that this process has opened last. */
    public static WireCounts ofDevice() {
        return last;
    }

    /** Counts packets of messages that are sent once more. */
    public void addRepeated(int packets) {
        repeated += packets;
    }

    /** Counts a packet of a connection that has come with a mark of congestion. */
    public void addMarked() {
        marked++;
    }

    /** Counts a congestion notification that is sent. */
    public void addNotificationSent() {
        notificationsSent++;
    }

    /** Counts a congestion notification for a queue pair that exists, whether or not it has an effect. */
    public void addNotificationReceived() {
        notificationsReceived++;
    }

    /** Returns how many packets of messages were sent once more. */
    public long repeated() {
        return repeated;
    }

    /** Returns how many packets of connections have come with a mark of congestion. */
    public long marked() {
        return marked;
    }

    /** Returns how many congestion notifications were sent. */
    public long notificationsSent() {
        return notificationsSent;
    }

    /** Returns how many congestion notifications have come. */
    public long notificationsReceived() {
        return notificationsReceived;
    }
}
