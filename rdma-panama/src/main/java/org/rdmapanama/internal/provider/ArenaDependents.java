package org.rdmapanama.internal.provider;

import org.rdmapanama.ProtectionDomain;
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
     * Has an arena, and that of a protection domain, close an object when they close themselves.
     *
     * @param arena the arena
     * @param domain the protection domain, of the same arena or of another one
     * @param dependent the object, whose close must be repeatable
     */
    public static void add(VerbsArena arena, ProtectionDomain domain, AutoCloseable dependent) {
        add(arena, dependent);
        add(ObjectModelAccess.get().arenaOf(domain), dependent);
    }

    /**
     * Has both arenas forget an object that has been closed.
     *
     * @param arena the arena
     * @param domain the protection domain
     * @param dependent the object
     */
    public static void remove(VerbsArena arena, ProtectionDomain domain, AutoCloseable dependent) {
        remove(arena, dependent);
        remove(ObjectModelAccess.get().arenaOf(domain), dependent);
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
