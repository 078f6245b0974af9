package org.rdmapanama.spark;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.ExternalBlockStoreClient;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.spark.transfer.BlockClient;
import org.rdmapanama.spark.transfer.BlockFiles;
import org.rdmapanama.spark.transfer.BlockServer;
import org.rdmapanama.spark.transfer.TransferSettings;

/** The client of a task, beside one of Spark's, on soft0. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RdmaBlockClientTest {
    private static final InetSocketAddress ANY = new InetSocketAddress("127.0.0.1", 0);
    private static final byte[] SECRET = {1};
    private static final byte[] CONTENT = {5, 6, 7, 8};

    @TempDir
    private Path folder;

    /** Keeps what comes of a fetch. */
    private static final class Result implements BlockFetchingListener {
        private final Map<String, byte[]> arrived = new ConcurrentHashMap<>();
        private final Map<String, Throwable> failed = new ConcurrentHashMap<>();
        private final CountDownLatch left;

        Result(int blocks) {
            left = new CountDownLatch(blocks);
        }

        @Override
        public void onBlockFetchSuccess(String block, ManagedBuffer buffer) {
            try {
                ByteBuffer bytes = buffer.nioByteBuffer();
                byte[] copy = new byte[bytes.remaining()];
                bytes.get(copy);
                arrived.put(block, copy);
            } catch (IOException e) {
                failed.put(block, e);
            }
            left.countDown();
        }

        @Override
        public void onBlockFetchFailure(String block, Throwable failure) {
            failed.put(block, failure);
            left.countDown();
        }

        void await() throws InterruptedException {
            assertTrue(left.await(60, TimeUnit.SECONDS), () -> arrived.keySet() + " and " + failed);
        }
    }

    private static TransferSettings pinning(long bytes) {
        return new TransferSettings(
                bytes,
                1 << 20,
                Duration.ofSeconds(20),
                Duration.ofSeconds(20),
                Duration.ofSeconds(60),
                Duration.ofSeconds(60));
    }

    /** One of Spark's clients, with a connection timeout that is longer than this test waits. */
    private static ExternalBlockStoreClient sparks() {
        TransportConf conf = new TransportConf(
                "shuffle",
                new MapConfigProvider(Map.of(
                        "spark.shuffle.io.connectionCreationTimeout",
                        "100s",
                        "spark.shuffle.io.connectionTimeout",
                        "100s",
                        "spark.shuffle.io.maxRetries",
                        "0")));
        ExternalBlockStoreClient client = new ExternalBlockStoreClient(conf, null, false, 1000);
        client.init("application");
        return client;
    }

    @Test
    void shouldReadOthersBlocksWhileSparksClientConnects() throws Exception {
        Path file = Files.write(folder.resolve("blocks"), CONTENT);
        BlockFiles files = block -> new BlockFiles.Location(file, 0, CONTENT.length);
        List<SocketChannel> waiting = new ArrayList<>();
        // A queue of connections that is full, so that connecting takes for ever.
        try (ServerSocket full = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                BlockServer poor = BlockServer.start(ANY, files, pinning(0), SECRET);
                BlockServer rich = BlockServer.start(ANY, files, pinning(1 << 20), SECRET);
                BlockClient client = BlockClient.start(pinning(0), SECRET);
                ExternalBlockStoreClient sparks = sparks()) {
            for (int i = 0; i < 8; i++) {
                SocketChannel next = SocketChannel.open();
                next.configureBlocking(false);
                next.connect(full.getLocalSocketAddress());
                waiting.add(next);
            }
            ShuffleCounters counters = new ShuffleCounters();
            RdmaBlockClient blocks = new RdmaBlockClient(
                    client,
                    sparks,
                    executor -> Optional.of(executor.equals("poor") ? poor.address() : rich.address()),
                    counters);
            Result stuck = new Result(1);
            blocks.fetchBlocks("127.0.0.1", full.getLocalPort(), "poor", new String[] {"shuffle_1_7_0"}, stuck, null);
            while (counters.otherBlocks() == 0) {
                Thread.sleep(10);
            }
            Result other = new Result(2);
            blocks.fetchBlocks(
                    "127.0.0.1",
                    full.getLocalPort(),
                    "rich",
                    new String[] {"shuffle_1_8_0", "shuffle_1_9_0_3"},
                    other,
                    null);
            other.await();
            assertEquals(Map.of(), other.failed);
            assertEquals(Map.of(), stuck.arrived);
            assertEquals(2, counters.rdmaBlocks());
            assertEquals(2L * CONTENT.length, counters.rdmaBytes());
            assertEquals(1, counters.otherBlocks());
            for (SocketChannel each : waiting) {
                each.close();
            }
        }
    }

    @Test
    void shouldTellOfBlocksThatSparksClientCannotAskFor() throws Exception {
        Path file = Files.write(folder.resolve("blocks"), CONTENT);
        BlockFiles files = block -> new BlockFiles.Location(file, 0, CONTENT.length);
        int nobody;
        try (ServerSocket closed = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            nobody = closed.getLocalPort();
        }
        try (BlockServer poor = BlockServer.start(ANY, files, pinning(0), SECRET);
                BlockClient client = BlockClient.start(pinning(0), SECRET);
                ExternalBlockStoreClient sparks = sparks()) {
            ShuffleCounters counters = new ShuffleCounters();
            RdmaBlockClient blocks =
                    new RdmaBlockClient(client, sparks, executor -> Optional.of(poor.address()), counters);
            Result result = new Result(2);
            String[] ids = {"shuffle_1_7_0", "shuffle_1_7_1"};
            blocks.fetchBlocks("127.0.0.1", nobody, "poor", ids, result, null);
            result.await();
            assertEquals(2, result.failed.size());
            // A block twice, which must not be told of once only.
            Result twice = new Result(2);
            blocks.fetchBlocks(
                    "127.0.0.1", nobody, "poor", new String[] {"shuffle_1_7_0", "shuffle_1_7_0_1"}, twice, null);
            twice.await();
            assertEquals(2, twice.failed.size());
            assertEquals(4, counters.otherBlocks());
            assertEquals(0, counters.otherBytes());
        }
    }

    @Test
    void shouldTellOfABlockThatATaskHasNoMemoryFor() throws Exception {
        Path file = Files.write(folder.resolve("blocks"), CONTENT);
        BlockFiles files = block -> new BlockFiles.Location(file, 0, CONTENT.length);
        try (BlockServer server = BlockServer.start(ANY, files, pinning(1 << 20), SECRET);
                BlockClient client = BlockClient.start(pinning(0), SECRET);
                Names sparks = new Names()) {
            RdmaBlockClient blocks = new RdmaBlockClient(
                    client, sparks, executor -> Optional.of(server.address()), new ShuffleCounters());
            Result result = new Result(2);
            BlockFetchingListener poor = new BlockFetchingListener() {
                @Override
                public void onBlockFetchSuccess(String block, ManagedBuffer buffer) {
                    if (block.equals("shuffle_1_7_0")) {
                        throw new OutOfMemoryError("on purpose");
                    }
                    result.onBlockFetchSuccess(block, buffer);
                }

                @Override
                public void onBlockFetchFailure(String block, Throwable failure) {
                    result.onBlockFetchFailure(block, failure);
                }
            };
            String[] ids = {"shuffle_1_7_0", "shuffle_1_8_0"};
            blocks.fetchBlocks("127.0.0.1", 1, "other", ids, poor, null);
            result.await();
            assertEquals(List.of("shuffle_1_7_0"), List.copyOf(result.failed.keySet()));
            assertEquals(List.of("shuffle_1_8_0"), List.copyOf(result.arrived.keySet()));
            // It might come twice.
            assertEquals(List.of(), sparks.asked);
        }
    }

    /** In place of Spark's client: every block has its name as its bytes. */
    private static final class Names extends BlockStoreClient {
        private final List<List<String>> asked = new ArrayList<>();

        @Override
        public synchronized void fetchBlocks(
                String host,
                int port,
                String executor,
                String[] ids,
                BlockFetchingListener listener,
                DownloadFileManager files) {
            asked.add(List.of(ids));
            for (String each : ids) {
                listener.onBlockFetchSuccess(each, new NioManagedBuffer(ByteBuffer.wrap(each.getBytes(UTF_8))));
            }
        }

        @Override
        public void close() {}
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "shuffleChunk_1_0_3_2",
                "shuffleMerged_1_0_3",
                "shufflePush_1_0_7_3",
                "broadcast_3",
                "rdd_1_2",
                "what Spark does not know"
            })
    void shouldGiveToSparksClientWhatIsNoBlockOfAMapOutput(String name) throws Exception {
        Path file = Files.write(folder.resolve("blocks"), CONTENT);
        BlockFiles files = block -> new BlockFiles.Location(file, 0, CONTENT.length);
        try (BlockServer server = BlockServer.start(ANY, files, pinning(1 << 20), SECRET);
                BlockClient client = BlockClient.start(pinning(0), SECRET);
                Names sparks = new Names()) {
            ShuffleCounters counters = new ShuffleCounters();
            RdmaBlockClient blocks =
                    new RdmaBlockClient(client, sparks, executor -> Optional.of(server.address()), counters);
            Result mixed = new Result(4);
            String[] ids = {"shuffle_1_7_0", name, "shuffle_1_8_0_3", "shuffle_1_7_0"};
            blocks.fetchBlocks("127.0.0.1", 1, "other", ids, mixed, null);
            mixed.await();
            assertEquals(Map.of(), mixed.failed);
            assertEquals(name, new String(mixed.arrived.get(name), UTF_8));
            assertArrayEquals(CONTENT, mixed.arrived.get("shuffle_1_8_0_3"));
            // What is named twice comes in each of the two ways.
            assertEquals(List.of(List.of(name, "shuffle_1_7_0")), sparks.asked);
            assertEquals(2, counters.rdmaBlocks());
            assertEquals(2, counters.otherBlocks());
            Result alone = new Result(1);
            blocks.fetchBlocks("127.0.0.1", 1, "other", new String[] {name}, alone, null);
            alone.await();
            assertEquals(List.of(name), sparks.asked.getLast());
            assertEquals(2, counters.rdmaBlocks());
        }
    }
}
