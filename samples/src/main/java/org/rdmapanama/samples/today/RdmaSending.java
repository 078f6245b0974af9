package org.rdmapanama.samples.today;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.memory.RemoteMemory;

/**
 * Writes a file to the receiver's memory. The device reads the pages of a mapped file in place, or registered memory into
 * which the file is read past the page cache.
 */
final class RdmaSending implements Job {
    private static final long CHUNK = 1 << 20;
    private static final int DEPTH = 16;

    private final Path file;
    private final RdmaEnd end;
    private final SendWorkRequest[] requests = new SendWorkRequest[DEPTH];
    private MemoryRegion region;
    private long size;

    /** Null if the file is mapped. */
    private DirectFile direct;

    RdmaSending(TransferMethod way, Path file, InetAddress from, InetSocketAddress to, Duration limit)
            throws IOException, InterruptedException {
        this.file = file;
        VerbsArena arena = VerbsArena.ofConfined();
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                // One more for the signal at the end.
                .sendWorkRequests(DEPTH + 1)
                .receiveWorkRequests(1)
                .completionEvents(true)
                .prepare(made -> RdmaEnd.expectSign(arena, made))
                .localAddress(new InetSocketAddress(from, 0));
        end = new RdmaEnd(arena, new RdmaClient(arena).connect(to, options, limit), limit);
        for (int i = 0; i < DEPTH; i++) {
            requests[i] = SendWorkRequest.allocate(arena, 1).signaled(true);
        }
        if (way == TransferMethod.RDMA_READY) {
            register();
        } else if (way.isDirect()) {
            direct = new DirectFile(file);
            size = direct.size();
            region = end.connection.protectionDomain().register(direct.allocate(arena, CHUNK * DEPTH));
        }
    }

    /**
     * Maps the file and registers the mapping. Without access flags the device may only read it. The mapping itself
     * must be writable, though, because Linux before 6.2 pins no other mappings.
     */
    private void register() throws IOException {
        try (FileChannel source = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            size = source.size();
            region = end.connection.protectionDomain().register(source.map(MapMode.READ_WRITE, 0, size, end.arena));
        }
    }

    @Override
    public String words() {
        return end.words();
    }

    @Override
    public void run(String... peer) throws IOException, InterruptedException {
        RemoteMemory target = RemoteMemory.parse(peer[0]);
        if (region == null) {
            register();
        }
        for (SendWorkRequest request : requests) {
            request.clear().add(region, 0, Math.min(CHUNK, size)).rdmaWrite(target);
        }
        long chunks = Math.ceilDiv(size, CHUNK);
        long posted = 0;
        long completed = 0;
        boolean told = false;
        while (completed < chunks) {
            while (posted < chunks && posted - completed < DEPTH) {
                long offset = posted * CHUNK;
                end.post(requests[(int) (posted % DEPTH)]
                        .set(0, region, source(offset), Math.min(CHUNK, size - offset))
                        .remoteAddress(target.address() + offset));
                posted++;
            }
            if (posted == chunks && !told) {
                // After all writes: it arrives once they have arrived.
                end.giveSign();
                told = true;
            }
            completed += end.await(end.connection.sendQueue());
        }
        end.await(end.connection.receiveQueue());
    }

    /** Returns where in the region a chunk of the file is, after reading it if the file is not mapped. */
    private long source(long offset) throws IOException {
        if (direct == null) {
            return offset;
        }
        // What was written from this memory before has completed, because no more than DEPTH chunks are posted.
        long place = offset % (CHUNK * DEPTH);
        direct.read(region.memory().asSlice(place, CHUNK).asByteBuffer(), offset);
        return place;
    }

    @Override
    public void close() throws IOException {
        try {
            end.close();
        } finally {
            if (direct != null) {
                direct.close();
            }
        }
    }
}
