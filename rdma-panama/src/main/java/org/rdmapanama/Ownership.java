package org.rdmapanama;

/** Who ends a native object for which a Java object is made from its address. */
public enum Ownership {
    /** The Java object: closing it, or its arena, destroys the native object. Nobody else may destroy it. */
    OWNED,
    /**
     * Somebody else: closing the Java object only forgets the native one. It must stay alive until then, and what was
     * made of it through the Java object, too, is to be closed before it goes.
     */
    BORROWED
}
