package org.rdmapanama.spark.jobs;

import java.time.Duration;
import org.apache.spark.SecurityManager;
import org.apache.spark.SecurityManager$;
import org.apache.spark.SparkConf;
import org.apache.spark.network.BlockDataManager;
import org.apache.spark.network.netty.NettyBlockTransferService;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializerManager;
import org.rdmapanama.spark.transfer.TransferSettings;
import scala.Option;

/** What the serving and the reading process have in common. */
final class ServingSettings {
    /** The default of spark.rdma.buffers. */
    private static final long BUFFER_BYTES = 256 << 20;

    /** Long enough for emulated machines. */
    private static final Duration LIMIT = Duration.ofMinutes(2);

    static final byte[] SECRET = {7};
    static final String EXECUTOR = "1";

    private ServingSettings() {}

    static TransferSettings transfer(long pinnedBytes) {
        return new TransferSettings(
                pinnedBytes, BUFFER_BYTES, LIMIT, LIMIT, LIMIT.multipliedBy(2), LIMIT.multipliedBy(2));
    }

    static SparkConf conf() {
        return new SparkConf(false)
                .set("spark.app.id", "serving")
                .set("spark.network.timeout", LIMIT.toSeconds() + "s");
    }

    /** Returns Spark's own way to exchange blocks, which serves those of a manager and fetches those of others. */
    static NettyBlockTransferService spark(String address, BlockDataManager blocks) {
        SparkConf conf = conf();
        SecurityManager security =
                new SecurityManager(conf, Option.empty(), SecurityManager$.MODULE$.$lessinit$greater$default$3());
        NettyBlockTransferService service = new NettyBlockTransferService(
                conf,
                security,
                new SerializerManager(new JavaSerializer(conf), conf),
                address,
                address,
                0,
                Runtime.getRuntime().availableProcessors(),
                null);
        service.init(blocks);
        return service;
    }
}
