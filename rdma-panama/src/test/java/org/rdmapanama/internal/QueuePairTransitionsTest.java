package org.rdmapanama.internal;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.rdmapanama.queue.QueuePairState.ERR;
import static org.rdmapanama.queue.QueuePairState.INIT;
import static org.rdmapanama.queue.QueuePairState.RESET;
import static org.rdmapanama.queue.QueuePairState.RTR;
import static org.rdmapanama.queue.QueuePairState.RTS;
import static org.rdmapanama.queue.QueuePairState.SQD;
import static org.rdmapanama.queue.QueuePairState.SQE;

import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.internal.provider.DcRole;
import org.rdmapanama.queue.PathMigrationState;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/** The attributes that ibv_modify_qp(3) asks for, transition by transition. */
class QueuePairTransitionsTest {
    /** A row of the tables in the manual page. */
    private record Row(QueuePairType type, QueuePairState from, QueuePairState to, Set<QueuePairAttribute> required) {}

    private static final List<Row> ROWS = List.of(
            row(QueuePairType.UD, RESET, INIT, "PKEY_INDEX PORT QKEY"),
            row(QueuePairType.UD, INIT, RTR, ""),
            row(QueuePairType.UD, RTR, RTS, "SQ_PSN"),
            row(QueuePairType.UC, RESET, INIT, "PKEY_INDEX PORT ACCESS_FLAGS"),
            row(QueuePairType.UC, INIT, RTR, "AV PATH_MTU DEST_QPN RQ_PSN"),
            row(QueuePairType.UC, RTR, RTS, "SQ_PSN"),
            row(QueuePairType.RC, RESET, INIT, "PKEY_INDEX PORT ACCESS_FLAGS"),
            row(QueuePairType.RC, INIT, RTR, "AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER"),
            row(QueuePairType.RC, RTR, RTS, "SQ_PSN MAX_QP_RD_ATOMIC RETRY_CNT RNR_RETRY TIMEOUT"),
            row(QueuePairType.XRC_SEND, RESET, INIT, "PKEY_INDEX PORT ACCESS_FLAGS"),
            row(QueuePairType.XRC_SEND, INIT, RTR, "AV PATH_MTU DEST_QPN RQ_PSN"),
            row(QueuePairType.XRC_SEND, RTR, RTS, "SQ_PSN MAX_QP_RD_ATOMIC RETRY_CNT RNR_RETRY TIMEOUT"),
            row(QueuePairType.XRC_RECV, RESET, INIT, "PKEY_INDEX PORT ACCESS_FLAGS"),
            row(QueuePairType.XRC_RECV, INIT, RTR, "AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER"),
            row(QueuePairType.XRC_RECV, RTR, RTS, "SQ_PSN TIMEOUT"),
            row(QueuePairType.RAW_PACKET, RESET, INIT, "PORT"),
            row(QueuePairType.RAW_PACKET, INIT, RTR, ""),
            row(QueuePairType.RAW_PACKET, RTR, RTS, ""));

    private static Row row(QueuePairType type, QueuePairState from, QueuePairState to, String required) {
        Set<QueuePairAttribute> attributes = EnumSet.noneOf(QueuePairAttribute.class);
        Stream.of(required.split(" ", -1))
                .filter(name -> !name.isEmpty())
                .map(QueuePairAttribute::valueOf)
                .forEach(attributes::add);
        return new Row(type, from, to, attributes);
    }

    private static Stream<Row> rows() {
        return ROWS.stream();
    }

    private static Stream<Arguments> requiredAttributes() {
        return ROWS.stream().flatMap(row -> row.required().stream().map(attribute -> Arguments.of(row, attribute)));
    }

    private static void check(Row row, Collection<QueuePairAttribute> given) {
        QueuePairAttributes attributes = new QueuePairAttributes().state(row.to());
        given.forEach(attribute -> give(attributes, attribute));
        QueuePairTransitions.check("queue pair", row.type(), null, row.from(), attributes);
    }

    private static String refused(
            DcRole role, QueuePairState from, QueuePairState to, QueuePairAttribute... attributes) {
        QueuePairAttributes wanted = new QueuePairAttributes().state(to);
        List.of(attributes).forEach(attribute -> give(wanted, attribute));
        return assertThrows(
                        IllegalArgumentException.class,
                        () -> QueuePairTransitions.check("it", QueuePairType.DRIVER, role, from, wanted))
                .getMessage();
    }

