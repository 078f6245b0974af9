package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.MemoryRegion;

/**
 * Memory that is registered with a device, so that the channels of the device send from it without a copy: {@link
 * RSocketChannel#registerForWrite}.
 *
 * <p>The memory is not freed until this is closed, even if it becomes unreachable. Closing channels does not end it. Threads:
 * any.
 */
public final class RegisteredMemory implements AutoCloseable {
    private static final int CLOSED = -1;

    private final SendMemory device;
    private final MemoryRegion region;
    private final long address;
    private final long length;

    /** How many calls send from it; {@link #CLOSED} once it is closed. */
    private final AtomicInteger uses = new AtomicInteger();

    RegisteredMemory(SendMemory device, MemoryRegion region) {
        this.device = device;
        this.region = region;
        address = region.address();
        length = region.byteSize();
    }

    boolean contains(long from, long size) {
        return from >= address && size <= length - (from - address);
    }

    /** Begins to send from it, until {@link #end}. Returns false if it is closed, or its device is gone. */
    boolean begin() {
        int before;
        do {
            before = uses.get();
            if (before == CLOSED || !region.isOpen()) {
                return false;
            }
        } while (!uses.compareAndSet(before, before + 1));
        return true;
    }

    /** The device does not read it any more. */
    void end() {
        uses.decrementAndGet();
    }

    /**
     * Returns the region that the device knows the memory by: for {@link org.rdmapanama.pool.RegisteredPool#over}, which
     * makes buffers of it. To end the registration, close this and not the region: that would break the channels which send
     * from it at the moment.
     *
     * @return the region
     */
    public MemoryRegion region() {
        return region;
    }

    /**
     * Returns the memory.
     *
     * @return the memory that was registered
     */
    public MemorySegment memory() {
        return region.memory();
    }

    /**
     * Ends the registration. Does nothing if it is closed already.
     *
     * @throws IllegalStateException when a call sends from it at the moment, as with an {@link
     *     java.lang.foreign.Arena#close arena} whose memory is in use
     * @throws org.rdmapanama.VerbsException when the device fails
     */
    @Override
    public void close() {
        if (!uses.compareAndSet(0, CLOSED)) {
            if (uses.get() == CLOSED) {
                return;
            }
            throw new IllegalStateException(
                    this + " is in use: a channel sends from it; close it after the call that sends has returned");
        }
        try {
            if (region.isOpen()) {
                region.close();
            }
        } catch (RuntimeException e) {
            uses.set(0);
            throw e;
        }
        device.remove(this);
        device.release();
    }

    @Override
    public String toString() {
        return "RegisteredMemory[" + length + " bytes]";
    }
}
