package org.rdmapanama.samples.perf;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.stream.LongStream;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.Failure;

/**
 * Everything that both sides must know about a test. The client's user chooses it, and the client sends it to the
 * server.
 *
 * @param kind the test
 * @param connection the transport service
 * @param size message size in bytes; with {@code all} the largest
 * @param all whether to measure all powers of two from 2 to the size
 * @param iterations number of messages measured per size and queue pair; ignored if there is a duration
 * @param seconds the duration of the measurement for each size, or 0
 * @param warmUp how long the first size runs before it is measured, in seconds
 * @param txDepth maximum number of messages in flight on each queue pair
 * @param rxDepth number of receives posted at a time on each queue pair
 * @param queuePairs number of queue pairs
 * @param postList number of messages posted at once
 * @param moderation one of this number of messages requests a completion
 * @param inline messages up to this size are copied when they are posted, in bytes
 * @param lessInline whether a device that cannot copy that much may copy less
 * @param events whether to sleep until a completion event, instead of polling
 * @param bidirectional whether both sides send
 * @param outstanding maximum number of reads and atomics in flight on a queue pair, 0 for the device's limit
 * @param mtu the path MTU in bytes, 0 for that of the port
 * @param atomic the atomic operation
 * @param rate operations per second, 0 for no limit
 */
