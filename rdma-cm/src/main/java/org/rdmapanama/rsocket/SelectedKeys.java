package org.rdmapanama.rsocket;

import java.nio.channels.SelectionKey;
import java.util.AbstractSet;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;

/**
 * The keys that a selector has selected: callers may remove keys, and not add them. Each key knows its place, so that selecting
 * and removing allocate nothing in the long run. Threads: as its users synchronize.
 */
final class SelectedKeys extends AbstractSet<SelectionKey> {
    private RSelectionKey[] keys = new RSelectionKey[16];
    private int count;

    /** Adds a key on behalf of the selector, and returns whether it was not there. */
    boolean select(RSelectionKey key) {
        if (contains(key)) {
            return false;
        }
        if (count == keys.length) {
            keys = Arrays.copyOf(keys, 2 * count);
        }
        key.selectedAt = count;
        keys[count++] = key;
        return true;
    }

    @Override
    public int size() {
        return count;
    }

    @Override
    public boolean contains(Object key) {
        return key instanceof RSelectionKey known && known.selectedAt < count && keys[known.selectedAt] == known;
    }

    @Override
    public Iterator<SelectionKey> iterator() {
        return new Keys();
    }

    @Override
    public boolean remove(Object key) {
        if (!contains(key)) {
            return false;
        }
        removeAt(((RSelectionKey) key).selectedAt);
        return true;
    }

    /** Puts the last key in the place. */
    private void removeAt(int place) {
        RSelectionKey last = keys[--count];
        keys[count] = null;
        if (place < count) {
            keys[place] = last;
            last.selectedAt = place;
        }
    }

    @Override
    public void clear() {
        Arrays.fill(keys, 0, count, null);
        count = 0;
    }

    /** From the last to the first, so that a key that takes the place of a removed one was seen before. */
    private final class Keys implements Iterator<SelectionKey> {
        private int next = count - 1;
        private @Nullable RSelectionKey last;

        @Override
        public boolean hasNext() {
            return next >= 0;
        }

        @Override
        public SelectionKey next() {
            if (next < 0) {
                throw new NoSuchElementException("there are no more selected keys");
            }
            last = keys[next--];
            return last;
        }

        @Override
        public void remove() {
            if (last == null) {
                throw new IllegalStateException("no key was returned since the last one was removed");
            }
            SelectedKeys.this.remove(last);
            last = null;
        }
    }
}
