package org.rdmapanama.soft;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.function.Consumer;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * A table of objects by number. A number has two parts: an index into the table, and generation bits that differ each
 * time the index is reused, so that an old number does not find a new object.
 *
 * <p>{@link SoftDevice} has one for each kind of object. Callers that change it must hold the lock of the device;
 * callers may read it with or without the lock.
 *
 * @param <T> the type of the objects
 */
final class HandleTable<T> {
    private static final int FIRST_SIZE = 64;

    private final int placeBits;
    private final int placeShift;
    private final int otherBits;
    private final int otherShift;
    private final Deque<Integer> free = new ArrayDeque<>();
    private volatile Table table = new Table(new Object[FIRST_SIZE], new int[FIRST_SIZE]);

    /** Indexes 0 and 1 stay empty: 0 means no object, and queue pair 1 belongs to the connection manager. */
    private int used = 2;

    private int uses;

    /** Both arrays in one object, so that a reader without the lock sees them at the same size. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Table(Object[] objects, int[] numbers) {
        Table ofSize(int size) {
            return new Table(Arrays.copyOf(objects, size), Arrays.copyOf(numbers, size));
        }
    }

    /**
     * Creates a table. The index has {@code placeBits} bits from bit {@code placeShift} on; the generation likewise.
     */
    HandleTable(int placeBits, int placeShift, int otherBits, int otherShift) {
        this.placeBits = placeBits;
        this.placeShift = placeShift;
        this.otherBits = otherBits;
        this.otherShift = otherShift;
        uses = (int) System.nanoTime();
    }

    /** Reserves an unused number for {@link #put}; 0 if all are in use. */
    private int take() {
        Integer place = free.poll();
        if (place == null) {
            if (used >= 1 << placeBits) {
                return 0;
            }
            place = used;
            if (place >= table.objects.length) {
                table = table.ofSize(Math.min(2 * place, 1 << placeBits));
            }
            // Not earlier: without memory for a larger table the indexes must stay within it.
            used++;
        }
        return number(place);
    }

    private int number(int place) {
        int other = ++uses & (1 << otherBits) - 1;
        int number = place << placeShift | other << otherShift;
        table.numbers[place] = number;
        return number;
    }

    /** Makes an object of its C structure and its number. */
    @FunctionalInterface
    interface Maker<T> {
        T make(NativeBlock struct, int number);
    }

    /**
     * Makes an object and puts it at an unused number; returns null if all are in use. If there is no memory for the
     * object, its number is free again, and so is the memory of its C structure.
     */
    T make(long structBytes, Maker<T> maker) {
        int number = take();
        if (number == 0) {
            return null;
        }
        NativeBlock struct = null;
        T object = null;
        try {
            struct = new NativeBlock(structBytes);
            object = maker.make(struct, number);
            put(number, object);
            return object;
        } finally {
            if (object == null) {
                remove(number);
                if (struct != null) {
                    struct.free();
                }
            }
        }
    }

    private void put(int number, T object) {
        table.objects[place(number)] = object;
    }

    /** Returns the object of a number, or null. */
    @SuppressWarnings("unchecked")
    T get(int number) {
        Table all = table;
        int place = place(number);
        return place < all.objects.length && all.numbers[place] == number ? (T) all.objects[place] : null;
    }

    /** Returns the object at the index of a number, whatever its generation. */
    @SuppressWarnings("unchecked")
    T atPlaceOf(int number) {
        return (T) table.objects[place(number)];
    }

    @SuppressWarnings("unchecked")
    void forEach(Consumer<T> action) {
        Object[] all = table.objects;
        for (int i = 0; i < used; i++) {
            if (all[i] != null) {
                action.accept((T) all[i]);
            }
        }
    }

    /** Returns the index part of a number. */
    private int place(int number) {
        return number >>> placeShift & (1 << placeBits) - 1;
    }

    /** Removes an object and releases its number. */
    void remove(int number) {
        int place = place(number);
        table.objects[place] = null;
        table.numbers[place] = 0;
        free.add(place);
    }

    /** Changes the generation bits of a number, which the owner of a memory window may do. */
    void renumber(int number, int newNumber) {
        table.numbers[place(number)] = newNumber;
    }
}
