package org.rdmapanama.samples.selftest;

/** The device, its driver or this machine lacks what a check needs, as its attributes or the library say. */
final class NotPossible extends Exception {
    private static final long serialVersionUID = 1L;

    NotPossible(String reason) {
        super(reason);
    }
}
