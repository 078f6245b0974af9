package org.rdmapanama.device;

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

    private final int code;

    PciAtomicSize(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
