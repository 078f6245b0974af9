package org.rdmapanama.efa.direct;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.efa.internal.CriticalLibefa;
import org.rdmapanama.ffm.efa.efadv_ah_attr;
import org.rdmapanama.internal.provider.AddressHandles;

/**
 * The numbers that the device has given to address handles. The driver is asked again once there are new handles, because the
 * memory of a handle that was destroyed is soon that of another one. Threads: one at a time.
 */
final class AddressNumbers {
    private static final int BYTES = (int) efadv_ah_attr.sizeof();
    private static final long NUMBER = efadv_ah_attr.ahn$offset();

    /** How many answers are kept, a power of two. */
    private static final int PLACES = 256;

    private static final int LOW_SHIFT = 4;
    private static final int HIGH_SHIFT = 12;

    /** For the answer of the driver. */
    private final MemorySegment answer = Arena.ofAuto().allocate(efadv_ah_attr.layout());

    private final long address = answer.address();

    // By place: a handle, its number, and how many handles there had been when the driver was asked.
    private final long[] handles = new long[PLACES];
    private final char[] numbers = new char[PLACES];
    private final long[] asked = new long[PLACES];

    /** Returns the number of a {@code struct ibv_ah}. */
    int of(long handle) {
        int place = (int) (handle >>> LOW_SHIFT ^ handle >>> HIGH_SHIFT) & PLACES - 1;
        long made = AddressHandles.count();
        if (handles[place] != handle || asked[place] != made) {
            CriticalLibefa.queryAh(handle, address, BYTES);
            numbers[place] = (char) RingMemory.getShort(address + NUMBER);
            handles[place] = handle;
            asked[place] = made;
        }
        return numbers[place];
    }
}
