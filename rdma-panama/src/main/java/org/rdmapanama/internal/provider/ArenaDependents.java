package org.rdmapanama.internal.provider;

import org.rdmapanama.VerbsArena;
import org.rdmapanama.internal.ObjectModelAccess;

/** Objects of other modules, such as connections, that an arena closes before everything else. Threads: any. */
public final class ArenaDependents {
    private ArenaDependents() {}

    /**
     * Has an arena close an object when it closes itself.
     *
     * @param arena the arena
     * @param dependent the object, whose close must be repeatable
     */
    public static void add(VerbsArena arena, AutoCloseable dependent) {
        ObjectModelAccess.get().addDependent(arena, dependent);
    }

    /**
     * Has an arena forget an object that has been closed.
     *
     * @param arena the arena
     * @param dependent the object
     */
    public static void remove(VerbsArena arena, AutoCloseable dependent) {
        ObjectModelAccess.get().removeDependent(arena, dependent);
    }
}
