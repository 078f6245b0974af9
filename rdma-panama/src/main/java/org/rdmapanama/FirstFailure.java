package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.internal.AddressStructs;
import org.rdmapanama.internal.Traffic;
import org.rdmapanama.internal.events.QueuePairError;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;

/**
 * Remembers why a queue pair failed, and who its peer is. Called for completions with an error status and for events, never
 * on the good path.
 *
 * <p>Threads: any. Nothing waits while the lock is held.
 */
final class FirstFailure {
    private final QueuePair queuePair;
    private volatile @Nullable QueuePairFailure first;
    private final AtomicLong completions = new AtomicLong();

    /** Whether this side itself has put the queue pair into the error state, so that flushed completions are expected. */
    private boolean endedHere;

    /** What was connected to; null before, or if the kernel connected. */
    private @Nullable Integer peerNumber;

    private @Nullable AddressVector path;

    /** How the connection manager names the peer; null for none. */
    private @Nullable Supplier<String> peerName;

    /** Called once when this fails; null for none. */
    private @Nullable Runnable listener;

    FirstFailure(QueuePair queuePair) {
        this.queuePair = queuePair;
    }

    /** Null if there is none. */
    @Nullable
    QueuePairFailure get() {
        return first;
    }

    /** How many completions with an error status were polled. */
    long completions() {
        return completions.get();
    }

    synchronized void watch(Supplier<String> name, Runnable told) {
        peerName = name;
        listener = told;
    }

    /**
     * Has this side put the queue pair into the error state. A thread that polls meanwhile may get flushed completions before
     * the verb returns, and these do not mean that it failed.
     *
     * @param modify calls the verb
     */
    void ending(Runnable modify) {
        boolean before;
        synchronized (this) {
            before = endedHere;
            endedHere = true;
        }
        try {
            modify.run();
        } catch (RuntimeException | Error e) {
            synchronized (this) {
                endedHere = before;
            }
            throw e;
        }
    }

    /** Takes note of attributes that were set. */
    synchronized void modified(QueuePairAttributes attributes) {
        if (attributes.given().contains(QueuePairAttribute.DEST_QPN)) {
            peerNumber = attributes.destinationQueuePair();
        }
        if (attributes.given().contains(QueuePairAttribute.AV)) {
            path = attributes.addressVector();
        }
        if (attributes.given().contains(QueuePairAttribute.STATE)) {
            enter(attributes.state());
        }
    }

    /** The same of a struct ibv_qp_attr. */
    synchronized void modified(MemorySegment attributes, int mask) {
        if ((mask & QueuePairAttribute.DEST_QPN.code()) != 0) {
            peerNumber = ibv_qp_attr.dest_qp_num(attributes);
        }
        if ((mask & QueuePairAttribute.AV.code()) != 0) {
            path = AddressStructs.readVector(ibv_qp_attr.ah_attr(attributes));
        }
        if ((mask & QueuePairAttribute.STATE.code()) != 0) {
            enter(QueuePairState.of(ibv_qp_attr.qp_state(attributes)));
        }
    }

    private void enter(QueuePairState state) {
        switch (state) {
            case RESET -> {
                first = null;
                endedHere = false;
                peerNumber = null;
                path = null;
                if (Traffic.COUNTED) {
                    queuePair.trafficCounts().reset();
                }
            }
            case ERR -> endedHere = true;
            // Sends go on after an error of a type without retransmission.
            case RTS -> {
                if (Traffic.COUNTED && first != null) {
                    queuePair.trafficCounts().resumed();
                }
                first = null;
            }
            default -> {
                // It cannot be entered after an error.
            }
        }
    }

    /**
     * Takes note of a completion with an error status.
     *
     * @param queue where it was polled
     */
    void note(CompletionQueue queue, CompletionStatus status, long workRequestId, int vendorError) {
        completions.incrementAndGet();
        QueuePairFailure known = first;
        boolean flushed = status == CompletionStatus.WR_FLUSH_ERR;
        if (known != null && (flushed || known.isCauseKnown())) {
            return;
        }
        if ((flushed || !failsWithItsWork()) && !hasFailedByItself()) {
            return;
        }
        String text = CompletionText.of(queuePair, queue, status, vendorError, workRequestId);
        set(QueuePairFailure.ofCompletion(status, workRequestId, vendorError, text));
    }

    /** Whether one request that fails ends all. Types without retransmission may go on, which only the device knows. */
    boolean failsWithItsWork() {
        return switch (queuePair.type()) {
            case RC, XRC_SEND, XRC_RECV -> true;
            case UC, UD, RAW_PACKET -> false;
            case DRIVER -> queuePair.sendsToTargets();
        };
    }

    /** Whether flushed completions are those of a failure, and not of this side's own doing, perhaps before a reset. */
    private boolean hasFailedByItself() {
        synchronized (this) {
            if (endedHere) {
                return false;
            }
        }
        try {
            QueuePairState state = queuePair.query(QueuePairAttribute.STATE).state();
            return state == QueuePairState.ERR || state == QueuePairState.SQE;
        } catch (VerbsException | IllegalStateException gone) {
            return false;
        }
    }

    /** Takes note of an event, if it is about a failure. */
    void note(AsyncEventType event) {
        String cause = switch (event) {
            case QP_FATAL ->
                "the device stopped it; it does so when a completion queue overruns, which needs more entries or more"
                        + " polling, and otherwise the log of the kernel tells why";
            case QP_REQ_ERR -> "the peer made an invalid request; check the opcodes and sizes that it uses";
            case QP_ACCESS_ERR ->
                "the peer made a request that violates access rights; check the address, the length and the rkey"
                        + " that it uses, and how the memory was registered";
            default -> null;
        };
        if (cause != null) {
            set(QueuePairFailure.ofEvent(event, event + " on " + queuePair + peer() + "; " + cause));
        }
    }

    private void set(QueuePairFailure failure) {
        Runnable told;
        synchronized (this) {
            QueuePairFailure known = first;
            if (known != null && (known.isCauseKnown() || !failure.isCauseKnown())) {
                return;
            }
            if (endedHere && !failure.isCauseKnown()) {
                return;
            }
            first = failure;
            told = known == null ? listener : null;
        }
        QueuePairError.tell(
                queuePair.context().deviceName(),
                queuePair.number(),
                queuePair.type(),
                failure.status(),
                failure.event().map(AsyncEventType::name).orElse(""),
                failure);
        if (told != null) {
            told.run();
        }
    }

    /** Returns " to " and what is known of the peer, or nothing. */
    String peer() {
        Supplier<String> naming;
        String name = "";
        synchronized (this) {
            naming = peerName;
            if (peerNumber != null) {
                name = "queue pair 0x%06x".formatted(peerNumber)
                        + (path == null ? "" : " at " + (path.global() ? path.destination() : "LID " + path.lid()));
            }
        }
        String address = naming == null ? null : naming.get();
        if (address != null) {
            return " to " + address + (name.isEmpty() ? "" : " (" + name + ")");
        }
        return name.isEmpty() ? "" : " to " + name;
    }
}
