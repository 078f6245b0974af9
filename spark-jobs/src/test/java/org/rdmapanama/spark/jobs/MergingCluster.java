package org.rdmapanama.spark.jobs;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.deploy.master.Master;
import org.apache.spark.deploy.worker.Worker;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.scheduler.ExternalClusterManager;
import org.apache.spark.scheduler.SchedulerBackend;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend;
import org.apache.spark.storage.BlockManagerId;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * A cluster of two executors in which map outputs are pushed to a shuffle service that merges them. Spark itself names such services
 * on YARN only. Executors have addresses of their own, because those of one host read each other's files when outputs are pushed.
 * Spark finds this class by its name in the resources of these tests.
 */
public final class MergingCluster implements ExternalClusterManager {
    static final String MASTER = "merging";
    static final int EXECUTORS = 2;

    private static final String DRIVER = "127.0.0.1";

    /** Where executors reach the service to push, and to read what is merged. */
    private static final String SERVICE = "127.0.0.2";

    private static final List<String> WORKERS = List.of("127.0.0.3", "127.0.0.4");

    /** By this name Spark knows that a place has merged blocks. */
    private static final String MERGER = "shuffle-push-merger";

    private static final int MEMORY = 1024;

    @Override
    public boolean canCreate(String master) {
        return master.equals(MASTER);
    }

    @Override
    public TaskScheduler createTaskScheduler(SparkContext context, String master) {
        return new TaskSchedulerImpl(context);
    }

    @Override
    public SchedulerBackend createSchedulerBackend(SparkContext context, String master, TaskScheduler scheduler) {
        // The service is part of the driver.
        SparkConf conf = context.conf()
                .clone()
                .set("spark.master.rest.enabled", "false")
                .set("spark.shuffle.service.enabled", "false");
        List<RpcEnv> members = new ArrayList<>();
        RpcEnv first = Master.startRpcEnvAndEndpoint(DRIVER, 0, 0, conf)._1();
        String[] masters = {"spark://" + DRIVER + ":" + first.address().port()};
        for (int i = 0; i < EXECUTORS; i++) {
            members.add(Worker.startRpcEnvAndEndpoint(
                    WORKERS.get(i), 0, 0, 1, MEMORY, masters, null, Option.apply(i), conf, Option.empty()));
        }
        members.add(first);
        int port = Integer.parseInt(conf.get("spark.shuffle.service.port"));
        StandaloneSchedulerBackend backend = new Backend((TaskSchedulerImpl) scheduler, context, masters, port);
        backend.shutdownCallback_$eq(ignored -> {
            members.forEach(RpcEnv::shutdown);
            members.forEach(RpcEnv::awaitTermination);
            return BoxedUnit.UNIT;
        });
        return backend;
    }

    @Override
    public void initialize(TaskScheduler scheduler, SchedulerBackend backend) {
        ((TaskSchedulerImpl) scheduler).initialize(backend);
    }

    /** Names the service, as YARN's does. */
    private static final class Backend extends StandaloneSchedulerBackend {
        private final Seq<BlockManagerId> services;

        Backend(TaskSchedulerImpl scheduler, SparkContext context, String[] masters, int port) {
            super(scheduler, context, masters);
            services = CollectionConverters.asScala(
                            List.of(BlockManagerId.apply(MERGER, SERVICE, port, Option.empty())))
                    .toList();
        }

        @Override
        public Seq<BlockManagerId> getShufflePushMergerLocations(int partitions, int profile) {
            return services;
        }
    }
}
