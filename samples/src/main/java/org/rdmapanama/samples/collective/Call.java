package org.rdmapanama.samples.collective;

/**
 * What a rank calls, as it is told in each message. One object is used again for each call.
 *
 * <p>Threads: one at a time.
 */
final class Call {
    /** The operations. */
    enum Operation {
        BARRIER("barrier"),
        BROADCAST("broadcast"),
        ALL_GATHER("all-gather"),
        ALL_REDUCE("all-reduce");

        private final String text;

        Operation(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    private static final Operation[] OPERATIONS = Operation.values();
    private static final ElementType[] TYPES = ElementType.values();
    private static final Reduction[] REDUCTIONS = Reduction.values();
    private static final int BITS = 8;
    private static final int MASK = (1 << BITS) - 1;

    /** Counts the calls of a group, from 1. */
    long sequence;

    /** Operation, type and reduction, 8 bits each. */
    int kind;

    int root;
    long count;

    /** Begins the next call. */
    void next(Operation operation, ElementType type, Reduction reduction, int newRoot, long newCount) {
        sequence++;
        kind = operation.ordinal() | type.ordinal() << BITS | reduction.ordinal() << (2 * BITS);
        root = newRoot;
        count = newCount;
    }

    /** Describes a call, which may be that of a peer and wrong in any way. */
    static String text(int kind, int root, long count) {
        int operation = kind & MASK;
        int type = kind >>> BITS & MASK;
        int reduction = kind >>> (2 * BITS);
        if (operation >= OPERATIONS.length || type >= TYPES.length || reduction >= REDUCTIONS.length) {
            return "unknown operation";
        }
        String elements = " of " + count + " " + TYPES[type] + (count == 1 ? "" : "s");
        return OPERATIONS[operation]
                + switch (OPERATIONS[operation]) {
                    case BARRIER -> "";
                    case BROADCAST -> elements + " from rank " + root;
                    case ALL_GATHER -> elements;
                    case ALL_REDUCE -> elements + " (" + REDUCTIONS[reduction] + ")";
                };
    }

    @Override
    public String toString() {
        return text(kind, root, count);
    }
}
