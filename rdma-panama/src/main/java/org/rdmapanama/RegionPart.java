package org.rdmapanama;

/**
 * A part of a memory region, for {@link ProtectionDomain#advise}: made by {@link MemoryRegion#part(long, long)}.
 *
 * <p>Threads: any.
 */
public final class RegionPart {
    private final MemoryRegion region;
    private final long address;
    private final long byteSize;

    RegionPart(MemoryRegion region, long address, long byteSize) {
        this.region = region;
        this.address = address;
        this.byteSize = byteSize;
    }

    /** {@return the region that this is a part of} */
    public MemoryRegion region() {
        return region;
    }

    /** {@return the address of the first byte: {@link MemoryRegion#address()} plus the offset} */
    public long address() {
        return address;
    }

    /** {@return the size in bytes, at most 2<sup>32</sup> - 1} */
    public long byteSize() {
        return byteSize;
    }

    /** Size, place and region. */
    @Override
    public String toString() {
        return byteSize + " bytes at 0x" + Long.toHexString(address) + " of " + region;
    }
}