    /** The tables of the kernel's driver for the dynamically connected transport. */
    @Test
    void shouldKnowWhatTheDynamicallyConnectedTransportNeeds() {
        DcRole initiator = new DcRole.Initiator(extended -> null, 0);
        DcRole target = new DcRole.Target(0);
        assertEquals("it also needs [PKEY_INDEX, PORT] to move from RESET to INIT", refused(initiator, RESET, INIT));
        assertEquals("it also needs [PATH_MTU] to move from INIT to RTR", refused(initiator, INIT, RTR));
        assertEquals(
                "it also needs [TIMEOUT, RETRY_CNT, RNR_RETRY, MAX_QP_RD_ATOMIC, SQ_PSN] to move from RTR to RTS",
                refused(initiator, RTR, RTS));
        assertEquals(
                "it does not take [ACCESS_FLAGS] when it moves from RESET to INIT",
                refused(
                        initiator,
                        RESET,
                        INIT,
                        QueuePairAttribute.PKEY_INDEX,
                        QueuePairAttribute.PORT,
                        QueuePairAttribute.ACCESS_FLAGS));
        assertEquals(
                "it also needs [ACCESS_FLAGS] to move from RESET to INIT",
                refused(target, RESET, INIT, QueuePairAttribute.PKEY_INDEX, QueuePairAttribute.PORT));
        assertEquals(
                "it also needs [AV, PATH_MTU, MIN_RNR_TIMER] to move from INIT to RTR", refused(target, INIT, RTR));
        assertTrue(refused(target, RTR, RTS).startsWith("it is in state RTR and cannot move to RTS"));
    }

    /** The kernel's driver refuses attributes without the state, and sizes. */
    @Test
    void shouldNeedTheStateInTheDynamicallyConnectedTransport() {
        DcRole initiator = new DcRole.Initiator(extended -> null, 0);
        QueuePairAttributes timer = new QueuePairAttributes().minRnrTimer(5);
        IllegalArgumentException without = assertThrows(
                IllegalArgumentException.class,
                () -> QueuePairTransitions.check("it", QueuePairType.DRIVER, initiator, RTS, timer));
        assertEquals("it also needs [STATE] to move from RTS to RTS", without.getMessage());
        QueuePairTransitions.check("it", QueuePairType.DRIVER, initiator, RTS, timer.state(RTS));
        IllegalArgumentException nothing = assertThrows(
                IllegalArgumentException.class,
                () -> QueuePairTransitions.check(
                        "it", QueuePairType.DRIVER, initiator, RESET, new QueuePairAttributes()));
        assertEquals("it also needs [STATE] to move from RESET to RESET", nothing.getMessage());
        assertEquals(
                "it does not take [CAP] when it moves from RTS to RTS",
                refused(initiator, RTS, RTS, QueuePairAttribute.CAP));
        assertDoesNotThrow(() -> QueuePairTransitions.check(
                "it", QueuePairType.DRIVER, initiator, RTS, new QueuePairAttributes().state(ERR)));
    }

    private static void give(QueuePairAttributes attributes, QueuePairAttribute attribute) {
        switch (attribute) {
            case STATE -> {}
            case CUR_STATE -> attributes.currentState(RTR);
            case EN_SQD_ASYNC_NOTIFY -> attributes.notifyWhenDrained(true);
            case ACCESS_FLAGS -> attributes.accessFlags(Set.of());
            case PKEY_INDEX -> attributes.pkeyIndex(0);
            case PORT -> attributes.port(1);
            case QKEY -> attributes.qkey(1);
            case AV -> attributes.addressVector(AddressVector.toLid(1, 1));
            case PATH_MTU -> attributes.pathMtu(Mtu.BYTES_1024);
            case TIMEOUT -> attributes.timeout(1);
            case RETRY_CNT -> attributes.retryCount(1);
            case RNR_RETRY -> attributes.rnrRetry(1);
            case RQ_PSN -> attributes.receivePsn(1);
            case MAX_QP_RD_ATOMIC -> attributes.maxReadAtomicAsInitiator(1);
            case ALT_PATH -> attributes.alternatePath(AddressVector.toLid(1, 1), 0, 0);
            case MIN_RNR_TIMER -> attributes.minRnrTimer(1);
            case SQ_PSN -> attributes.sendPsn(1);
            case MAX_DEST_RD_ATOMIC -> attributes.maxReadAtomicAsTarget(1);
            case PATH_MIG_STATE -> attributes.pathMigrationState(PathMigrationState.ARMED);
            case CAP -> attributes.capabilities(new QueuePairCapabilities(1, 1, 1, 1, 0));
            case DEST_QPN -> attributes.destinationQueuePair(1);
            case RATE_LIMIT -> attributes.rateLimit(1);
        }
    }

