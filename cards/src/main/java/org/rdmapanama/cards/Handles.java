package org.rdmapanama.cards;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Predicate;

/** The objects of one kind that a device file has, by the number that the kernel would give them. */
final class Handles<T> {
    private final Map<Integer, T> objects = new LinkedHashMap<>();
    private int last;

    int add(T object) {
        objects.put(++last, object);
        return last;
    }

    /** Returns an object. */
    T get(long handle) throws CommandException {
        T object = objects.get((int) handle);
        if (object == null) {
            throw new CommandException(org.rdmapanama.ffm.internal.Errno.EINVAL);
        }
        return object;
    }

    /** Returns an object, or null. */
    T find(int handle) {
        return objects.get(handle);
    }

    /** Returns the number of an object that fits, or null. */
    Integer find(Predicate<T> fits) {
        for (Map.Entry<Integer, T> entry : objects.entrySet()) {
            if (fits.test(entry.getValue())) {
                return entry.getKey();
            }
        }
        return null;
    }

    void replace(int handle, T object) {
        objects.put(handle, object);
    }

    void remove(long handle) {
        objects.remove((int) handle);
    }

    Collection<T> all() {
        return objects.values();
    }
}
