package org.rdmapanama.samples;

import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.efa.EfaCapability;
import org.rdmapanama.efa.EfaDevice;
import org.rdmapanama.efa.EfaDeviceAttributes;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.SendOperation;

/**
 * SRD, the transport of EFA devices, for commands. Messages arrive reliably, in any order, and each one has a completion. RDMA
 * needs an extended queue pair. Threads: as the context.
 */
public final class Srd {
    private static final int WITHOUT_END = 7;

    private final EfaDevice efa;
    private final EfaDeviceAttributes attributes;

    private Srd(EfaDevice efa) {
        this.efa = efa;
        attributes = efa.queryDevice();
    }

    /**
     * Returns SRD of a device.
     *
     * @param context the open device
     * @return its transport
     * @throws Failure when the device has no SRD
     */
    public static Srd of(Context context) {
        if (!EfaDevice.isEfa(context)) {
            throw new Failure(context
                    + " has no SRD, which is the transport of EFA devices: choose another device with -d, or another"
                    + " transport");
        }
        return new Srd(EfaDevice.of(context));
    }

    /** {@return the most bytes of one RDMA read or write; 0 if the device can do neither} */
    public long maxRdmaBytes() {
        return attributes.maxRdmaBytes();
    }

    /**
     * Creates a queue pair that sends.
     *
     * @param protectionDomain the owner
     * @param options of type DRIVER
     * @return the queue pair, in state RESET
     */
    public QueuePair createQueuePair(ProtectionDomain protectionDomain, QueuePairOptions options) {
        return efa.createQueuePair(protectionDomain, options);
    }

    /**
     * Creates a queue pair for RDMA.
     *
     * @param protectionDomain the owner
     * @param options of type DRIVER, with the operations of the queue pair
     * @return the queue pair, in state RESET
     */
    public QueuePair createExtendedQueuePair(ProtectionDomain protectionDomain, QueuePairOptions options) {
        return efa.createExtendedQueuePair(protectionDomain, options);
    }

    /**
     * Requires that the device can do RDMA.
     *
     * @param operation RDMA_READ or RDMA_WRITE
     * @throws Failure when the device does not say that it can
     */
    public void require(SendOperation operation) {
        EfaCapability needed =
                operation == SendOperation.RDMA_READ ? EfaCapability.RDMA_READ : EfaCapability.RDMA_WRITE;
        if (!attributes.capabilities().contains(needed)) {
            throw new Failure(efa.context() + " does not say that it can do " + operation
                    + " over SRD: the device, its driver in the kernel or the installed libefa lacks it");
        }
    }

    /**
     * Activates a queue pair whose address the peer has. Where the device can, it repeats a send for which the peer has no
     * receive yet.
     *
     * @param queuePair in state RESET
     */
    public void activate(QueuePair queuePair) {
        if (attributes.capabilities().contains(EfaCapability.RNR_RETRY)) {
            queuePair.initialize();
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTR));
            queuePair.modify(new QueuePairAttributes()
                    .state(QueuePairState.RTS)
                    .sendPsn(0)
                    .rnrRetry(WITHOUT_END));
        } else {
            queuePair.activate();
        }
    }
}
