package org.rdmapanama;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** Operand of an atomic operation on the PCI bus, {@code enum ibv_pci_atomic_op_size}; see
 * {@link PciAtomicCapabilities}. */
public enum PciAtomicSize {
    /** Four bytes. */
    BYTES_4(rdma_h.IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP()),
    /** Eight bytes. */
    BYTES_8(rdma_h.IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP()),
    /** Sixteen bytes. */
    BYTES_16(rdma_h.IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP());

    private static final PciAtomicSize[] VALUES = values();

    private final int code;

    PciAtomicSize(int code) {
        this.code = code;
    }

    /**
     * The value in C.
     *
     * @return the constant's number in {@code verbs.h}
     */
    public int code() {
        return code;
    }

    /** The flags of a set as C gives it, unmodifiable; bits that have no constant are left out. */
    static Set<PciAtomicSize> of(int mask) {
        Set<PciAtomicSize> flags = EnumSet.noneOf(PciAtomicSize.class);
        for (PciAtomicSize flag : VALUES) {
            if ((mask & flag.code) != 0) {
                flags.add(flag);
            }
        }
        return Collections.unmodifiableSet(flags);
    }
}
