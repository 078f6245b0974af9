package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.Locale;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.memory.RemoteMemory;

/** The side of a transfer that moves the data to the server's memory and back. Threads: that of the link. */
final class TransferClient {
    private static final long SEED = 0x5244_4d41;

    private final TransferLink link;
    private final PrintWriter out;
    private final PrintWriter err;
    private final boolean terminal = ProgressBar.onTerminal();

    TransferClient(TransferLink link, PrintWriter out, PrintWriter err) {
        this.link = link;
        this.out = out;
        this.err = err;
    }

    /**
     * Moves the given number of bytes to the server and back.
     *
     * @param warmUp how many bytes to move each way before that, which are not measured
     */
    void run(long size, long warmUp) throws IOException, InterruptedException {
        link.greet();
        MemoryRegion region = link.register(size);
        link.send(ControlMessage.hello(size));
        RemoteMemory peer = link.receive(ControlMessage.Type.READY).memory();
        say("peer memory:    %s at 0x%x, rkey 0x%x"
                .formatted(ByteSize.format(peer.length()), peer.address(), peer.rkey()));
        if (peer.length() < size) {
            throw new Failure("the peer offers " + peer.length() + " bytes, fewer than the " + size + " asked for");
        }

        warmUp(region, peer, warmUp);
        TestPattern.fill(region.memory(), SEED, link::pause);
        int checksum = Checksum.of(region.memory(), link::pause);
        Measured write = move(Way.WRITE, region, size, peer);
        link.send(ControlMessage.written(size, checksum));
        int theirs = link.receive(ControlMessage.Type.VERIFIED).checksum();
        compare("the peer's memory after the WRITE", checksum, theirs);

        // Data that is not read back then shows up as zeros.
        TestPattern.clear(region.memory(), link::pause);
        Measured read = move(Way.READ, region, size, peer);
        compare("the data read back", checksum, Checksum.of(region.memory(), link::pause));
        say("checksum:       CRC32C " + Checksum.format(checksum) + ", correct on both sides");

        link.send(ControlMessage.done());
        link.receive(ControlMessage.Type.DONE);
        link.awaitHangUp();
        report(size, write, read);
    }

    /** The total time, and the latencies of the chunks. */
    private record Measured(long nanos, Latencies latencies) {}

    private enum Way {
        WRITE,
        READ
    }

    /**
     * Moves zeros, before there is data, so that the checks show what the measured transfers moved. Code that is not compiled
     * yet, on both sides, and memory that was not used yet make the first bytes slow.
     */
    private void warmUp(MemoryRegion region, RemoteMemory peer, long bytes) throws IOException, InterruptedException {
        if (bytes == 0) {
            return;
        }
        for (long left = bytes; left > 0; left -= region.byteSize()) {
            long part = Math.min(left, region.byteSize());
            move(Way.WRITE, region, part, peer);
            move(Way.READ, region, part, peer);
        }
        say("warm-up:        " + ByteSize.format(bytes) + " each way, not measured");
    }

    private Measured move(Way way, MemoryRegion region, long bytes, RemoteMemory peer)
            throws IOException, InterruptedException {
        Latencies latencies = new Latencies();
        long start = System.nanoTime();
        ProgressBar progress = new ProgressBar(err, way.name(), bytes, terminal, start);
        boolean complete = false;
        try {
            if (way == Way.WRITE) {
                link.write(region, bytes, peer, latencies, progress);
            } else {
                link.read(region, bytes, peer, latencies, progress);
            }
            complete = true;
        } finally {
            if (!complete) {
                progress.abort();
            }
        }
        long end = System.nanoTime();
        progress.finish(end);
        return new Measured(end - start, latencies);
    }

    private static void compare(String what, int expected, int found) {
        if (expected != found) {
            throw new Failure(
                    what + " is wrong: CRC32C " + Checksum.format(found) + " instead of " + Checksum.format(expected));
        }
    }

    private void say(String line) {
        out.println("  " + line);
        out.flush();
    }

    private void report(long size, Measured write, Measured read) {
        out.println();
        out.printf(
                "  %-6s %10s %9s %9s %10s   %s%n",
                "", "size", "seconds", "MiB/s", "Mbit/s", "milliseconds per chunk: p50, p90, p99, max");
        row("WRITE", size, write);
        row("READ", size, read);
        out.flush();
    }

    private void row(String title, long size, Measured measured) {
        double seconds = measured.nanos() / 1e9;
        Latencies latencies = measured.latencies();
        out.printf(
                Locale.ROOT,
                "  %-6s %10s %9.3f %9.2f %10.2f   %.3f  %.3f  %.3f  %.3f  (%d chunks)%n",
                title,
                ByteSize.format(size),
                seconds,
                size / seconds / (1 << 20),
                size * 8.0 / seconds / 1e6,
                latencies.microsAt(50) / 1e3,
                latencies.microsAt(90) / 1e3,
                latencies.microsAt(99) / 1e3,
                latencies.maxMicros() / 1e3,
                latencies.count());
    }
}
