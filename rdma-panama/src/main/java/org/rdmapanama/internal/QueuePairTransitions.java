package org.rdmapanama.internal;

import static org.rdmapanama.queue.QueuePairAttribute.ACCESS_FLAGS;
import static org.rdmapanama.queue.QueuePairAttribute.ALT_PATH;
import static org.rdmapanama.queue.QueuePairAttribute.AV;
import static org.rdmapanama.queue.QueuePairAttribute.CUR_STATE;
import static org.rdmapanama.queue.QueuePairAttribute.DEST_QPN;
import static org.rdmapanama.queue.QueuePairAttribute.EN_SQD_ASYNC_NOTIFY;
import static org.rdmapanama.queue.QueuePairAttribute.MAX_DEST_RD_ATOMIC;
import static org.rdmapanama.queue.QueuePairAttribute.MAX_QP_RD_ATOMIC;
import static org.rdmapanama.queue.QueuePairAttribute.MIN_RNR_TIMER;
import static org.rdmapanama.queue.QueuePairAttribute.PATH_MIG_STATE;
import static org.rdmapanama.queue.QueuePairAttribute.PATH_MTU;
import static org.rdmapanama.queue.QueuePairAttribute.PKEY_INDEX;
import static org.rdmapanama.queue.QueuePairAttribute.PORT;
import static org.rdmapanama.queue.QueuePairAttribute.QKEY;
import static org.rdmapanama.queue.QueuePairAttribute.RATE_LIMIT;
import static org.rdmapanama.queue.QueuePairAttribute.RETRY_CNT;
import static org.rdmapanama.queue.QueuePairAttribute.RNR_RETRY;
import static org.rdmapanama.queue.QueuePairAttribute.RQ_PSN;
import static org.rdmapanama.queue.QueuePairAttribute.SQ_PSN;
import static org.rdmapanama.queue.QueuePairAttribute.STATE;
import static org.rdmapanama.queue.QueuePairAttribute.TIMEOUT;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.rdmapanama.internal.provider.DcRole;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/**
 * The legal transitions between states, and the attributes that each needs and allows: the tables of ibv_modify_qp(3)
 * and of InfiniBand Architecture volume 1, 11.2.5.2.
 *
 * <p>Checking here gives a message that names the attribute; the kernel only says EINVAL.
 */
public final class QueuePairTransitions {
    private record Transition(QueuePairState from, QueuePairState to) {}

    private record Attributes(Set<QueuePairAttribute> required, Set<QueuePairAttribute> optional) {}

    /** The states between which the device moves on its own. */
    private static final Set<QueuePairState> MAY_BE_ASSUMED =
            EnumSet.of(QueuePairState.RTR, QueuePairState.RTS, QueuePairState.SQD, QueuePairState.SQE);

    private static final Map<QueuePairType, Map<Transition, Attributes>> TABLES = new EnumMap<>(QueuePairType.class);

    static {
        TABLES.put(QueuePairType.RC, connected(true, true));
        TABLES.put(QueuePairType.UC, connected(false, false));
        TABLES.put(QueuePairType.XRC_SEND, connected(true, false));
        TABLES.put(QueuePairType.XRC_RECV, connected(false, true));
        TABLES.put(QueuePairType.UD, datagram());
        TABLES.put(QueuePairType.RAW_PACKET, raw());
    }

    private static final Map<Transition, Attributes> DC_INITIATOR = dcInitiator();
    private static final Map<Transition, Attributes> DC_TARGET = dcTarget();

    private QueuePairTransitions() {}

