package org.rdmapanama;

import org.rdmapanama.internal.provider.ProviderContext;

/**
 * How native objects of one kind end.
 *
 * @param verb the C name
 * @param call the verb behind it
 */
record Ending(String verb, Call call) {
    /** Ends the object at an address: zero or a negated errno. */
    @FunctionalInterface
    interface Call {
        int end(ProviderContext provider, long address);
    }
}
