package org.rdmapanama;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Predicate;
import org.rdmapanama.pool.RegisteredPool;

/** Objects of one shared arena that many threads use, replace and close: a few places for those of each kind. */
final class SharedObjects {
    private static final int MAX_TRIES = 6;

    private final Map<Class<?>, AtomicReferenceArray<Object>> places = new LinkedHashMap<>();

    SharedObjects() {
        add(Context.class, 2);
        add(ProtectionDomain.class, 3);
        add(CompletionChannel.class, 2);
        add(CompletionQueue.class, 6);
        add(MemoryRegion.class, 5);
        add(RegisteredPool.class, 2);
        add(SharedReceiveQueue.class, 2);
        add(AddressHandle.class, 2);
        add(MemoryWindow.class, 4);
        add(QueuePair.class, 8);
    }

    private void add(Class<?> kind, int count) {
        places.put(kind, new AtomicReferenceArray<>(count));
    }

    /** Any of a kind, mostly one that suits, or null. */
    <T> T any(Class<T> kind, Random random, Predicate<? super T> suits) {
        AtomicReferenceArray<Object> all = places.get(kind);
        T found = null;
        for (int tries = 0; tries < MAX_TRIES; tries++) {
            T next = kind.cast(all.get(random.nextInt(all.length())));
            if (next != null) {
                found = next;
                if (suits.test(next)) {
                    break;
                }
            }
        }
        return found;
    }

    /** Any of all kinds but the first ones, which all others stand on; or null. */
    Object any(Random random) {
        int kind = 1 + random.nextInt(places.size() - 1);
        return any(places.keySet().stream().skip(kind).findFirst().orElseThrow(), random, object -> true);
    }

    /** Keeps an object; what had its place, or null, is for the caller to close. */
    <T> T put(Class<T> kind, T object, Random random) {
        AtomicReferenceArray<Object> all = places.get(kind);
        return kind.cast(all.getAndSet(random.nextInt(all.length()), object));
    }
}
