package org.rdmapanama.internal.provider;

import org.rdmapanama.Context;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.internal.ObjectModelAccess;

/** How many reads and atomics a queue pair may have outstanding. */
public final class ReadLimits {
    private ReadLimits() {}

    /**
     * Returns the attributes of a device, among them how many reads and atomics it can have outstanding. They are queried
     * once while it is open, because each connection needs them.
     *
     * @param context the open device
     * @return its attributes
     * @throws org.rdmapanama.VerbsException when they were not queried before, and the verb fails
     */
    public static DeviceAttributes ofDevice(Context context) {
        return ObjectModelAccess.get().attributes(context);
    }

    /**
     * Returns the number of reads to have outstanding with a peer that answers a given number at once. Drivers such as rxe
     * and mlx5 round it up to a power of two, which can exceed what the peer answers, so this rounds it down. With a limit
     * of 0 a read would wait forever on rxe, so the result is 1 for a peer that answers none: its refusal completes the read.
     *
     * @param own how many this side wants, from 0
     * @param ofPeer how many the peer answers, from 0
     * @return 0 only when this side wants none, and otherwise a power of two
     */
    public static int toAskFor(int own, int ofPeer) {
        return own == 0 ? 0 : Math.max(1, Integer.highestOneBit(Math.min(own, ofPeer)));
    }
}
