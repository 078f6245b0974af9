package org.rdmapanama.mlx5;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.ToIntFunction;
import org.rdmapanama.queue.QueuePairType;

/** Sets of constants, from bits of C. */
final class Bits {
    private Bits() {}

    /** Returns the constants whose bits are set; bits that this version does not know are left out. */
    static <E extends Enum<E>> Set<E> of(Class<E> type, ToIntFunction<E> code, long bits) {
        Set<E> set = EnumSet.allOf(type);
        set.removeIf(constant -> (bits & Integer.toUnsignedLong(code.applyAsInt(constant))) == 0);
        return set;
    }

    /** Returns the types of queue pair, each of which has the bit of its number. */
    static Set<QueuePairType> queuePairTypes(int bits) {
        Set<QueuePairType> set = EnumSet.allOf(QueuePairType.class);
        // That of type DRIVER is too large for a bit.
        set.removeIf(type -> type.code() >= Integer.SIZE || (bits & 1 << type.code()) == 0);
        return set;
    }

    static <E extends Enum<E>> Set<E> copy(Class<E> type, Collection<E> constants) {
        Set<E> copy = EnumSet.noneOf(type);
        copy.addAll(constants);
        return Collections.unmodifiableSet(copy);
    }
}
