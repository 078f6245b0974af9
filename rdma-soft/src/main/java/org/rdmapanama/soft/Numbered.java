package org.rdmapanama.soft;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.function.Consumer;

/**
 * Objects by a number of two parts: a place in a table, and bits that differ each time the place is used again, so that
 * an old number does not find a new object. Changed under the device's lock; read with it or without.
 *
 * @param <T> what is numbered
 */
final class Numbered<T> {
    private static final int FIRST_SIZE = 64;

    private final int placeBits;
    private final int placeShift;
    private final int otherBits;
    private final int otherShift;
    private final Deque<Integer> free = new ArrayDeque<>();
    private volatile Object[] objects = new Object[FIRST_SIZE];
    private int[] numbers = new int[FIRST_SIZE];

    /** Places 0 and 1 stay empty: no object, and, of queue pairs, the one of the connection manager. */
    private int used = 2;

    private int uses;

    /** Numbers with the place in so many bits from so many upwards, and the bits that differ likewise. */
    Numbered(int placeBits, int placeShift, int otherBits, int otherShift) {
        this.placeBits = placeBits;
        this.placeShift = placeShift;
        this.otherBits = otherBits;
        this.otherShift = otherShift;
        uses = (int) System.nanoTime();
    }

    /** A number that no object has, or 0 when all are taken; {@link #put} gives it to one. */
    int take() {
        Integer place = free.poll();
        if (place == null) {
            if (used >= 1 << placeBits) {
                return 0;
            }
            place = used++;
            if (place >= objects.length) {
                objects = Arrays.copyOf(objects, Math.min(2 * place, 1 << placeBits));
                numbers = Arrays.copyOf(numbers, objects.length);
            }
        }
        return number(place);
    }

    private int number(int place) {
        int other = ++uses & (1 << otherBits) - 1;
        numbers[place] = place << placeShift | other << otherShift;
        return numbers[place];
    }

    void put(int number, T object) {
        objects[place(number)] = object;
    }

    /** The object of a number, or null. */
    @SuppressWarnings("unchecked")
    T get(int number) {
        Object[] all = objects;
        int place = place(number);
        return place < all.length && numbers[place] == number ? (T) all[place] : null;
    }

    /** The object in the place of a number that may have changed since. */
    @SuppressWarnings("unchecked")
    T atPlaceOf(int number) {
        return (T) objects[place(number)];
    }

    @SuppressWarnings("unchecked")
    void forEach(Consumer<T> action) {
        Object[] all = objects;
        for (int i = 0; i < used; i++) {
            if (all[i] != null) {
                action.accept((T) all[i]);
            }
        }
    }

    /** Of the part that tells the place. */
    private int place(int number) {
        return number >>> placeShift & (1 << placeBits) - 1;
    }

    /** Lets go of an object, and of its number. */
    void remove(int number) {
        int place = place(number);
        objects[place] = null;
        numbers[place] = 0;
        free.add(place);
    }

    /** Gives a number other changing bits, as the owner of a memory window may. */
    void renumber(int number, int newNumber) {
        numbers[place(number)] = newNumber;
    }
}
