package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_pci_atomic_caps;

/**
 * Atomic operations that a device makes on the PCI bus, {@code struct ibv_pci_atomic_caps}: these are atomic against
 * the processors too. See ibv_query_device_ex(3). The sets are empty when the device does not do it.
 *
 * @param fetchAdd operands of fetch and add
 * @param swap operands of swap
 * @param compareSwap operands of compare and swap
 */
public record PciAtomicCapabilities(
        Set<PciAtomicSize> fetchAdd, Set<PciAtomicSize> swap, Set<PciAtomicSize> compareSwap) {
    /**
     * What was read of a device.
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
                PciAtomicSize.of(ibv_pci_atomic_caps.fetch_add(caps)),
                PciAtomicSize.of(ibv_pci_atomic_caps.swap(caps)),
                PciAtomicSize.of(ibv_pci_atomic_caps.compare_swap(caps)));
    }
}
