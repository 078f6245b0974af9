package org.rdmapanama.spark.jobs;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.ExternalShuffleService;
import org.apache.spark.network.shuffle.ExternalBlockHandler;
import org.apache.spark.network.shuffle.RemoteBlockPushResolver;
import org.apache.spark.network.util.TransportConf;

/** Spark's external shuffle service, with that part of it which merges what is pushed, and which else only YARN's has. */
final class MergingService extends ExternalShuffleService {
    MergingService(SparkConf conf, SecurityManager security) {
        super(conf, security);
    }

    /** The constructor above calls this. */
    @Override
    public ExternalBlockHandler newShuffleBlockHandler(TransportConf conf) {
        try {
            return new ExternalBlockHandler(conf, null, new RemoteBlockPushResolver(conf, null));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
