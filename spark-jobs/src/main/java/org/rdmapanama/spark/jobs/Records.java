package org.rdmapanama.spark.jobs;

import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** The records that jobs work on. They are the same in each run, and made where they are used. */
final class Records {
    /** The bytes of a record: a key of 8 and what the key gives. */
    static final int BYTES = 100;

    private static final int PIECE = 1 << 20;

    /** How keys are made of the numbers of records. */
    enum Keys {
        /** All different, in no order. */
        RANDOM,

        /** The numbers. */
        NUMBERS,

        /** Each of them has a hundred records. */
        GROUPS;

        private long of(long number, long records) {
            return switch (this) {
                case RANDOM -> Digest.mix(number);
                case NUMBERS -> number;
                case GROUPS -> number % Math.max(1, records / 100);
            };
        }
    }

    private Records() {}

    /**
     * Returns records.
     *
     * @param context where they are made
     * @param first the number of the first one
     * @param records how many there are
     * @param partitions in how many partitions
     * @param keys which keys they have
     */
    static JavaPairRDD<Long, byte[]> create(
            JavaSparkContext context, long first, long records, int partitions, Keys keys) {
        return context.parallelize(IntStream.range(0, partitions).boxed().toList(), partitions)
                .flatMapToPair(partition -> LongStream.range(
                                first + records * partition / partitions,
                                first + records * (partition + 1) / partitions)
                        .mapToObj(number -> new Tuple2<>(keys.of(number, records), bytes(number)))
                        .iterator());
    }

    /**
     * Returns the bytes of two map tasks behind a shuffle, in pieces of a MiB: one piece from each task for each partition, and all
     * others from the first task for the first partition.
     *
     * @param context where they are made
     * @param bytes how many there are in the first partition
     * @param partitions how many partitions there are behind the shuffle
     */
    static JavaPairRDD<Integer, byte[]> enormous(JavaSparkContext context, long bytes, int partitions) {
        long pieces = bytes / PIECE;
        return context.parallelize(List.of(0, 1), 2)
                .flatMapToPair(task -> LongStream.range(0, partitions + (task == 0 ? pieces : 0))
                        .mapToObj(number ->
                                new Tuple2<>((int) Math.max(0, number - pieces * (1 - task)), piece(number * 2 + task)))
                        .iterator())
                .partitionBy(new HashPartitioner(partitions));
    }

    private static byte[] piece(long number) {
        byte[] bytes = new byte[PIECE];
        new SplittableRandom(number).nextBytes(bytes);
        return bytes;
    }

    private static byte[] bytes(long number) {
        byte[] bytes = new byte[BYTES - Long.BYTES];
        new SplittableRandom(number).nextBytes(bytes);
        return bytes;
    }
}