    /**
     * Returns the table of a type that has one peer.
     *
     * @param initiates whether it sends requests that the peer acknowledges
     * @param answers whether it acknowledges requests of the peer
     */
    private static Map<Transition, Attributes> connected(boolean initiates, boolean answers) {
        Set<QueuePairAttribute> ofInitiator = initiates ? set(RETRY_CNT, RNR_RETRY, MAX_QP_RD_ATOMIC) : set();
        Set<QueuePairAttribute> ofTarget = answers ? set(MIN_RNR_TIMER) : set();
        Set<QueuePairAttribute> readsOfTarget = answers ? set(MAX_DEST_RD_ATOMIC) : set();
        Set<QueuePairAttribute> ofReliable = initiates || answers ? set(TIMEOUT) : set();
        Set<QueuePairAttribute> whileRunning = union(set(CUR_STATE, ALT_PATH, ACCESS_FLAGS, PATH_MIG_STATE), ofTarget);
        Table table = new Table();
        table.add(QueuePairState.RESET, QueuePairState.INIT, set(PKEY_INDEX, PORT, ACCESS_FLAGS), set());
        table.add(QueuePairState.INIT, QueuePairState.INIT, set(), set(PKEY_INDEX, PORT, ACCESS_FLAGS));
        table.add(
                QueuePairState.INIT,
                QueuePairState.RTR,
                union(set(AV, PATH_MTU, DEST_QPN, RQ_PSN), readsOfTarget, ofTarget),
                set(ALT_PATH, ACCESS_FLAGS, PKEY_INDEX));
        table.add(QueuePairState.RTR, QueuePairState.RTS, union(set(SQ_PSN), ofReliable, ofInitiator), whileRunning);
        table.add(QueuePairState.RTS, QueuePairState.RTS, set(), whileRunning);
        table.add(QueuePairState.RTS, QueuePairState.SQD, set(), set(EN_SQD_ASYNC_NOTIFY));
        table.add(QueuePairState.SQD, QueuePairState.RTS, set(), whileRunning);
        Set<QueuePairAttribute> whileDrained = set(AV, ALT_PATH, ACCESS_FLAGS, PKEY_INDEX, PATH_MIG_STATE);
        if (initiates || answers) {
            whileDrained.add(PORT);
        }
        table.add(
                QueuePairState.SQD,
                QueuePairState.SQD,
                set(),
                union(whileDrained, ofReliable, ofInitiator, readsOfTarget, ofTarget));
        if (!initiates && !answers) {
            table.add(QueuePairState.SQE, QueuePairState.RTS, set(), set(CUR_STATE, ACCESS_FLAGS));
        }
        return table.transitions;
    }

    @SafeVarargs
    private static Set<QueuePairAttribute> union(Set<QueuePairAttribute>... sets) {
        Set<QueuePairAttribute> all = set();
        for (Set<QueuePairAttribute> each : sets) {
            all.addAll(each);
        }
        return all;
    }

    private static Map<Transition, Attributes> datagram() {
        Table table = new Table();
        table.add(QueuePairState.RESET, QueuePairState.INIT, set(PKEY_INDEX, PORT, QKEY), set());
        table.add(QueuePairState.INIT, QueuePairState.INIT, set(), set(PKEY_INDEX, PORT, QKEY));
        table.add(QueuePairState.INIT, QueuePairState.RTR, set(), set(PKEY_INDEX, QKEY));
        table.add(QueuePairState.RTR, QueuePairState.RTS, set(SQ_PSN), set(CUR_STATE, QKEY));
        table.add(QueuePairState.RTS, QueuePairState.RTS, set(), set(CUR_STATE, QKEY));
        table.add(QueuePairState.RTS, QueuePairState.SQD, set(), set(EN_SQD_ASYNC_NOTIFY));
        table.add(QueuePairState.SQD, QueuePairState.RTS, set(), set(CUR_STATE, QKEY));
        table.add(QueuePairState.SQD, QueuePairState.SQD, set(), set(PKEY_INDEX, QKEY));
        table.add(QueuePairState.SQE, QueuePairState.RTS, set(), set(CUR_STATE, QKEY));
        return table.transitions;
    }

    private static Map<Transition, Attributes> raw() {
        Table table = new Table();
        table.add(QueuePairState.RESET, QueuePairState.INIT, set(PORT), set());
        table.add(QueuePairState.INIT, QueuePairState.INIT, set(), set(PORT));
        table.add(QueuePairState.INIT, QueuePairState.RTR, set(), set());
        table.add(QueuePairState.RTR, QueuePairState.RTS, set(), set(RATE_LIMIT));
        table.add(QueuePairState.RTS, QueuePairState.RTS, set(), set(RATE_LIMIT));
        table.add(QueuePairState.RTS, QueuePairState.SQD, set(), set());
        table.add(QueuePairState.SQD, QueuePairState.RTS, set(), set(RATE_LIMIT));
        table.add(QueuePairState.SQE, QueuePairState.RTS, set(), set());
        return table.transitions;
    }

    /** As the kernel's driver mlx5_ib has it, which needs the state each time, even where it stays the same. */
    private static Map<Transition, Attributes> dcInitiator() {
        Table table = new Table();
        table.add(QueuePairState.RESET, QueuePairState.INIT, set(STATE, PKEY_INDEX, PORT), set());
        table.add(QueuePairState.INIT, QueuePairState.INIT, set(STATE), set(PKEY_INDEX, PORT));
        table.add(QueuePairState.INIT, QueuePairState.RTR, set(STATE, PATH_MTU), set(PKEY_INDEX, AV));
        table.add(
                QueuePairState.RTR,
                QueuePairState.RTS,
                set(STATE, TIMEOUT, RETRY_CNT, RNR_RETRY, MAX_QP_RD_ATOMIC, SQ_PSN),
                set(MIN_RNR_TIMER));
        table.add(QueuePairState.RTS, QueuePairState.RTS, set(STATE), set(MIN_RNR_TIMER));
        return table.transitions;
    }

