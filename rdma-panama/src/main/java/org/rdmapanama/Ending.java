package org.rdmapanama;

import org.rdmapanama.internal.provider.ProviderContext;

/**
 * How native objects of one kind are destroyed.
 *
 * @param verb the C name
 * @param call the verb behind it
 */
record Ending(String verb, Call call) {
    /** Destroys the object at an address. Returns zero or a negated errno. */
    @FunctionalInterface
    interface Call {
        int end(ProviderContext provider, long address);
    }
}
