package org.rdmapanama.samples.selftest;

import org.rdmapanama.device.AtomicCapability;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.device.DeviceCapability;
import org.rdmapanama.queue.QueuePairType;

/**
 * What queue pairs of one type can do.
 *
 * @param inline granted inline data, in bytes
 * @param mtu path MTU, in bytes
 * @param atomics whether the device has atomic operations
 * @param sharedReceiveQueues number of shared receive queues of the device
 * @param windows whether the device has memory windows of type 2
 */
record Limits(int inline, int mtu, boolean atomics, int sharedReceiveQueues, boolean windows) {
    /** Creates and connects queue pairs. Returns null if that fails. */
    static Limits probe(Subject subject, SelftestReport report, QueuePairType type, Way way)
            throws InterruptedException {
        Limits[] found = new Limits[1];
        report.check(way, type + " create, connect and close two queue pairs", "", () -> {
            try (Loopback loopback = new Loopback.Options(subject, type, way).open()) {
                End.equal("whether the queue pairs are direct", way == Way.DIRECT, loopback.a.queuePair.isDirect());
                DeviceAttributes attributes = loopback.context.queryDevice();
                found[0] = new Limits(
                        Math.min(
                                loopback.a.queuePair.capabilities().maxInlineData(),
                                loopback.b.queuePair.capabilities().maxInlineData()),
                        loopback.mtu.bytes(),
                        attributes.atomicCapability() != AtomicCapability.NONE,
                        attributes.maxSharedReceiveQueues(),
                        attributes.capabilities().contains(DeviceCapability.MEM_WINDOW_TYPE_2A)
                                || attributes.capabilities().contains(DeviceCapability.MEM_WINDOW_TYPE_2B));
            }
        });
        return found[0];
    }
}
