package org.rdmapanama.samples.selftest;

import java.util.Set;
import org.rdmapanama.device.AtomicCapability;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.device.DeviceCapability;
import org.rdmapanama.efa.EfaCapability;

/**
 * What queue pairs of one transport can do.
 *
 * @param inline granted inline data, in bytes
 * @param mtu path MTU, in bytes
 * @param atomics whether the device has atomic operations
 * @param sharedReceiveQueues number of shared receive queues of the device
 * @param windows whether the device has memory windows of type 2
 * @param message the longest message, in bytes
 * @param efa what an EFA device can do; null for others
 */
record Limits(
        int inline,
        int mtu,
        boolean atomics,
        int sharedReceiveQueues,
        boolean windows,
        long message,
        Set<EfaCapability> efa) {
    /** Requires that queue pairs take inline data. */
    void requireInline() throws NotPossible {
        if (inline == 0) {
            throw new NotPossible("the device grants no inline data");
        }
    }

    /** Creates and connects queue pairs. Returns null if that fails. */
    static Limits probe(Subject subject, SelftestReport report, TestedTransport transport, Way way)
            throws InterruptedException {
        Limits[] found = new Limits[1];
        report.check(way, transport + " create, connect and close two queue pairs", "", () -> {
            try (Loopback loopback = new Loopback.Options(subject, transport, way).open()) {
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
                                || attributes.capabilities().contains(DeviceCapability.MEM_WINDOW_TYPE_2B),
                        loopback.context.queryPort(subject.port()).maxMessageSize(),
                        loopback.efaCapabilities);
            }
        });
        return found[0];
    }
}
