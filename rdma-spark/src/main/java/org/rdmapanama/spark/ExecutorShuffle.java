package org.rdmapanama.spark;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.spark.transfer.BlockClient;
import org.rdmapanama.spark.transfer.BlockFiles;
import org.rdmapanama.spark.transfer.BlockServer;
import org.rdmapanama.spark.transfer.IndexedFiles;
import org.rdmapanama.spark.transfer.TransferSettings;
import scala.Option;

/** What an executor has for its shuffles: a server for others, and a client. */
final class ExecutorShuffle implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(ExecutorShuffle.class);
    private static final Duration UNKNOWN = Duration.ofSeconds(2);

    /** An address that was asked for. */
    private record Answer(Optional<InetSocketAddress> address, long asked) {}

    private final ExecutorAddresses.Client driver;
    private final ShuffleCounters counters = new ShuffleCounters();
    private final Map<String, Answer> addresses = new ConcurrentHashMap<>();

    /** All null if there is no RDMA. */
    private final @Nullable BlockServer server;

    private final @Nullable BlockClient client;
    private final @Nullable BlockStoreClient blocks;

    private ExecutorShuffle(
            ExecutorAddresses.Client driver, @Nullable BlockServer server, @Nullable BlockClient client, SparkEnv env) {
        this.driver = driver;
        this.server = server;
        this.client = client;
        blocks = client == null
                ? null
                : new RdmaBlockClient(client, env.blockManager().blockStoreClient(), this::address, counters);
    }

    /**
     * Starts what an executor needs.
     *
     * @throws RuntimeException when there is no RDMA and the settings require it
     */
    static ExecutorShuffle start(SparkConf conf, SparkEnv env, IndexShuffleBlockResolver resolver) {
        RdmaShuffleConf settings = new RdmaShuffleConf(conf);
        TransferSettings transfer = settings.transfer();
        ExecutorAddresses.Client driver = new ExecutorAddresses.Client(conf, env.rpcEnv());
        Optional<String> forbidden = settings.forbidden();
        if (forbidden.isPresent()) {
            if (settings.isRequired()) {
                throw new IllegalStateException(RdmaShuffleConf.REQUIRED + " is set, and so is " + forbidden.get()
                        + ", but RDMA does not encrypt: set one of them only");
            }
            LOG.info("shuffles go by TCP, because {} is set, and RDMA does not encrypt", forbidden.get());
            return new ExecutorShuffle(driver, null, null, env);
        }
        BlockServer server = null;
        BlockClient client = null;
        try {
            byte[] secret = driver.secret();
            InetSocketAddress address =
                    settings.address(env.blockManager().blockManagerId().host());
            server = BlockServer.start(address, files(resolver), transfer, secret);
            client = BlockClient.start(transfer, secret);
            driver.listens(env.executorId(), server.address());
            ExecutorShuffle shuffle = new ExecutorShuffle(driver, server, client, env);
            env.metricsSystem().registerSource(new ShuffleSource(shuffle.counters, server, client));
            LOG.info("executor {} lends its shuffle files at {}", env.executorId(), server.address());
            return shuffle;
        } catch (RuntimeException | LinkageError e) {
            if (client != null) {
                client.close();
            }
            if (server != null) {
                server.close();
            }
            if (settings.isRequired()) {
                throw e;
            }
            LOG.warn("shuffles go by TCP: {}", e.getMessage());
            return new ExecutorShuffle(driver, null, null, env);
        }
    }

    private static BlockFiles files(IndexShuffleBlockResolver resolver) {
        return new IndexedFiles(new IndexedFiles.Outputs() {
            @Override
            public Path index(int shuffle, long map) {
                return resolver.getIndexFile(shuffle, map, Option.empty()).toPath();
            }

            @Override
            public Path data(int shuffle, long map) {
                return resolver.getDataFile(shuffle, map, Option.empty()).toPath();
            }
        });
    }

    /** Returns the client to read with; null if there is no RDMA. */
    @Nullable
    BlockStoreClient client() {
        return blocks;
    }

    /** Returns where another executor listens; empty if the driver does not know. */
    private Optional<InetSocketAddress> address(String executor) {
        Answer known = addresses.get(executor);
        long now = System.nanoTime();
        if (known == null || (known.address().isEmpty() && now - known.asked() > UNKNOWN.toNanos())) {
            Optional<InetSocketAddress> found = Optional.empty();
            try {
                found = driver.find(executor);
            } catch (RuntimeException e) {
                LOG.warn("the driver does not tell where executor {} listens: {}", executor, e.getMessage());
            }
            known = new Answer(found, now);
            addresses.put(executor, known);
        }
        return known.address();
    }

    void forget(int shuffle) {
        if (server != null) {
            try {
                server.forget(shuffle, Duration.ofSeconds(5));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public String toString() {
        return server != null
                ? "shuffle blocks of other executors: " + counters.rdmaBlocks() + " by RDMA with "
                        + counters.rdmaBytes()
                        + " bytes, " + counters.otherBlocks() + " otherwise with " + counters.otherBytes()
                        + " bytes; files registered " + server.registrations() + " times, " + server.evictions()
                        + " evicted"
                : "no RDMA";
    }

    @Override
    public void close() {
        if (client != null) {
            client.close();
        }
        if (server != null) {
            server.close();
        }
    }
}
