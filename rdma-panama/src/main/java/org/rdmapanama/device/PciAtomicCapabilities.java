package org.rdmapanama.device;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_pci_atomic_caps;
import org.rdmapanama.internal.Codes;

/**
 * Atomic operations that a device performs on the PCI bus, {@code struct ibv_pci_atomic_caps}, which are also atomic
 * with respect to the processors. See ibv_query_device_ex(3). The sets are empty if the device does not support it.
 *
 * @param fetchAdd operands of fetch and add
 * @param swap operands of swap
 * @param compareSwap operands of compare and swap
 */
public record PciAtomicCapabilities(
        Set<PciAtomicSize> fetchAdd, Set<PciAtomicSize> swap, Set<PciAtomicSize> compareSwap) {
    /**
     * Checks and copies the capabilities.
     *
     * @throws NullPointerException when a set is null
     */
    public PciAtomicCapabilities {
        Objects.requireNonNull(fetchAdd, "fetchAdd");
        Objects.requireNonNull(swap, "swap");
        Objects.requireNonNull(compareSwap, "compareSwap");
    }

    static PciAtomicCapabilities read(MemorySegment caps) {
        return new PciAtomicCapabilities(
                Codes.flags(PciAtomicSize.class, PciAtomicSize::code, ibv_pci_atomic_caps.fetch_add(caps)),
                Codes.flags(PciAtomicSize.class, PciAtomicSize::code, ibv_pci_atomic_caps.swap(caps)),
                Codes.flags(PciAtomicSize.class, PciAtomicSize::code, ibv_pci_atomic_caps.compare_swap(caps)));
    }
}
