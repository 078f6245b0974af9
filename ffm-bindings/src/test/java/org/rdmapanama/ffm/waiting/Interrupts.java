package org.rdmapanama.ffm.waiting;

/** When the thread that makes a call is interrupted. */
public enum Interrupts {
    NEVER("not interrupted"),
    BEFORE("interrupted before"),
    ONCE("interrupted while it waits"),
    AGAIN_AND_AGAIN("interrupted again and again");

    private final String words;

    Interrupts(String words) {
        this.words = words;
    }

    @Override
    public String toString() {
        return words;
    }
}
