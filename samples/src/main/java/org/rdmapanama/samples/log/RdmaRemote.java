package org.rdmapanama.samples.log;

import java.time.Duration;
import org.rdmapanama.MemoryRegion;

/** Reads the file of another node by RDMA READ; the other needs to do nothing. */
final class RdmaRemote implements Remote {
    private final Wire wire;
    private final MemoryRegion region;
    private final long address;
    private final int key;

    /** The region is that of the own file; address and key are of the other's. */
    RdmaRemote(Wire wire, MemoryRegion region, long address, int key) {
        this.wire = wire;
        this.region = region;
        this.address = address;
        this.key = key;
    }

    @Override
    public void read(long offset, int length, Duration timeout) throws InterruptedException {
        wire.read(address + offset, key, region, offset, length, timeout);
    }

    @Override
    public byte[] bytes(long offset, int length, Duration timeout) throws InterruptedException {
        return wire.read(address + offset, key, length, timeout);
    }

    @Override
    public String toString() {
        return wire.connection().remoteAddress().toString();
    }
}
