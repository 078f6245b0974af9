package org.rdmapanama.samples.collective;

import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** The layout of a message: a header, and the elements behind it. */
final class RankMessage {
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);

    static final int PURPOSE = 0;
    static final int KIND = 4;
    static final int ROOT = 8;
    static final int LENGTH = 12;
    static final int SEQUENCE = 16;
    static final int COUNT = 24;

    /** How many messages of data the sender has taken in, and will not look at again. */
    static final int CONSUMED = 32;

    /** The number of a message within its call; or the rank to blame. */
    static final int NUMBER = 40;

    /** For {@link Purpose#ABORT}: the reason. */
    static final int REASON = 48;

    static final int HEADER = 64;

    /** What a message is for. */
    enum Purpose {
        /** Elements. */
        DATA,
        /** The sender has begun the call. */
        SYNC,
        /** Nothing but what all headers tell. */
        CREDIT,
        /** Wants to know whether the receiver works. */
        ASK,
        ALIVE,
        /** The sender has left, and has finished the call of the sequence number. */
        LEAVE,
        /** The group has failed. */
        ABORT;

        private static final Purpose[] ALL = values();

        /** Returns the purpose of a message of a peer, or null. */
        static Purpose of(int ordinal) {
            return ordinal >= 0 && ordinal < ALL.length ? ALL[ordinal] : null;
        }
    }

    private RankMessage() {}
}
