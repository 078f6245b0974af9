package org.rdmapanama.spark.jobs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.apache.spark.network.netty.NettyBlockTransferService;
import org.rdmapanama.spark.transfer.BlockServer;
import org.rdmapanama.spark.transfer.IndexedFiles;

/**
 * The process that has the files: serves them in both ways, and is asked by its standard input how much processor time it has
 * used, or to let the files go, which it then registers anew when they are asked for. It ends with its input.
 */
final class ServingProcess {
    static final String TIME = "time";
    static final String FORGET = "forget";
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private ServingProcess() {}

    /**
     * Serves.
     *
     * @param arguments address, folder, numbers of map tasks and partitions, and size of a block
     */
    public static void main(String... arguments) throws IOException, InterruptedException {
        int next = 0;
        String address = arguments[next++];
        ShuffleFiles files = new ShuffleFiles(
                Path.of(arguments[next++]),
                Integer.parseInt(arguments[next++]),
                Integer.parseInt(arguments[next++]),
                Integer.parseInt(arguments[next]));
        try (NettyBlockTransferService spark = ServingSettings.spark(address, new SparkBlocks(files));
                BlockServer rdma = BlockServer.start(
                        new InetSocketAddress(address, 0),
                        new IndexedFiles(files),
                        ServingSettings.transfer(files.bytes()),
                        ServingSettings.SECRET);
                BufferedReader questions =
                        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII))) {
            System.out.println(spark.port() + " " + rdma.address().getPort());
            for (String question = questions.readLine(); question != null; question = questions.readLine()) {
                if (question.equals(FORGET)) {
                    rdma.forget(ShuffleFiles.SHUFFLE, PATIENCE);
                }
                System.out.println(ProcessorTime.ofProcess());
            }
        }
    }
}
