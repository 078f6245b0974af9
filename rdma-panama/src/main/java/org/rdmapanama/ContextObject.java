package org.rdmapanama;

import org.rdmapanama.internal.provider.ProviderContext;

/** A verbs object that was made on an open device. */
abstract class ContextObject extends VerbsObject {
    final Context context;
    final ProviderContext provider;

    ContextObject(Context context, long address, VerbsObject... parents) {
        super(context.arena, address, parents);
        this.context = context;
        this.provider = context.provider();
    }

    /**
     * The open device that this was made on.
     *
     * @return the context
     */
    public final Context context() {
        return context;
    }

    @Override
    void closed(boolean destroyed) {
        context.forget(this);
    }

    final void requireSameContext(ContextObject other) {
        if (other.context != context) {
            throw new IllegalArgumentException(other + " belongs to another context than " + this);
        }
    }
}
