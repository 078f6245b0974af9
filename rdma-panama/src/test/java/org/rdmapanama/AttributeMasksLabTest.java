package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.QueuePairTransitions;
import org.rdmapanama.internal.QueueStructs;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.LabDevices;

/**
 * What a device accepts that is asked past the checks of this library: the same as the library, transition by transition and
 * attribute by attribute. What it refuses changes nothing.
 */
@Tag("lab")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AttributeMasksLabTest {
    /** The states that a program takes a queue pair through, in their order. */
    private static final List<QueuePairState> WAY = List.of(
            QueuePairState.RESET, QueuePairState.INIT, QueuePairState.RTR, QueuePairState.RTS, QueuePairState.SQD);

    /** Attributes that devices may refuse where others take them: paths to move to, sizes, rates. */
    private static final Set<QueuePairAttribute> OF_SOME_DEVICES =
            EnumSet.of(QueuePairAttribute.ALT_PATH, QueuePairAttribute.CAP, QueuePairAttribute.RATE_LIMIT);

    /** A device, and the queue pair that is being tried. */
    private static final class Trial implements AutoCloseable {
        private final VerbsArena arena = VerbsArena.ofConfined();
        private final Context context = Context.open(arena, LabDevices.first());
        private final ProtectionDomain domain = context.allocateProtectionDomain();
        private final CompletionQueue queue = context.createCompletionQueue(16);
        private final MemorySegment struct = arena.allocate(ibv_qp_attr.layout());
        private final QueuePairType type;
        private QueuePair queuePair;
        private AddressVector path;

        Trial(QueuePairType type) {
            this.type = type;
        }

        /** Makes a new queue pair, whose peer is itself, and takes it to a state. */
        void begin(QueuePairState state) throws InterruptedException {
            if (queuePair != null) {
                queuePair.close();
            }
            queuePair = domain.createQueuePair(new QueuePairOptions(type, queue));
            path = queuePair.pathTo(queuePair.localEndpoint(LabDevices.connectOptions()));
            for (int i = 1; i <= WAY.indexOf(state); i++) {
                QueuePairState next = WAY.get(i);
                Set<QueuePairAttribute> given = required(WAY.get(i - 1), next);
                if (next == QueuePairState.SQD) {
                    given.add(QueuePairAttribute.EN_SQD_ASYNC_NOTIFY);
                }
                assertEquals(0, modify(WAY.get(i - 1), next, given), next::toString);
            }
            if (state == QueuePairState.SQD) {
                // Until it is drained, Soft-RoCE lets it go nowhere.
                AsyncEvent event =
                        context.awaitAsyncEvent(Duration.ofSeconds(10)).orElseThrow();
                assertEquals(AsyncEventType.SQ_DRAINED, event.type());
            }
        }

        /** Asks the device directly. Returns 0 or a negative errno. */
        int modify(QueuePairState from, QueuePairState to, Set<QueuePairAttribute> given) {
            struct.fill((byte) 0);
            QueueStructs.writeAttributes(
                    new QueuePairAttributes()
                            .state(to)
                            .currentState(from)
                            .pathMtu(Mtu.BYTES_512)
                            .qkey(5)
                            .destinationQueuePair(queuePair.number())
                            .addressVector(path)
                            .port(1)
                            .notifyWhenDrained(true)
                            .maxReadAtomicAsInitiator(1)
                            .maxReadAtomicAsTarget(1)
                            .minRnrTimer(1)
                            .timeout(14)
                            .capabilities(new QueuePairCapabilities(1, 1, 1, 1, 0)),
                    struct);
            return queuePair.provider.modifyQueuePair(queuePair.address, struct.address(), mask(given));
        }

        private static int mask(Set<QueuePairAttribute> given) {
            return QueuePairAttribute.STATE.code() | Codes.mask(given, QueuePairAttribute::code);
        }

        /** Whether the library would pass on what was given to {@link #modify} last. */
        boolean isAllowed(QueuePairState from, Set<QueuePairAttribute> given) {
            try {
                QueuePairTransitions.check(
                        queuePair, type, null, from, QueuePairAttributes.ofNative(struct, mask(given)));
                return true;
            } catch (IllegalArgumentException refused) {
                return false;
            }
        }

        /** The tables of ibv_modify_qp(3). */
        Set<QueuePairAttribute> required(QueuePairState from, QueuePairState to) {
            if (from == QueuePairState.RESET && to == QueuePairState.INIT) {
                return set(type == QueuePairType.UD ? "PKEY_INDEX PORT QKEY" : "PKEY_INDEX PORT ACCESS_FLAGS");
            }
            if (from == QueuePairState.INIT && to == QueuePairState.RTR && type != QueuePairType.UD) {
                String both = "AV PATH_MTU DEST_QPN RQ_PSN";
                return set(type == QueuePairType.UC ? both : both + " MAX_DEST_RD_ATOMIC MIN_RNR_TIMER");
            }
            if (from == QueuePairState.RTR && to == QueuePairState.RTS) {
                return set(type == QueuePairType.RC ? "SQ_PSN MAX_QP_RD_ATOMIC RETRY_CNT RNR_RETRY TIMEOUT" : "SQ_PSN");
            }
            return set("");
        }

        private static Set<QueuePairAttribute> set(String names) {
            Set<QueuePairAttribute> set = EnumSet.noneOf(QueuePairAttribute.class);
            for (String name : names.split(" ", -1)) {
                if (!name.isEmpty()) {
                    set.add(QueuePairAttribute.valueOf(name));
                }
            }
            return set;
        }

        /** Whether devices may refuse what the specification allows. */
        boolean mayRefuse(QueuePairState from, Set<QueuePairAttribute> given) {
            // The kernel adds the port to a new path, and then refuses it, because this type does not take it.
            boolean newPath = given.contains(QueuePairAttribute.AV) && from == QueuePairState.SQD;
            return !Collections.disjoint(given, OF_SOME_DEVICES) || (newPath && type == QueuePairType.UC);
        }

        QueuePairState stateInDevice() {
            return queuePair.query(QueuePairAttribute.STATE).state();
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = QueuePairType.class,
            names = {"RC", "UC", "UD"})
    void shouldAgreeWithTheLibrary(QueuePairType type) throws InterruptedException {
        int accepted = 0;
        try (Trial trial = new Trial(type)) {
            for (QueuePairState from : WAY) {
                for (QueuePairState to : QueuePairState.values()) {
                    if (to != QueuePairState.UNKNOWN) {
                        accepted += tryTransition(trial, from, to);
                    }
                }
            }
        }
        int least = WAY.size() * 3;
        assertTrue(accepted > least, "only " + accepted + " were accepted");
    }

    /** Tries a transition with each set of attributes that differs in one from the required ones. Returns how often it worked. */
    private static int tryTransition(Trial trial, QueuePairState from, QueuePairState to) throws InterruptedException {
        Set<QueuePairAttribute> required = trial.required(from, to);
        trial.begin(from);
        int accepted = accepted(trial, from, to, required);
        if (accepted == 0) {
            // There is no such transition.
            return 0;
        }
        for (QueuePairAttribute each : QueuePairAttribute.values()) {
            Set<QueuePairAttribute> given = EnumSet.copyOf(required);
            if (!given.remove(each)) {
                given.add(each);
            }
            if (each != QueuePairAttribute.STATE) {
                accepted += accepted(trial, from, to, given);
            }
        }
        return accepted;
    }

    /** Returns 1 if the device accepts the attributes, and 0 if not; fails unless the library thinks the same. */
    private static int accepted(Trial trial, QueuePairState from, QueuePairState to, Set<QueuePairAttribute> given)
            throws InterruptedException {
        String what = from + " to " + to + " with " + given;
        int result = trial.modify(from, to, given);
        boolean isAllowed = trial.isAllowed(from, given);
        if (result == 0) {
            assertTrue(isAllowed, () -> what + " was accepted");
            trial.begin(from);
            return 1;
        }
        assertTrue(!isAllowed || trial.mayRefuse(from, given), () -> what + " was refused: " + result);
        assertEquals(from, trial.stateInDevice(), what);
        return 0;
    }
}
