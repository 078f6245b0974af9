package org.rdmapanama.samples.table;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.ServerThreads;
import org.rdmapanama.samples.figures.LatencyRecord;

/** Readers and writers of one table. All connections are made anew for each measurement, and used for a while before it. */
final class TableBench {
    private static final long WARM_UP_NANOS = 500_000_000;

    /** How often a run looks whether its threads go on. */
    private static final long LOOK_NANOS = 100_000_000;

    private final TableClient control;
    private final VerbsArena arena;
    private final InetSocketAddress server;
    private final InetSocketAddress tcp;
    private final Duration timeout;
    private final BenchKeys keys;
    private final int readers;
    private final int writers;

    /** The address of TCP may be null. */
    TableBench(
            TableClient control,
            VerbsArena arena,
            InetSocketAddress server,
            InetSocketAddress tcp,
            Duration timeout,
            BenchKeys keys,
            int readers,
            int writers) {
        this.control = control;
        this.arena = arena;
        this.server = server;
        this.tcp = tcp;
        this.timeout = timeout;
        this.keys = keys;
        this.readers = readers;
        this.writers = writers;
    }

    /** How values come from the server. */
    enum Way {
        READ("RDMA READ"),
        ASK("RDMA SEND"),
        TCP("TCP");

        private final String text;

        Way(String text) {
            this.text = text;
        }

        String text() {
            return text;
        }
    }

    List<Way> ways() {
        return tcp == null ? List.of(Way.READ, Way.ASK) : List.of(Way.values());
    }

    /** A connection in one of the ways. */
    private interface Peer extends AutoCloseable {
        /** Returns the length of a value. */
        int get(byte[] key) throws IOException, InterruptedException;

        void put(byte[] key, byte[] value) throws IOException, InterruptedException;

        default long retries() {
            return 0;
        }

        @Override
        void close() throws IOException;
    }

    private Peer peer(Way way) throws IOException, InterruptedException {
        if (way == Way.TCP) {
            TcpTableClient client = new TcpTableClient(tcp, control.geometry(), timeout);
            return new Peer() {
                @Override
                public int get(byte[] key) throws IOException {
                    return client.get(key);
                }

                @Override
                public void put(byte[] key, byte[] value) throws IOException {
                    client.put(key, value);
                }

                @Override
                public void close() throws IOException {
                    client.close();
                }
            };
        }
        TableClient client = TableClient.connect(arena, server, timeout);
        MemorySegment value = Arena.ofAuto().allocate(keys.valueBytes() + 1L);
        return new Peer() {
            @Override
            public int get(byte[] key) throws InterruptedException {
                if (way == Way.READ) {
                    return client.get(MemorySegment.ofArray(key), value);
                }
                Optional<byte[]> asked = client.ask(key);
                return asked.isEmpty() ? -1 : asked.get().length;
            }

            @Override
            public void put(byte[] key, byte[] newValue) throws InterruptedException {
                client.put(key, newValue);
            }

            @Override
            public long retries() {
                return client.retries();
            }

            @Override
            public void close() {
                client.close();
            }
        };
    }

    /** What a thread has done between start and end. */
    private record Done(LatencyRecord times, long operations, long retries) {}

    BenchResult run(Way way, Duration duration) throws InterruptedException, IOException {
        ExecutorService threads = Executors.newThreadPerTaskExecutor(
                Thread.ofPlatform().daemon().name("bench-", 0).factory());
        try {
            long start = System.nanoTime() + WARM_UP_NANOS;
            long end = start + duration.toNanos();
            List<Future<Done>> reading = new ArrayList<>();
            List<Future<Done>> writing = new ArrayList<>();
            for (int i = 0; i < readers; i++) {
                reading.add(threads.submit(() -> read(way, start, end)));
            }
            for (int i = 0; i < writers; i++) {
                writing.add(threads.submit(() -> write(way, start, end)));
            }
            List<Future<Done>> all = new ArrayList<>(reading);
            all.addAll(writing);
            sleepUntil(start, all);
            long before = control.processorNanos();
            sleepUntil(end, all);
            long used = control.processorNanos() - before;
            long gets = 0;
            long retries = 0;
            List<LatencyRecord> times = new ArrayList<>();
            for (Future<Done> each : reading) {
                Done done = get(each);
                gets += done.operations;
                retries += done.retries;
                times.add(done.times);
            }
            long puts = 0;
            for (Future<Done> each : writing) {
                puts += get(each).operations;
            }
            double seconds = duration.toNanos() / 1e9;
            return new BenchResult(
                    gets / seconds,
                    times.stream().mapToDouble(each -> each.at(50)).average().orElseThrow(),
                    times.stream().mapToDouble(each -> each.at(99)).max().orElseThrow(),
                    puts / seconds,
                    retries * 1e6 / Math.max(1, gets),
                    used / 1e3 / Math.max(1, gets));
        } finally {
            threads.shutdownNow();
            ServerThreads.awaitEnd(threads);
        }
    }

    /** Sleeps, but not longer than all threads go on. */
    private static void sleepUntil(long time, List<Future<Done>> threads) throws InterruptedException {
        for (long left = time - System.nanoTime(); left > 0; left = time - System.nanoTime()) {
            for (Future<Done> each : threads) {
                if (each.state() == Future.State.FAILED) {
                    get(each);
                }
            }
            Thread.sleep(Duration.ofNanos(Math.min(left, LOOK_NANOS)));
        }
    }

    private static Done get(Future<Done> future) throws InterruptedException {
        try {
            return future.get();
        } catch (ExecutionException e) {
            throw new Failure("a thread has failed: " + e.getCause().getMessage(), e.getCause());
        }
    }

    private Done read(Way way, long start, long end) throws IOException, InterruptedException {
        LatencyRecord times = new LatencyRecord(1);
        long gets = 0;
        long retriesBefore = 0;
        try (Peer peer = peer(way)) {
            long before = System.nanoTime();
            while (before - end < 0) {
                boolean counts = before - start >= 0;
                if (!counts) {
                    retriesBefore = peer.retries();
                }
                int length = peer.get(keys.any());
                if (length != keys.valueBytes()) {
                    throw new Failure("a value has " + length + " bytes instead of " + keys.valueBytes()
                            + ": somebody else changes the table");
                }
                long now = System.nanoTime();
                if (counts) {
                    gets++;
                    times.record(now - before);
                }
                before = now;
            }
            times.complete();
            return new Done(times, gets, peer.retries() - retriesBefore);
        }
    }

    private Done write(Way way, long start, long end) throws IOException, InterruptedException {
        long puts = 0;
        try (Peer peer = peer(way)) {
            for (long now = System.nanoTime(); now - end < 0; now = System.nanoTime()) {
                peer.put(keys.any(), keys.newValue());
                if (now - start >= 0) {
                    puts++;
                }
            }
        }
        return new Done(null, puts, 0);
    }
}
