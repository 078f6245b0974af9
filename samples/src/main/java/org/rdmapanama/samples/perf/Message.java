package org.rdmapanama.samples.perf;

/** A message of a test, or a list of them that is posted at once; it can be posted again and again. */
abstract class Message {
    /**
     * Posts it.
     *
     * @param id the identifier of the completion; all messages of a list have the same
     */
    abstract void post(long id);
}
