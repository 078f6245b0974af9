package org.rdmapanama.cm;

import java.lang.foreign.Arena;
import org.rdmapanama.QueuePair;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.internal.provider.ReadLimits;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/**
 * Moves a queue pair through the states of a connection, with the attributes that the connection manager provides. {@link
 * CmId} calls it before it calls the connection manager itself. Threads: any; it has no state of its own, and takes no lock
 * besides those of the id and of the queue pair.
 */
final class QueuePairDriver {
    private final CmId id;

    QueuePairDriver(CmId id) {
        this.id = id;
    }

    /** Moves a queue pair to INIT, or, for datagrams, to RTS. */
    void initialize(QueuePair queuePair) {
        checkDevice(queuePair);
        try (Arena arena = KnownMemory.ofConfined()) {
            id.nativeAttributes(arena, QueuePairState.INIT).applyTo(queuePair);
        }
        if (queuePair.type() == QueuePairType.UD) {
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTR));
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTS).sendPsn(0));
        }
    }

    /** Initializes a queue pair, if that has not been done. */
    void beforeConnect(QueuePair queuePair) {
        checkDevice(queuePair);
        initializeOnce(queuePair);
    }

    /** Moves a queue pair to RTS. The parameters are lowered to what the queue pair gets. */
    void beforeAccept(QueuePair queuePair, ConnectionParameters parameters) {
        checkDevice(queuePair);
        initializeOnce(queuePair);
        if (movesQueuePair(queuePair)) {
            try (Arena arena = KnownMemory.ofConfined()) {
                ready(arena, queuePair, parameters, id.nativeAttributes(arena, QueuePairState.RTR));
            }
        }
    }

    /** Moves the queue pair that was connected to RTS. */
    void beforeEstablish(QueuePair queuePair) {
        checkDevice(queuePair);
        if (movesQueuePair(queuePair)) {
            try (Arena arena = KnownMemory.ofConfined()) {
                // Unlike on the accepting side, the access flags were not known when the queue pair was initialized.
                NativeAttributes receive = id.nativeAttributes(arena, QueuePairState.RTR)
                        .accessFlagsOf(id.nativeAttributes(arena, QueuePairState.INIT));
                ready(arena, queuePair, id.asked(), receive);
            }
        }
    }

    /** Moves a queue pair to the error state. */
    void beforeDisconnect(QueuePair queuePair) {
        checkDevice(queuePair);
        if (queuePair.state() != QueuePairState.RESET) {
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
        }
    }

    /** Checks the device: attributes of one device are meaningless on another, but some drivers accept them. */
    private void checkDevice(QueuePair queuePair) {
        String owner = queuePair.context().deviceName();
        String own = id.deviceName();
        if (!owner.equals(own)) {
            throw new IllegalArgumentException("queuePair must belong to " + own + ", which " + id + " is bound to: "
                    + queuePair + " belongs to " + owner);
        }
    }

    private void initializeOnce(QueuePair queuePair) {
        if (queuePair.state() == QueuePairState.RESET) {
            initialize(queuePair);
        }
    }

    /** Returns whether the caller must move the queue pair; on iWARP the kernel does. */
    private static boolean movesQueuePair(QueuePair queuePair) {
        return queuePair.type() != QueuePairType.UD && queuePair.context().transportType() == TransportType.IB;
    }

    /**
     * Moves a queue pair from INIT to RTS. The peer may ask for or grant more than this side wants or its device
     * supports; the reads and atomics of the parameters are lowered to what the queue pair gets.
     */
    private void ready(Arena arena, QueuePair queuePair, ConnectionParameters parameters, NativeAttributes receive) {
        NativeAttributes send = id.nativeAttributes(arena, QueuePairState.RTS);
        DeviceAttributes device = ReadLimits.ofDevice(queuePair.context());
        // MAX_RESOURCES is more than there can be.
        int answers = Math.min(parameters.responderResources(), device.maxReadAtomicAsTarget());
        int asks = Math.min(parameters.initiatorDepth(), device.maxReadAtomicAsInitiator());
        int agreed = send.maxReadAtomicAsInitiator();
        int asksAtOnce = ReadLimits.toAskFor(asks, agreed);
        parameters.responderResources(Math.min(answers, receive.maxReadAtomicAsTarget()));
        // A peer that answers none is not told of the one that is there to be refused.
        parameters.initiatorDepth(Math.min(asksAtOnce, agreed));
        receive.maxReadAtomicAsTarget(parameters.responderResources()).applyTo(queuePair);
        send.maxReadAtomicAsInitiator(asksAtOnce)
                .retryAtMost(parameters.retryCount())
                .applyTo(queuePair);
    }
}