record TestSettings(
        TestKind kind,
        Connection connection,
        long size,
        boolean all,
        long iterations,
        int seconds,
        int warmUp,
        int txDepth,
        int rxDepth,
        int queuePairs,
        int postList,
        int moderation,
        int inline,
        boolean lessInline,
        boolean events,
        boolean bidirectional,
        int outstanding,
        int mtu,
        AtomicKind atomic,
        int rate) {
    /** The largest message that {@code --all} tries, as perftest does. */
    static final long MAX_OF_ALL = 8 << 20;

    static final long MAX_SIZE = 1 << 30;
    static final long MAX_ITERATIONS = 1_000_000_000;
    static final int MAX_DEPTH = 1 << 15;
    static final int MAX_QUEUE_PAIRS = 1 << 12;
    static final int MAX_INLINE = 1 << 12;
    static final int MAX_RATE = 100_000_000;
    static final int MAX_SECONDS = 1_000_000;
    static final long ATOMIC_SIZE = Long.BYTES;

    /** The most memory that one side may use, in bytes. */
    private static final long MAX_MEMORY = 4L << 30;

    private static final long PAGE = 4096;

    /** Number of bytes that precede the data of a datagram. */
    private static final long ROUTING_HEADER = 40;

    /** Returns the sizes to measure, in order. */
    long[] sizes() {
        return all
                ? LongStream.iterate(2, each -> each <= size, each -> each * 2).toArray()
                : new long[] {size};
    }

    /** Returns the settings for the warm-up: it runs for a time, and without a rate limit. */
    TestSettings warmingUp() {
        return new TestSettings(
                kind,
                connection,
                size,
                all,
                iterations,
                warmUp,
                0,
                txDepth,
                rxDepth,
                queuePairs,
                postList,
                moderation,
                inline,
                lessInline,
                events,
                bidirectional,
                outstanding,
                mtu,
                atomic,
                0);
    }

    /** Returns the size of a queue pair's send buffer, which is also that of its receive buffer. */
    long stride() {
        return (size + ROUTING_HEADER + PAGE - 1) / PAGE * PAGE;
    }

    /** Returns the memory that a side needs, in bytes. */
    long memory() {
        return 2 * stride() * queuePairs;
    }

    /** Whether a side posts sends, writes, reads or atomics in a bandwidth test. */
    boolean isSource(boolean client) {
        return client || bidirectional;
    }

    /** Whether a side receives messages in a bandwidth test. */
    boolean isSink(boolean client) {
        return kind.operation == Operation.SEND && isSource(!client);
    }

    /** Whether the test measures latencies. */
    boolean hasLatencies() {
        return kind.latency || rate > 0;
    }

    /** Returns what is wrong with the settings, in one line, or null. */
    String problem() {
        Operation operation = kind.operation;
        String test = kind.label();
        if (!connection.carries(operation)) {
            return connection + " does not support " + operation + ": " + connection.carried();
        }
        if (size < 1 || size > MAX_SIZE) {
            return "--size must be between 1 byte and " + ByteSize.format(MAX_SIZE) + ", not " + ByteSize.format(size);
        }
        if (all && size < 2) {
            return "--all starts at 2 bytes: --size must not be less";
        }
        if (operation == Operation.ATOMIC && (all || size != ATOMIC_SIZE)) {
            return "atomics always use " + ATOMIC_SIZE + " bytes: leave out --size and --all";
        }
        if (operation.answers() && inline > 0) {
            return "--inline is for send and write: " + test + " gets its data from the other side";
        }
        if (kind == TestKind.WRITE_LAT && events) {
            return "write-lat polls the last byte of its memory, for which there is no event: leave out --events";
        }
        if (connection == Connection.SRD && srdProblem() != null) {
            return srdProblem();
        }
        String problem = kind.latency ? latencyProblem(test) : bandwidthProblem();
        if (problem == null && memory() > MAX_MEMORY) {
            problem = queuePairs + " queue pairs and " + ByteSize.format(size) + " need " + ByteSize.format(memory())
                    + " of memory, but the limit is " + ByteSize.format(MAX_MEMORY) + ": reduce --qps or --size";
        }
        return problem == null ? rangeProblem() : problem;
    }

    private String srdProblem() {
        if (kind == TestKind.WRITE_LAT) {
            return "write-lat polls the last byte of its memory, which SRD may write before the others: use write-bw or"
                    + " send-lat";
        }
        if (inline > 0 && kind.operation != Operation.SEND) {
            return "--inline is for send over SRD";
        }
        if (moderation > 1) {
            return "--cq-mod is not for SRD: each of its messages has a completion";
        }
        return outstanding > 0 ? "--outs is not for SRD, which has no such limit" : null;
    }

    private String latencyProblem(String test) {
        String option = queuePairs > 1
                ? "--qps"
                : postList > 1
                        ? "--post-list"
                        : bidirectional
                                ? "--bidirectional"
                                : txDepth > 1 ? "--tx-depth" : moderation > 1 ? "--cq-mod" : null;
        return option == null ? null : option + " is for bandwidth: " + test + " has one message in flight at a time";
    }

    private String bandwidthProblem() {
        if (postList > 1 && rate > 0) {
            return "--rate and --post-list exclude each other: messages posted at once are all due at once";
        }
        if (events && rate > 0) {
            return "--rate and --events exclude each other: waiting for the next due time requires polling";
        }
        if (moderation > 1 && rate > 0) {
            return "--rate and --cq-mod exclude each other: a shared completion only tells when its last message"
                    + " completed";
        }
        if (postList > txDepth) {
            return "--post-list " + postList + " must not exceed --tx-depth " + txDepth;
        }
        if (moderation > txDepth) {
            return "--cq-mod " + moderation + " must not exceed --tx-depth " + txDepth
                    + ": no message would complete before the queue is full";
        }
        if (postList > 1 && postList % Math.max(1, moderation) != 0) {
            return "--post-list must be a multiple of --cq-mod: " + postList + " is not a multiple of " + moderation;
        }
        if (postList > 1 && seconds == 0 && iterations % postList != 0) {
            return "--iters must be a multiple of --post-list: " + iterations + " is not a multiple of " + postList;
        }
        return null;
    }

    private String rangeProblem() {
        String problem = outside("--iters", iterations, 1, MAX_ITERATIONS);
        problem = problem != null ? problem : outside("--duration", seconds, 0, MAX_SECONDS);
        problem = problem != null ? problem : outside("--warmup", warmUp, 0, MAX_SECONDS);
        problem = problem != null ? problem : outside("--tx-depth", txDepth, 1, MAX_DEPTH);
        problem = problem != null ? problem : outside("--rx-depth", rxDepth, 1, MAX_DEPTH);
        problem = problem != null ? problem : outside("--qps", queuePairs, 1, MAX_QUEUE_PAIRS);
        problem = problem != null ? problem : outside("--post-list", postList, 1, MAX_DEPTH);
        problem = problem != null ? problem : outside("--cq-mod", moderation, 1, MAX_DEPTH);
        problem = problem != null ? problem : outside("--inline", inline, 0, MAX_INLINE);
        problem = problem != null ? problem : outside("--outs", outstanding, 0, 255);
        return problem != null ? problem : outside("--rate", rate, 0, MAX_RATE);
    }

    private static String outside(String option, long value, long min, long max) {
        return value >= min && value <= max
                ? null
                : option + " must be between " + min + " and " + max + ", not " + value;
    }

    /** Encodes the settings for the server. */
    byte[] toBytes() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(kind.name());
            out.writeUTF(connection.name());
            out.writeLong(size);
            out.writeBoolean(all);
            out.writeLong(iterations);
            out.writeInt(seconds);
            out.writeInt(warmUp);
            out.writeInt(txDepth);
            out.writeInt(rxDepth);
            out.writeInt(queuePairs);
            out.writeInt(postList);
            out.writeInt(moderation);
            out.writeInt(inline);
            out.writeBoolean(lessInline);
            out.writeBoolean(events);
            out.writeBoolean(bidirectional);
            out.writeInt(outstanding);
            out.writeInt(mtu);
            out.writeUTF(atomic.name());
            out.writeInt(rate);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /** Decodes the settings that a client sent. */
    static TestSettings of(byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            return new TestSettings(
                    TestKind.valueOf(in.readUTF()),
                    Connection.valueOf(in.readUTF()),
                    in.readLong(),
                    in.readBoolean(),
                    in.readLong(),
                    in.readInt(),
                    in.readInt(),
                    in.readInt(),
                    in.readInt(),
                    in.readInt(),
                    in.readInt(),
                    in.readInt(),
                    in.readInt(),
                    in.readBoolean(),
                    in.readBoolean(),
                    in.readBoolean(),
                    in.readInt(),
                    in.readInt(),
                    AtomicKind.valueOf(in.readUTF()),
                    in.readInt());
        } catch (IOException | IllegalArgumentException e) {
            throw new Failure(
                    "the client's parameters are malformed: both sides must run the same version of 'rdma perf'", e);
        }
    }
}
