package org.rdmapanama.soft;

import org.rdmapanama.soft.memory.NativeBlock;

/**
 * A protection domain, with the number of objects in it. {@link MemoryVerbs} creates it. Callers must hold the lock of
 * the device.
 */
final class SoftProtectionDomain {
    /** The memory of the C structure. */
    final NativeBlock struct;

    final int number;

    /** The number of objects in it, which must be 0 to destroy it. */
    int users;

    SoftProtectionDomain(NativeBlock struct, int number) {
        this.struct = struct;
        this.number = number;
    }
}
