package org.rdmapanama.ffm.internal;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** Finds the event source of an object of any module, which no public method returns. Any thread may call it. */
public final class ReadySources {
    private static final Map<Class<?>, Function<Object, ReadySource>> OF_CLASSES = new ConcurrentHashMap<>();

    private ReadySources() {}

    /**
     * Tells how to find the source of the objects of a class, which its initializer does.
     *
     * @param <T> the class
     * @param type the class
     * @param source returns the source of an open object and otherwise throws
     */
    public static <T> void register(Class<T> type, Function<T, ReadySource> source) {
        OF_CLASSES.put(type, object -> source.apply(type.cast(object)));
    }

    /**
     * Returns the source of an object.
     *
     * @param object an object
     * @return its source, or null if its class has none
     */
    public static ReadySource of(Object object) {
        Function<Object, ReadySource> source = OF_CLASSES.get(object.getClass());
        return source == null ? null : source.apply(object);
    }
}
