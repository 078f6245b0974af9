package org.rdmapanama.samples.table;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.memory.AccessFlag;

/**
 * The memory of one generation, and its registrations. A key is in one of {@code window} slots that begin where its hash says.
 * All of them are looked at, so a removed key leaves an empty slot and no mark. Nothing that is in a slot moves to another one:
 * a reader that sees some slots earlier than others could miss it.
 *
 * <p>Threads: one at a time.
 */
final class Table {
    private static final MemorySegment NOTHING = MemorySegment.ofArray(new byte[0]);
    private static final long CACHE_LINE = 64;

    private final Geometry geometry;
    private final MemorySegment memory;
    private final Slot slot;
    private final Map<ProtectionDomain, MemoryRegion> regions = new HashMap<>();
    private int size;

    /** An empty table; address and key in the geometry do not matter. */
    Table(Geometry geometry) {
        this.geometry = geometry;
        // Lives until nothing refers to it, and a region does.
        memory = Arena.ofAuto().allocate(geometry.byteSize(), CACHE_LINE);
        slot = new Slot(memory, geometry.slotBytes(), geometry.generation());
        for (int i = 0; i < geometry.allSlots(); i++) {
            slot.write(at(i), NOTHING, NOTHING);
        }
    }

    Geometry geometry() {
        return geometry;
    }

    MemorySegment memory() {
        return memory;
    }

    int size() {
        return size;
    }

    private long at(int index) {
        return (long) index * geometry.slotBytes();
    }

    /** Returns what a client is told that comes through a device. */
    Geometry geometry(ProtectionDomain domain) {
        MemoryRegion region = regions.computeIfAbsent(domain, each -> each.register(memory, AccessFlag.REMOTE_READ));
        return geometry.at(region.address(), region.rkey());
    }

    /** Registers the memory for the same devices as that of another table. */
    void registerLike(Table other) {
        other.regions.forEach((domain, region) -> {
            if (region.isOpen()) {
                geometry(domain);
            }
        });
    }

    /** Ends all access of clients. When this returns, no device reads the memory any more. */
    void deregister() {
        regions.values().forEach(MemoryRegion::close);
        regions.clear();
    }

    /** Returns the slot of a key; with an empty key, the first empty slot in a window. Negative if there is none. */
    private long find(MemorySegment key, int home) {
        for (int i = home; i < home + geometry.window(); i++) {
            if (slot.hasKey(at(i), key, 0, (int) key.byteSize())) {
                return at(i);
            }
        }
        return -1;
    }

    private int home(MemorySegment key) {
        return geometry.home(Hash.of(key, 0, (int) key.byteSize(), geometry.seed()));
    }

    /** Returns the value of a key in the memory of this table; null if there is none. */
    MemorySegment get(MemorySegment key) {
        long at = find(key, home(key));
        return at < 0 ? null : memory.asSlice(at + Slot.HEADER + key.byteSize(), slot.valueLength(at));
    }

    /** Returns false if there is no room where the key must be. */
    boolean put(MemorySegment key, MemorySegment value) {
        int home = home(key);
        long at = find(key, home);
        if (at < 0) {
            at = find(NOTHING, home);
            if (at < 0) {
                return false;
            }
            size++;
        }
        slot.write(at, key, value);
        return true;
    }

    /** Returns whether the key was there. */
    boolean remove(MemorySegment key) {
        long at = find(key, home(key));
        if (at < 0) {
            return false;
        }
        slot.write(at, NOTHING, NOTHING);
        size--;
        return true;
    }

    /** Puts everything into another table; returns false if that has no room for it. */
    boolean copyTo(Table other) {
        for (int i = 0; i < geometry.allSlots(); i++) {
            int length = slot.keyLength(at(i));
            if (length > 0) {
                MemorySegment key = memory.asSlice(at(i) + Slot.HEADER, length);
                MemorySegment value = memory.asSlice(at(i) + Slot.HEADER + length, slot.valueLength(at(i)));
                if (!other.put(key, value)) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Tells all readers that there is another table. */
    void move() {
        for (int i = 0; i < geometry.allSlots(); i++) {
            slot.move(at(i));
        }
    }
}
