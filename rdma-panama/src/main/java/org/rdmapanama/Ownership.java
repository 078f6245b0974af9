package org.rdmapanama;

/** Who destroys a native object for which a Java object is created from its address. */
public enum Ownership {
    /** The Java object: closing it, or its arena, destroys the native object. Other code must not destroy it. */
    OWNED,
    /**
     * Other code: closing the Java object leaves the native one alone. The native object must stay alive until then,
     * and objects that were created from it through the Java object must be closed before it is destroyed.
     */
    BORROWED
}
