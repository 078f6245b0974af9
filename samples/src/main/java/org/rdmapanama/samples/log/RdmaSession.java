package org.rdmapanama.samples.log;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import org.rdmapanama.MemoryRegion;

/** The primary writes into the file of the replica; a session lets it catch up first, and looks at what arrives. */
final class RdmaSession implements Session {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final LogFile file;
    private final Regions regions;
    private final Wire wire;
    private final Greeting.Request primary;
    private boolean joined;
    private long durable;
    private long posted;

    RdmaSession(LogFile file, Regions regions, Wire wire, Greeting.Request primary) {
        this.file = file;
        this.regions = regions;
        this.wire = wire;
        this.primary = primary;
    }

    @Override
    public boolean isUp() {
        return wire.connection().isConnected();
    }

    /** In memory the primary has its records without this thread. */
    @Override
    public boolean isAwaited() {
        return !joined || primary.durability() == Durability.DISK;
    }

    @Override
    public boolean work() throws InterruptedException {
        if (!joined) {
            boolean asked = wire.hasReceived();
            if (asked) {
                join();
            }
            return asked;
        }
        boolean busy = file.extend(file.capacity()) > 0;
        return (primary.durability() == Durability.DISK && acknowledge()) || busy;
    }

    private void join() throws InterruptedException {
        CatchUp.Source source = CatchUp.Source.of(wire.receive(Duration.ZERO), file.capacity());
        MemoryRegion region = regions.of(wire.connection().protectionDomain());
        Remote remote = new RdmaRemote(wire, region, source.address(), source.key());
        new CatchUp(remote, file, source.tail(), TIMEOUT).run();
        if (primary.durability() == Durability.DISK) {
            file.force(0, file.capacity());
        }
        durable = file.lastIndex();
        joined = true;
        wire.send(ByteBuffer.allocate(Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(durable)
                .array());
    }

    /** Writes new records to the disk, and tells the primary. */
    private boolean acknowledge() {
        wire.poll();
        long last = file.lastIndex();
        if (last == durable || posted - wire.completed() >= Wire.DEPTH) {
            return false;
        }
        file.force(file.endOf(durable), file.endOf(last));
        durable = last;
        int slot = (int) (++posted % Wire.DEPTH);
        wire.postWord(primary.wordAddress(), primary.wordKey(), last, slot, posted, true);
        return true;
    }

    @Override
    public void close() {
        wire.connection().close();
    }
}
