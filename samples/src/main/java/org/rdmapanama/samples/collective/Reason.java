package org.rdmapanama.samples.collective;

/** Why a group has failed, as ranks tell each other. */
enum Reason {
    DIED("has died, or cannot be reached any more"),
    LEFT("has left the group"),
    SILENT("does not answer: it is stopped, or does not make this call"),
    MISMATCH("makes another call"),
    HOSTILE("sends what no rank of a group sends"),
    INTERRUPTED("was interrupted in a call");

    private final String text;

    Reason(String text) {
        this.text = text;
    }

    private static final Reason[] ALL = values();

    static Reason of(int ordinal) {
        return ordinal >= 0 && ordinal < ALL.length ? ALL[ordinal] : HOSTILE;
    }

    @Override
    public String toString() {
        return text;
    }
}
