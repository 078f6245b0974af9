package org.rdmapanama.soft;

import java.util.function.Consumer;
import org.rdmapanama.ffm.internal.SecretNumbers;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * A table of objects by number. Keys and queue pair numbers are all that a packet needs to reach memory, so each number
 * is random as a whole, and those that somebody has seen do not tell the others.
 *
 * <p>The place of an object in the table is given by some bits of its number. A number whose place is taken is not used,
 * and another one is drawn. No two objects share a place therefore, and {@link #get} looks at one place only. At most half
 * of the places are taken, so that two draws are enough on average, and that the numbers which are in use give away less
 * than one bit of the next one: which places it does not have. When the table grows, one more bit of the numbers counts,
 * and places that differed still do.
 *
 * <p>A number does not come back before another one has had its place, so that it does not find a new object when it
 * is used after its time.
 *
 * <p>{@link SoftDevice} has one for each kind of object. Callers that change it must hold the lock of the device. Callers
 * without the lock may look for objects that are not removed meanwhile.
 *
 * @param <T> the type of the objects
 */
final class HandleTable<T> {
    private static final int FIRST_SIZE = 64;

    private final int bits;
    private final int most;
    private final int ownerBits;
    private int count;
    private volatile Slots table;

    /**
     * Both arrays in one object, so that a reader without the lock sees them at the same size, which is a power of two.
     *
     * @param objects null at places that are free
     * @param numbers also of the object that had a free place last; 0 if it is new
     * @param shift where in a number the bits of the place begin
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Slots(Object[] objects, int[] numbers, int shift) {
        Slots(int size, int shift) {
            this(new Object[size], new int[size], shift);
        }

        int place(int number) {
            return (number >>> shift) & (objects.length - 1);
        }

        /** Whether a place has, or had last, a number that differs at most in the bits of the owner. */
        boolean knows(int number) {
            return (numbers[place(number)] ^ number) >>> shift == 0;
        }

        Slots grown() {
            Slots larger = new Slots(2 * objects.length, shift);
            for (int i = 0; i < objects.length; i++) {
                if (numbers[i] != 0) {
                    int place = larger.place(numbers[i]);
                    larger.objects[place] = objects[i];
                    larger.numbers[place] = numbers[i];
                }
            }
            return larger;
        }
    }

    /**
     * Creates a table.
     *
     * @param bits how many bits the numbers have, up to 32
     * @param most how many objects there may be at a time; much less than there are numbers
     * @param ownerBits how many of the lowest bits the owner of an object may change
     */
    HandleTable(int bits, int most, int ownerBits) {
        this.bits = bits;
        this.most = most;
        this.ownerBits = ownerBits;
        table = new Slots(FIRST_SIZE, ownerBits);
    }

    /** Draws a number whose place is free. */
    private int draw() {
        Slots all = table;
        int number;
        do {
            number = SecretNumbers.next(bits);
        } while (isReserved(number) || all.objects[all.place(number)] != null || all.knows(number));
        return number;
    }

    /** Whether a number means something else: 0 no object, and the lowest and the highest ones special queue pairs. */
    private boolean isReserved(int number) {
        return number >>> ownerBits == 0 || number == 1 || number == -1 >>> (Integer.SIZE - bits);
    }

    /** Makes an object of its C structure and its number. */
    @FunctionalInterface
    interface ObjectFactory<T> {
        T make(NativeBlock struct, int number);
    }

    /**
     * Makes an object and puts it at an unused number; returns null if there are as many as there may be. If there is no
     * memory for the object, its number is free again, and so is the memory of its C structure.
     */
    T make(long structBytes, ObjectFactory<T> factory) {
        if (count == most) {
            return null;
        }
        if (2 * (count + 1) > table.objects.length) {
            table = table.grown();
        }
        int number = draw();
        NativeBlock struct = new NativeBlock(structBytes);
        T object = null;
        try {
            object = factory.make(struct, number);
        } finally {
            if (object == null) {
                struct.free();
            }
        }
        Slots all = table;
        int place = all.place(number);
        all.numbers[place] = number;
        all.objects[place] = object;
        count++;
        return object;
    }

    /** Returns the object of a number, or null. */
    @SuppressWarnings("unchecked")
    T get(int number) {
        Slots all = table;
        int place = all.place(number);
        return all.numbers[place] == number ? (T) all.objects[place] : null;
    }

    /** Returns the object of a number that its owner may have changed since, or null. */
    @SuppressWarnings("unchecked")
    T getChanged(int number) {
        Slots all = table;
        return all.knows(number) ? (T) all.objects[all.place(number)] : null;
    }

    @SuppressWarnings("unchecked")
    void forEach(Consumer<T> action) {
        for (Object each : table.objects) {
            if (each != null) {
                action.accept((T) each);
            }
        }
    }

    /** Removes the object of a number. */
    void remove(int number) {
        Slots all = table;
        all.objects[all.place(number)] = null;
        count--;
    }

    /** Changes the bits of a number that the owner of a memory window may choose. */
    void renumber(int number, int newNumber) {
        Slots all = table;
        all.numbers[all.place(number)] = newNumber;
    }
}
