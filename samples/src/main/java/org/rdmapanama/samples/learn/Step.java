package org.rdmapanama.samples.learn;

/** Something to do that may fail. */
@FunctionalInterface
interface Step {
    void run() throws Exception;
}
