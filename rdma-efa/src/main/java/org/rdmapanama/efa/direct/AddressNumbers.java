package org.rdmapanama.efa.direct;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.efa.internal.CriticalLibefa;
import org.rdmapanama.ffm.efa.efadv_ah_attr;

/**
 * The numbers that the device has given to address handles. The driver is asked each time, because the memory of a handle that
 * was destroyed is soon that of another one. Threads: one at a time.
 */
final class AddressNumbers {
    private static final int BYTES = (int) efadv_ah_attr.sizeof();
    private static final long NUMBER = efadv_ah_attr.ahn$offset();

    /** For the answer of the driver. */
    private final MemorySegment answer = Arena.ofAuto().allocate(efadv_ah_attr.layout());

    private final long address = answer.address();

    /** Returns the number of a {@code struct ibv_ah}. */
    int of(long handle) {
        CriticalLibefa.queryAh(handle, address, BYTES);
        return Short.toUnsignedInt(RingMemory.getShort(address + NUMBER));
    }
}
