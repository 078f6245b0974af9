package org.rdmapanama;

import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A verb that creates an object, with what its failure is reported by.
 *
 * @param verb its C name
 * @param ending how to destroy the native object if no Java object is created for it
 * @param arguments describes what the object is created with, for messages: called only on failure, since text takes
 *     longer to make than most objects; may return an empty text
 * @param cures what to do about a failure
 * @param capability where to look for support of the verb, or null when every device supports it
 * @param lost called with the arena's lock held when the native object has no Java object and cannot be destroyed
 */
record Creation(
        String verb,
        Ending ending,
        Supplier<String> arguments,
        Cures cures,
        @Nullable String capability,
        Runnable lost) {
    Creation {
        Objects.requireNonNull(arguments, "arguments");
    }

    Creation(String verb, Ending ending) {
        this(verb, ending, () -> "", Cures.NONE, null, () -> {});
    }

    Creation arguments(Supplier<String> description) {
        return new Creation(verb, ending, description, cures, capability, lost);
    }

    Creation cures(Cures known) {
        return new Creation(verb, ending, arguments, known, capability, lost);
    }

    Creation capability(@Nullable String where) {
        return new Creation(verb, ending, arguments, cures, where, lost);
    }

    Creation lost(Runnable action) {
        return new Creation(verb, ending, arguments, cures, capability, action);
    }
}