    /** As the kernel's driver mlx5_ib has it: there is no way back. */
    private static Map<Transition, Attributes> dcTarget() {
        Table table = new Table();
        table.add(QueuePairState.RESET, QueuePairState.INIT, set(STATE, PKEY_INDEX, PORT, ACCESS_FLAGS), set());
        table.add(QueuePairState.INIT, QueuePairState.RTR, set(STATE, AV, PATH_MTU, MIN_RNR_TIMER), set());
        return table.transitions;
    }

    /** Collects the rows of one type. */
    private static final class Table {
        final Map<Transition, Attributes> transitions = new HashMap<>();

        void add(
                QueuePairState from,
                QueuePairState to,
                Set<QueuePairAttribute> required,
                Set<QueuePairAttribute> optional) {
            transitions.put(new Transition(from, to), new Attributes(required, optional));
        }
    }

    private static Set<QueuePairAttribute> set(QueuePairAttribute... attributes) {
        Set<QueuePairAttribute> set = EnumSet.noneOf(QueuePairAttribute.class);
        set.addAll(Arrays.asList(attributes));
        return set;
    }

    private static Map<Transition, Attributes> table(QueuePairType type, DcRole role) {
        return switch (role) {
            case null -> TABLES.get(type);
            case DcRole.Initiator initiator -> DC_INITIATOR;
            case DcRole.Target target -> DC_TARGET;
        };
    }

    /**
     * Checks the given attributes against those that a transition requires and allows. Types that are not in the tables
     * are left to the driver.
     *
     * @param role of the dynamically connected transport; null for others
     * @throws IllegalArgumentException when there is no such transition, an attribute is missing, or one is given that
     *     does not belong there
     */
    public static void check(
            Object queuePair, QueuePairType type, DcRole role, QueuePairState current, QueuePairAttributes attributes) {
        Map<Transition, Attributes> table = table(type, role);
        if (table == null) {
            return;
        }
        Set<QueuePairAttribute> given = set();
        given.addAll(attributes.given());
        if (given.contains(CUR_STATE) && !MAY_BE_ASSUMED.contains(attributes.currentState())) {
            throw new IllegalArgumentException(
                    "CUR_STATE must be one of " + MAY_BE_ASSUMED + ": " + attributes.currentState());
        }
        QueuePairState from = given.contains(CUR_STATE) ? attributes.currentState() : current;
        QueuePairState to = given.contains(STATE) ? attributes.state() : from;
        Attributes row = table.get(new Transition(from, to));
        boolean ends = role instanceof DcRole.Target;
        if (!ends && (to == QueuePairState.RESET || (to == QueuePairState.ERR && from != QueuePairState.RESET))) {
            row = new Attributes(role == null ? set() : set(STATE), set());
        }
        if (row == null) {
            throw new IllegalArgumentException(
                    ends ? illegalOfTarget(queuePair, from, to) : illegal(queuePair, table, from, to));
        }
        Set<QueuePairAttribute> missing = EnumSet.copyOf(row.required());
        missing.removeAll(given);
        if (!missing.isEmpty()) {
            throw new IllegalArgumentException(
                    queuePair + " also needs " + missing + " to move from " + from + " to " + to);
        }
        given.removeAll(row.required());
        given.removeAll(row.optional());
        if (role == null) {
            given.remove(STATE);
            // Sizes may be given wherever the device can change them.
            given.remove(QueuePairAttribute.CAP);
        }
        if (!given.isEmpty()) {
            throw new IllegalArgumentException(
                    queuePair + " does not take " + given + " when it moves from " + from + " to " + to);
        }
    }

    private static String illegalOfTarget(Object queuePair, QueuePairState from, QueuePairState to) {
        return queuePair + " is in state " + from + " and cannot move to " + to
                + ": a target moves from RESET to INIT and to RTR only; close it, and create another one";
    }

    private static String illegal(
            Object queuePair, Map<Transition, Attributes> table, QueuePairState from, QueuePairState to) {
        boolean back = to == QueuePairState.INIT || to == QueuePairState.RTR;
        boolean ready = from == QueuePairState.RTS || from == QueuePairState.SQD || from == QueuePairState.SQE;
        return queuePair + " is in state " + from + " and cannot move to " + to
                + (back && ready ? " because it is connected or activated already" : "")
                + "; from " + from + " it can move to " + targets(table, from)
                + (back && from != QueuePairState.RESET ? "; modify it to RESET to connect or activate it again" : "");
    }

    private static Set<QueuePairState> targets(Map<Transition, Attributes> table, QueuePairState from) {
        Set<QueuePairState> targets = EnumSet.of(QueuePairState.RESET);
        if (from != QueuePairState.RESET) {
            targets.add(QueuePairState.ERR);
        }
        table.keySet().stream().filter(t -> t.from() == from).forEach(t -> targets.add(t.to()));
        return targets;
    }
}
