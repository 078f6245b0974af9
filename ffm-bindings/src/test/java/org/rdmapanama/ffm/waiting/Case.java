package org.rdmapanama.ffm.waiting;

/** Something to try in a process of its own; it fails by what it throws. */
public record Case(String name, Body body) {
    /** What is tried. */
    @FunctionalInterface
    public interface Body {
        void run() throws Exception;
    }
}
