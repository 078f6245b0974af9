package org.rdmapanama.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.testing.Bound;

/** Blocks that a client reads from the files of a server, on soft0. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BlockTransferTest {
    private static final InetSocketAddress ANY = new InetSocketAddress("127.0.0.1", 0);

    private static final TransferSettings SETTINGS = new TransferSettings(
            64 << 20,
            64 << 20,
            Duration.ofSeconds(20),
            Duration.ofSeconds(20),
            Duration.ofSeconds(60),
            Duration.ofSeconds(60));

    private static final byte[] SECRET = {1, 2, 3};

    @TempDir
    private Path folder;

    /** Where the blocks are, and what is in them. */
    private final Map<BlockRange, BlockFiles.Location> places = new ConcurrentHashMap<>();

    private final Map<BlockRange, byte[]> contents = new HashMap<>();

    private BlockFiles.Location locate(BlockRange block) throws IOException {
        BlockFiles.Location place = places.get(block);
        if (place == null) {
            throw new IOException("no such block");
        }
        return place;
    }

    /** Writes the output of a map task, with partitions of these sizes. */
    private List<BlockRange> write(int shuffle, long map, int... sizes) throws IOException {
        Random random = new Random(map);
        Path file = folder.resolve("shuffle_" + shuffle + "_" + map + ".data");
        List<BlockRange> blocks = new ArrayList<>();
        long offset = 0;
        try (var out = Files.newOutputStream(file)) {
            for (int i = 0; i < sizes.length; i++) {
                byte[] bytes = new byte[sizes[i]];
                random.nextBytes(bytes);
                out.write(bytes);
                BlockRange block = new BlockRange(shuffle, map, i, i + 1);
                places.put(block, new BlockFiles.Location(file, offset, sizes[i]));
                contents.put(block, bytes);
                blocks.add(block);
                offset += sizes[i];
            }
        }
        return blocks;
    }

    /** Keeps what comes of a fetch. */
    private static class Result implements BlockListener {
        final Map<BlockRange, byte[]> arrived = new ConcurrentHashMap<>();
        final Map<BlockRange, String> unavailable = new ConcurrentHashMap<>();
        private final CountDownLatch left;

        Result(int blocks) {
            left = new CountDownLatch(blocks);
        }

        @Override
        public void arrived(BlockRange block, FetchedBlock buffer) {
            arrived.put(block, buffer.memory().toArray(ValueLayout.JAVA_BYTE));
            buffer.release();
            left.countDown();
        }

        @Override
        public void unavailable(BlockRange block, String reason) {
            unavailable.put(block, reason);
            left.countDown();
        }

        void await() throws InterruptedException {
            assertTrue(left.await(60, TimeUnit.SECONDS), () -> arrived.size() + " and " + unavailable);
        }
    }

    /** A server, and a client that fetches from it. */
    private final class Pair implements AutoCloseable {
        final BlockServer server;
        final BlockClient client;

        Pair() {
            this(SETTINGS, SETTINGS);
        }

        Pair(TransferSettings ofServer, TransferSettings ofClient) {
            this(BlockTransferTest.this::locate, ofServer, ofClient, SECRET);
        }

        Pair(BlockFiles files, TransferSettings ofServer, TransferSettings ofClient, byte... secretOfClient) {
            server = BlockServer.start(ANY, files, ofServer, SECRET);
            try {
                client = BlockClient.start(ofClient, secretOfClient);
            } catch (RuntimeException e) {
                server.close();
                throw e;
            }
        }

        Result fetch(List<BlockRange> blocks) throws InterruptedException {
            Result result = new Result(blocks.size());
            client.fetch(server.address(), blocks, result);
            result.await();
            return result;
        }

        /** Fetches blocks, which must all arrive. */
        void assertAll(List<BlockRange> blocks) throws InterruptedException {
            Result result = fetch(blocks);
            assertEquals(Map.of(), result.unavailable);
            for (BlockRange each : blocks) {
                assertArrayEquals(contents.get(each), result.arrived.get(each), each::toString);
            }
        }

        /** Fetches blocks, of which none must arrive, for a reason. */
        void assertNone(List<BlockRange> blocks, String reason) throws InterruptedException {
            Result result = fetch(blocks);
            assertEquals(Map.of(), result.arrived);
            assertEquals(Set.copyOf(blocks), result.unavailable.keySet());
            result.unavailable.values().forEach(each -> assertTrue(each.contains(reason), each));
        }

        /** Leases end after their blocks have arrived; those before this one have ended when it is answered. */
        void awaitGivenBack() throws InterruptedException {
            assertNone(List.of(new BlockRange(99, 99, 0, 1)), "does not find it");
        }

        @Override
        public void close() {
            try (server) {
                client.close();
            }
        }
    }

    @Test
    void shouldReadBlocks() throws Exception {
        List<BlockRange> blocks = new ArrayList<>(write(1, 7, 1000, 0, 5_000_000, 1, 17));
        blocks.addAll(write(1, 8, 0, 0));
        blocks.addAll(write(2, 9, 100_000));
        try (Pair pair = new Pair()) {
            pair.assertAll(blocks);
            pair.assertAll(blocks);
            assertEquals(2, pair.server.registrations());
            assertEquals(1, pair.client.statistics().connections());
        }
    }

    @Test
    void shouldReadMoreBlocksThanAMessageNames() throws Exception {
        int[] sizes = new int[3 * Messages.MOST_BLOCKS + 5];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = i % 300;
        }
        List<BlockRange> blocks = write(1, 7, sizes);
        try (Pair pair = new Pair()) {
            pair.assertAll(blocks);
        }
    }

    @Test
    void shouldGoOnWhenAListenerFails() throws Exception {
        List<BlockRange> blocks = new ArrayList<>(write(1, 7, 1000, 2000, 3000));
        BlockRange missing = new BlockRange(1, 8, 0, 1);
        blocks.add(missing);
        // No more than the three of them fit.
        try (Pair pair = new Pair(SETTINGS, buffering(8192))) {
            for (int i = 0; i < 3; i++) {
                Result result = new Result(blocks.size()) {
                    @Override
                    public void arrived(BlockRange block, FetchedBlock buffer) {
                        super.arrived(block, buffer);
                        throw new IllegalStateException("a listener that fails on purpose");
                    }

                    @Override
                    public void unavailable(BlockRange block, String reason) {
                        super.unavailable(block, reason);
                        throw new IllegalStateException("a listener that fails on purpose");
                    }
                };
                pair.client.fetch(pair.server.address(), blocks, result);
                result.await();
                assertEquals(Set.of(missing), result.unavailable.keySet());
            }
            assertEquals(1, pair.client.statistics().connections());
        }
    }

    @Test
    void shouldTellOfTheOtherBlocksWhenThereIsNoMemoryForOne() throws Exception {
        List<BlockRange> blocks = write(1, 7, 1000, 2000, 3000);
        try (Pair pair = new Pair()) {
            Result result = new Result(blocks.size()) {
                @Override
                public void arrived(BlockRange block, FetchedBlock buffer) {
                    super.arrived(block, buffer);
                    if (block.equals(blocks.getFirst())) {
                        throw new OutOfMemoryError("on purpose");
                    }
                }
            };
            pair.client.fetch(pair.server.address(), blocks, result);
            result.await();
            assertEquals(Set.copyOf(blocks), result.arrived.keySet());
            pair.assertAll(blocks);
            assertEquals(1, pair.client.statistics().connections(), "the connection is shared by all fetches");
        }
    }

    private static TransferSettings settings(long pinned, long buffers, Duration fetch, Duration lease, Duration idle) {
        return new TransferSettings(pinned, buffers, Duration.ofSeconds(20), fetch, lease, idle);
    }

    private static TransferSettings buffering(long bytes) {
        return settings(1 << 20, bytes, SETTINGS.fetchTimeout(), SETTINGS.lease(), SETTINGS.idle());
    }

    private static TransferSettings pinning(long bytes) {
        return settings(bytes, 64 << 20, SETTINGS.fetchTimeout(), SETTINGS.lease(), SETTINGS.idle());
    }

    @Test
    void shouldSayWhatIsNotThere() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100, 200);
        List<BlockRange> all = new ArrayList<>(blocks);
        BlockRange missing = new BlockRange(1, 8, 0, 1);
        all.add(missing);
        try (Pair pair = new Pair()) {
            Result result = pair.fetch(all);
            assertEquals(Map.of(missing, "the server does not find it in a file"), result.unavailable);
            assertEquals(Set.copyOf(blocks), result.arrived.keySet());
        }
    }

    @Test
    void shouldSayThatAFileIsShorterThanItsIndexSays() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100);
        Path file = places.get(blocks.getFirst()).file();
        places.put(blocks.getFirst(), new BlockFiles.Location(file, 50, 51));
        try (Pair pair = new Pair()) {
            pair.assertNone(blocks, "does not find it");
        }
    }

    @Test
    void shouldLendNothingWithoutABudget() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100, 200);
        try (Pair pair = new Pair(pinning(0), SETTINGS)) {
            pair.assertNone(blocks, "no room in its budget");
            assertEquals(0, pair.server.pinnedBytes());
        }
    }

    @Test
    void shouldNotAskAgainAtOnceWhereThereIsNoRoom() throws Exception {
        List<BlockRange> lent = write(1, 6, 15_000);
        List<BlockRange> large = write(1, 7, 10_000);
        List<BlockRange> small = write(1, 8, 5_000);
        AtomicInteger asked = new AtomicInteger();
        CountDownLatch hasArrived = new CountDownLatch(1);
        CountDownLatch isRead = new CountDownLatch(1);
        // Its lease lasts until its listener returns.
        Result reading = new Result(lent.size()) {
            @Override
            public void arrived(BlockRange block, FetchedBlock buffer) {
                hasArrived.countDown();
                awaitLatch(isRead);
                super.arrived(block, buffer);
            }
        };
        try (Pair pair = new Pair(counting(asked), pinning(20_000), SETTINGS, SECRET);
                BlockClient reader = BlockClient.start(SETTINGS, SECRET)) {
            try {
                reader.fetch(pair.server.address(), lent, reading);
                assertTrue(hasArrived.await(60, TimeUnit.SECONDS), "the block that is to be lent has not arrived");
                asked.set(0);
                long start = System.nanoTime();
                int fetches = 100;
                for (int i = 0; i < fetches; i++) {
                    pair.assertNone(large, "room in its budget");
                }
                long pauses = (System.nanoTime() - start) / ServerLink.PAUSE_NANOS;
                assertTrue(asked.get() <= 1 + pauses, () -> asked + " questions in " + pauses + " pauses");
                // But later.
                while (pair.fetch(small).arrived.isEmpty()) {
                    assertTrue(System.nanoTime() - start < 60_000_000_000L, "it is not asked again");
                    Thread.sleep(10);
                }
                // What has arrived ends the pause.
                pair.assertNone(large, "the server has no room in its budget");
            } finally {
                isRead.countDown();
            }
            reading.await();
        }
        assertEquals(Set.copyOf(lent), reading.arrived.keySet());
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            assertTrue(latch.await(60, TimeUnit.SECONDS), "it was never let go");
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Counts how often the server is asked for a block. */
    private BlockFiles counting(AtomicInteger asked) {
        return block -> {
            asked.incrementAndGet();
            return locate(block);
        };
    }

    @Test
    void shouldReadOtherFilesWhereOneIsLargerThanTheBudget() throws Exception {
        List<BlockRange> large = write(1, 7, 10_000, 10_001);
        List<BlockRange> small = write(1, 8, 10_000);
        List<BlockRange> both = new ArrayList<>(large);
        both.addAll(small);
        try (Pair pair = new Pair(pinning(20_000), SETTINGS)) {
            pair.assertNone(large, "larger than the whole budget");
            // At once, and not after the pause that follows when there is no room.
            pair.assertAll(small);
            Result result = pair.fetch(both);
            assertEquals(Set.copyOf(small), result.arrived.keySet());
            assertEquals(Set.copyOf(large), result.unavailable.keySet());
            pair.assertAll(small);
        }
    }

    @Test
    void shouldNotAskAgainForAFileThatIsLargerThanTheBudget() throws Exception {
        List<BlockRange> large = write(1, 7, 10_000, 10_001, 10_002);
        AtomicInteger asked = new AtomicInteger();
        try (Pair pair = new Pair(counting(asked), pinning(20_000), SETTINGS, SECRET)) {
            pair.assertNone(large.subList(0, 1), "larger than the whole budget");
            pair.assertNone(large, "larger than the whole budget");
            pair.assertNone(large.subList(1, 3), "larger than the whole budget");
            assertEquals(1, asked.get(), "questions for one file");
        }
    }

    @Test
    void shouldMapFilesForReadingOnly() throws Exception {
        List<BlockRange> blocks = write(1, 7, 10_000);
        Path file = places.get(blocks.getFirst()).file();
        try (Pair pair = new Pair()) {
            pair.assertAll(blocks);
            List<String> mappings = Files.readAllLines(Path.of("/proc/self/maps")).stream()
                    .filter(each -> each.endsWith(file.toString()))
                    .toList();
            assertEquals(1, mappings.size(), mappings::toString);
            assertTrue(mappings.getFirst().contains(" r--s "), mappings::toString);
        }
    }

    @Test
    void shouldLetTheFileGoThatWasNotUsedForLongest() throws Exception {
        List<BlockRange> first = write(1, 7, 10_000);
        List<BlockRange> second = write(1, 8, 10_000);
        List<BlockRange> third = write(1, 9, 10_000);
        try (Pair pair = new Pair(pinning(20_000), SETTINGS)) {
            pair.assertAll(first);
            pair.assertAll(second);
            pair.assertAll(first);
            pair.awaitGivenBack();
            // Once the others were not used for some time.
            Bound bound = Bound.ofSeconds(60);
            while (pair.fetch(third).arrived.isEmpty()) {
                bound.check("no file goes");
                Thread.sleep(10);
            }
            assertEquals(1, pair.server.evictions());
            pair.assertAll(first);
            assertEquals(3, pair.server.registrations(), "the first one has stayed");
            assertTrue(pair.server.pinnedBytes() <= 20_000);
        }
    }

    @Test
    void shouldNotRegisterFilesAgainAndAgainThatThereIsNoRoomFor() throws Exception {
        int[] sizes = new int[40];
        Arrays.fill(sizes, 100);
        List<List<BlockRange>> files = new ArrayList<>();
        for (int map = 0; map < sizes.length; map++) {
            files.add(write(1, map, sizes));
        }
        int room = 2;
        long start = System.nanoTime();
        try (Pair pair = new Pair(pinning(room * 40L * 100), SETTINGS)) {
            int arrived = 0;
            for (int partition = 0; partition < sizes.length; partition++) {
                for (List<BlockRange> each : files) {
                    arrived += pair.fetch(List.of(each.get(partition))).arrived.size();
                }
            }
            assertTrue(arrived > 0, "nothing arrives");
            long rests = (System.nanoTime() - start) / BlockServer.REST.toNanos();
            assertTrue(
                    pair.server.registrations() <= room * (1 + rests),
                    () -> pair.server.registrations() + " registrations in " + rests + " times of rest");
        }
    }

    @Test
    void shouldReadWhatIsFarInASparseFile() throws Exception {
        Path file = folder.resolve("large.data");
        byte[] bytes = {1, 2, 3, 4, 5};
        long offset = 3L << 30;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(bytes), offset);
        }
        BlockRange block = new BlockRange(1, 7, 0, 1);
        places.put(block, new BlockFiles.Location(file, offset, bytes.length));
        contents.put(block, bytes);
        try (Pair pair = new Pair(pinning(4L << 30), SETTINGS)) {
            pair.assertAll(List.of(block));
            assertEquals(offset + bytes.length, pair.server.pinnedBytes());
        }
    }

    @Test
    void shouldSayThatThereIsNoBuffer() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100_000);
        try (Pair pair = new Pair(SETTINGS, buffering(4096))) {
            pair.assertNone(blocks, "no buffer left");
        }
    }

    @Test
    void shouldGiveBuffersBack() throws Exception {
        List<BlockRange> blocks = write(1, 7, 30_000, 30_000);
        try (Pair pair = new Pair(SETTINGS, buffering(65_536))) {
            for (int i = 0; i < 20; i++) {
                pair.assertAll(blocks);
            }
        }
    }

    @Test
    void shouldRefuseAClientThatDoesNotKnowTheSecret() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100);
        try (Pair pair = new Pair(this::locate, SETTINGS, SETTINGS, new byte[] {1, 2, 4})) {
            pair.assertNone(blocks, "rejected");
            assertEquals(0, pair.server.registrations());
        }
    }

    @Test
    void shouldSayThatNobodyIsThere() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100);
        try (Pair pair = new Pair()) {
            pair.server.close();
            pair.assertNone(blocks, "nobody listens");
            // At once, without another attempt.
            pair.assertNone(blocks, "nobody listens");
        }
    }

    @Test
    void shouldEndFetchesWithTheServer() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100);
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch closing = new CountDownLatch(1);
        BlockFiles slow = block -> {
            asked.countDown();
            try {
                closing.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            return locate(block);
        };
        try (BlockClient client = BlockClient.start(SETTINGS, SECRET)) {
            Result result = new Result(blocks.size());
            try (BlockServer server = BlockServer.start(ANY, slow, SETTINGS, SECRET)) {
                client.fetch(server.address(), blocks, result);
                assertTrue(asked.await(60, TimeUnit.SECONDS));
            }
            result.await();
            assertEquals(Set.copyOf(blocks), result.unavailable.keySet());
        }
    }

    @Test
    void shouldNotWaitForEverForAnAnswer() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100);
        CountDownLatch end = new CountDownLatch(1);
        BlockFiles stuck = block -> {
            try {
                end.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            return locate(block);
        };
        TransferSettings hasty = settings(1 << 20, 1 << 20, Duration.ofMillis(200), SETTINGS.lease(), SETTINGS.idle());
        try (Pair pair = new Pair(stuck, SETTINGS, hasty, SECRET)) {
            pair.assertNone(blocks, "has not answered in 200 ms");
            end.countDown();
        }
    }

    @Test
    void shouldEndFetchesWithTheClient() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100);
        try (Pair pair = new Pair()) {
            pair.client.close();
            pair.assertNone(blocks, "this process stops");
        }
    }

    @Test
    void shouldTellThatThereIsNoMemoryForBuffers() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100);
        try (Pair pair = new Pair(SETTINGS, buffering(1L << 46))) {
            pair.assertNone(blocks, "llocate");
        }
    }

    @Test
    void shouldKeepTheMemoryOfBlocksThatAreUsedWhenItCloses() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100_000, 200_000);
        List<FetchedBlock> kept = new ArrayList<>();
        Result result = new Result(blocks.size()) {
            @Override
            public void arrived(BlockRange block, FetchedBlock buffer) {
                buffer.retain();
                kept.add(buffer);
                super.arrived(block, buffer);
            }
        };
        try (BlockServer server = BlockServer.start(ANY, this::locate, SETTINGS, SECRET)) {
            try (BlockClient client = BlockClient.start(SETTINGS, SECRET)) {
                client.fetch(server.address(), blocks, result);
                result.await();
            }
            for (int i = 0; i < kept.size(); i++) {
                assertArrayEquals(
                        contents.get(blocks.get(i)), kept.get(i).memory().toArray(ValueLayout.JAVA_BYTE));
                assertTrue(kept.get(i).memory().scope().isAlive());
                kept.get(i).release();
            }
            for (FetchedBlock each : kept) {
                assertFalse(each.memory().scope().isAlive(), "the memory stays for ever");
            }
        }
    }

    @Test
    void shouldNotReadABlockThatIsTooLargeForABuffer() throws Exception {
        long bytes = (1L << 31) + 5;
        Path file = folder.resolve("shuffle_1_7.data");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(1), bytes + 4096);
        }
        BlockRange large = new BlockRange(1, 7, 0, 1);
        BlockRange small = new BlockRange(1, 7, 1, 2);
        places.put(large, new BlockFiles.Location(file, 0, bytes));
        places.put(small, new BlockFiles.Location(file, bytes, 4097));
        contents.put(small, new byte[4097]);
        TransferSettings roomy =
                settings(bytes * 2, SETTINGS.bufferBytes(), SETTINGS.fetchTimeout(), SETTINGS.lease(), SETTINGS.idle());
        try (Pair pair = new Pair(roomy, roomy)) {
            pair.assertNone(List.of(large), "it has " + bytes + " bytes");
            // Beyond 2 GiB in its file.
            pair.assertAll(List.of(small));
        }
    }

    @Test
    void shouldCloseAnIdleConnectionAndConnectAgain() throws Exception {
        List<BlockRange> blocks = write(1, 7, 100);
        TransferSettings restless =
                settings(1 << 20, 1 << 20, SETTINGS.fetchTimeout(), SETTINGS.lease(), Duration.ofMillis(1));
        try (Pair pair = new Pair(SETTINGS, restless)) {
            pair.assertAll(blocks);
            for (long end = System.nanoTime() + 60_000_000_000L; pair.server.clients() > 0; ) {
                assertTrue(System.nanoTime() < end, "the connection stays");
                Thread.sleep(10);
            }
            pair.assertAll(blocks);
            assertEquals(2, pair.client.statistics().connections());
        }
    }

    @Test
    void shouldLetAShuffleGo() throws Exception {
        List<BlockRange> gone = write(1, 7, 1000);
        List<BlockRange> kept = write(2, 8, 1000);
        try (Pair pair = new Pair()) {
            pair.assertAll(gone);
            pair.assertAll(kept);
            pair.server.forget(1, Duration.ofSeconds(60));
            assertEquals(1000, pair.server.pinnedBytes());
            Files.delete(places.remove(gone.getFirst()).file());
            pair.assertNone(gone, "does not find it");
            pair.assertAll(kept);
        }
    }
}
