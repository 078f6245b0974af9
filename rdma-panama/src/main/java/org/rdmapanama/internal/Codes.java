package org.rdmapanama.internal;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;

/** Converts between constants of Java's enums and the numbers and bit masks of {@code verbs.h}. */
public final class Codes {
    private Codes() {}

    /**
     * Finds the constant that stands for a number.
     *
     * @param values where to look
     * @param otherwise what to return when no constant stands for it
     */
    public static <E> E find(E[] values, ToIntFunction<E> codeOf, int code, E otherwise) {
        for (E value : values) {
            if (codeOf.applyAsInt(value) == code) {
                return value;
            }
        }
        return otherwise;
    }

    /**
     * Finds the constant that stands for a number.
     *
     * @param values where to look, at least one
     * @throws IllegalArgumentException when no constant stands for it
     */
    public static <E extends Enum<E>> E require(E[] values, ToIntFunction<E> codeOf, int code) {
        E found = find(values, codeOf, code, null);
        if (found == null) {
            throw new IllegalArgumentException(
                    "code must be that of a " + values[0].getDeclaringClass().getSimpleName() + ": " + code);
        }
        return found;
    }

    /** Returns an unmodifiable copy, in the order in which the constants are declared. */
    public static <E extends Enum<E>> Set<E> copyOf(Class<E> type, Collection<E> flags) {
        Set<E> copy = EnumSet.noneOf(type);
        copy.addAll(flags);
        return Collections.unmodifiableSet(copy);
    }

    /** Returns the bit mask of flags. */
    public static <E> int mask(Collection<E> flags, ToIntFunction<E> bitOf) {
        return (int) longMask(flags, bitOf::applyAsInt);
    }

    /** Returns the bit mask of flags, of which some do not fit into an {@code int}. */
    public static <E> long longMask(Collection<E> flags, ToLongFunction<E> bitOf) {
        long mask = 0;
        for (E flag : flags) {
            mask |= bitOf.applyAsLong(flag);
        }
        return mask;
    }

    /** Returns the flags of a bit mask, unmodifiable. Bits that no constant stands for are left out. */
    public static <E extends Enum<E>> Set<E> flags(Class<E> type, ToLongFunction<E> bitOf, long mask) {
        Set<E> flags = EnumSet.noneOf(type);
        for (E flag : type.getEnumConstants()) {
            if ((mask & bitOf.applyAsLong(flag)) != 0) {
                flags.add(flag);
            }
        }
        return Collections.unmodifiableSet(flags);
    }
}
