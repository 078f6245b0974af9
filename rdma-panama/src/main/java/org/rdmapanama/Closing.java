package org.rdmapanama;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/** One closing of a tree of objects: each is ended once, and what fails on the way does not stop the rest. */
final class Closing {
    private final Set<VerbsObject> begun = Collections.newSetFromMap(new IdentityHashMap<>());
    private VerbsException failure;

    /** Whether an object's turn comes now, for the first time. */
    boolean begins(VerbsObject object) {
        return begun.add(object);
    }

    void failed(VerbsException next) {
        if (failure == null) {
            failure = next;
        } else {
            failure.addSuppressed(next);
        }
    }

    /** What failed first, with the rest as suppressed exceptions, or null. */
    VerbsException failure() {
        return failure;
    }

    void throwFailure() {
        if (failure != null) {
            throw failure;
        }
    }
}