    @ParameterizedTest
    @MethodSource("rows")
    void shouldAcceptWhatIsRequired(Row row) {
        assertDoesNotThrow(() -> check(row, row.required()));
    }

    @ParameterizedTest
    @MethodSource("requiredAttributes")
    void shouldNameTheAttributeThatIsMissing(Row row, QueuePairAttribute missing) {
        Set<QueuePairAttribute> given = EnumSet.copyOf(row.required());
        given.remove(missing);
        IllegalArgumentException exception = assertThrows(IllegalArgumentException.class, () -> check(row, given));
        assertEquals(
                "queue pair also needs [" + missing + "] to move from " + row.from() + " to " + row.to(),
                exception.getMessage());
    }

    @ParameterizedTest
    @MethodSource("rows")
    void shouldNameTheAttributeThatDoesNotBelongThere(Row row) {
        // A transition to the send queue's states takes this one, and no transition to these.
        Set<QueuePairAttribute> given = EnumSet.of(QueuePairAttribute.EN_SQD_ASYNC_NOTIFY);
        given.addAll(row.required());
        IllegalArgumentException exception = assertThrows(IllegalArgumentException.class, () -> check(row, given));
        assertTrue(exception.getMessage().contains("does not take [EN_SQD_ASYNC_NOTIFY]"), exception::getMessage);
    }

    @Test
    void shouldNameAllThatIsMissing() {
        Row row = row(QueuePairType.RC, RTR, RTS, "");
        IllegalArgumentException exception = assertThrows(IllegalArgumentException.class, () -> check(row, Set.of()));
        for (QueuePairAttribute attribute : EnumSet.of(
                QueuePairAttribute.TIMEOUT,
                QueuePairAttribute.RETRY_CNT,
                QueuePairAttribute.RNR_RETRY,
                QueuePairAttribute.SQ_PSN,
                QueuePairAttribute.MAX_QP_RD_ATOMIC)) {
            assertTrue(exception.getMessage().contains(attribute.name()), exception::getMessage);
        }
    }

    @Test
    void shouldRefuseTheAttributesOfAnotherType() {
        refused(row(QueuePairType.UC, INIT, RTR, "AV PATH_MTU DEST_QPN RQ_PSN MIN_RNR_TIMER"), "MIN_RNR_TIMER");
        refused(row(QueuePairType.UC, RTR, RTS, "SQ_PSN TIMEOUT"), "TIMEOUT");
        refused(row(QueuePairType.UD, INIT, RTR, "AV"), "AV");
        refused(row(QueuePairType.RC, RTS, RTS, "QKEY"), "QKEY");
        refused(row(QueuePairType.XRC_SEND, RTS, RTS, "MIN_RNR_TIMER"), "MIN_RNR_TIMER");
        refused(row(QueuePairType.XRC_SEND, SQD, SQD, "MAX_DEST_RD_ATOMIC"), "MAX_DEST_RD_ATOMIC");
        refused(row(QueuePairType.XRC_RECV, SQD, SQD, "RETRY_CNT"), "RETRY_CNT");
        refused(row(QueuePairType.UC, SQD, SQD, "PORT"), "PORT");
    }

    private static void refused(Row row, String attribute) {
        IllegalArgumentException exception =
                assertThrows(IllegalArgumentException.class, () -> check(row, row.required()));
        assertTrue(exception.getMessage().contains("does not take [" + attribute + "]"), exception::getMessage);
    }

    @Test
    void shouldAcceptWhatIsOptional() {
        check(row(QueuePairType.RC, RTS, RTS, ""), Set.of(QueuePairAttribute.MIN_RNR_TIMER));
        check(row(QueuePairType.RC, RTS, SQD, ""), Set.of(QueuePairAttribute.EN_SQD_ASYNC_NOTIFY));
        check(row(QueuePairType.RC, SQD, SQD, ""), Set.of(QueuePairAttribute.AV, QueuePairAttribute.TIMEOUT));
        check(
                row(QueuePairType.RC, SQD, SQD, ""),
                Set.of(
                        QueuePairAttribute.PORT,
                        QueuePairAttribute.RETRY_CNT,
                        QueuePairAttribute.RNR_RETRY,
                        QueuePairAttribute.MAX_QP_RD_ATOMIC,
                        QueuePairAttribute.MAX_DEST_RD_ATOMIC,
                        QueuePairAttribute.MIN_RNR_TIMER));
        check(row(QueuePairType.XRC_RECV, RTS, RTS, ""), Set.of(QueuePairAttribute.MIN_RNR_TIMER));
        check(row(QueuePairType.XRC_SEND, SQD, SQD, ""), Set.of(QueuePairAttribute.MAX_QP_RD_ATOMIC));
        check(row(QueuePairType.UD, RTS, RTS, ""), Set.of(QueuePairAttribute.QKEY));
        check(row(QueuePairType.UD, SQE, RTS, ""), Set.of());
        check(row(QueuePairType.RAW_PACKET, RTS, RTS, ""), Set.of(QueuePairAttribute.RATE_LIMIT));
        check(row(QueuePairType.RC, INIT, INIT, ""), Set.of(QueuePairAttribute.CAP));
    }

    @ParameterizedTest
    @EnumSource(names = {"INIT", "RTR", "RTS", "SQD", "SQE", "ERR"})
    void shouldAllowErrorAndResetFromEveryState(QueuePairState from) {
        for (QueuePairType type : QueuePairType.values()) {
            check(new Row(type, from, ERR, Set.of()), Set.of());
            check(new Row(type, from, RESET, Set.of()), Set.of());
        }
    }

    @Test
    void shouldHaveNothingToFlushInReset() {
        check(row(QueuePairType.RC, RESET, RESET, ""), Set.of());
        Row toError = row(QueuePairType.RC, RESET, ERR, "");
        IllegalArgumentException exception =
                assertThrows(IllegalArgumentException.class, () -> check(toError, Set.of()));
        assertTrue(exception.getMessage().endsWith("from RESET it can move to [RESET, INIT]"), exception::getMessage);
    }

    @Test
    void shouldRefuseTransitionsThatDoNotExist() {
        List<Row> illegal = new ArrayList<>();
        for (QueuePairType type : List.of(QueuePairType.RC, QueuePairType.UC, QueuePairType.UD)) {
            illegal.add(row(type, RESET, RTR, ""));
            illegal.add(row(type, RESET, RTS, ""));
            illegal.add(row(type, INIT, RTS, ""));
            illegal.add(row(type, RTS, INIT, ""));
            illegal.add(row(type, RTS, RTR, ""));
            illegal.add(row(type, ERR, RTS, ""));
            illegal.add(row(type, SQE, SQD, ""));
        }
        // Reliable queue pairs have no SQE.
        illegal.add(row(QueuePairType.RC, SQE, RTS, ""));
        illegal.add(row(QueuePairType.XRC_SEND, SQE, RTS, ""));
        for (Row row : illegal) {
            IllegalArgumentException exception =
                    assertThrows(IllegalArgumentException.class, () -> check(row, Set.of()), row::toString);
            assertTrue(exception.getMessage().contains(" cannot move to "), exception::getMessage);
        }
    }

    @Test
    void shouldNameTheTransitionsThatDoExist() {
        Row row = row(QueuePairType.RC, INIT, RTS, "");
        IllegalArgumentException exception = assertThrows(IllegalArgumentException.class, () -> check(row, Set.of()));
        assertTrue(
                exception.getMessage().endsWith("from INIT it can move to [RESET, INIT, RTR, ERR]"),
                exception::getMessage);
    }

    @Test
    void shouldGoByTheStateThatTheCallerKnows() {
        // After an error in a send the driver still says RTS, and the caller knows better.
        QueuePairAttributes attributes = new QueuePairAttributes().state(RTS).currentState(SQE);
        QueuePairTransitions.check("queue pair", QueuePairType.UD, null, RTS, attributes);
        QueuePairAttributes wrong = new QueuePairAttributes().state(RTS).currentState(RESET);
        assertThrows(
                IllegalArgumentException.class,
                () -> QueuePairTransitions.check("queue pair", QueuePairType.UD, null, RTS, wrong));
    }

    @Test
    void shouldLeaveTypesOfDriversToThem() {
        check(row(QueuePairType.DRIVER, RESET, RTS, "QKEY"), Set.of(QueuePairAttribute.QKEY));
    }

    @Test
    void shouldSayThatAQueuePairIsConnectedAlready() {
        Row row = row(QueuePairType.RC, RTS, RTR, "");
        IllegalArgumentException exception = assertThrows(IllegalArgumentException.class, () -> check(row, Set.of()));
        assertEquals(
                "queue pair is in state RTS and cannot move to RTR because it is connected or activated already;"
                        + " from RTS it can move to [RESET, RTS, SQD, ERR];"
                        + " modify it to RESET to connect or activate it again",
                exception.getMessage());
    }
}
