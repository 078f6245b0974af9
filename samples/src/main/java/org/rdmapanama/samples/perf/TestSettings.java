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
 * All that both sides must know of a test. The client's user chooses it, and the server is told.
 *
 * @param kind which test
 * @param connection the transport service
 * @param size of a message in bytes; with {@code all} the largest
 * @param all whether to measure all powers of two from 2 to the size
 * @param iterations how many are measured for each size and queue pair; meaningless when there is a duration
 * @param seconds the duration of the measurement for each size, or 0
 * @param warmUp for so many seconds the first size runs before it is measured
 * @param txDepth how many may be posted and not completed, on each queue pair
 * @param rxDepth receives posted at a time, on each queue pair
 * @param queuePairs how many of them
 * @param postList how many are posted at once
 * @param moderation one of so many asks for a completion
 * @param inline messages up to this size are copied when they are posted
 * @param lessInline whether a device that cannot copy so much may copy less
 * @param events whether to sleep until something completes, instead of polling
 * @param bidirectional whether both sides send
 * @param outstanding reads and atomics in flight at most on a queue pair, 0 for the device's own limit
 * @param mtu the path MTU in bytes, 0 for the port's own
 * @param atomic which atomic operation
 * @param rate operations per second, 0 for as many as go
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

    /** Of one side. */
    private static final long MAX_MEMORY = 4L << 30;

    private static final long PAGE = 4096;

    /** A datagram's data comes behind so many bytes. */
    private static final long ROUTING_HEADER = 40;

    /** The sizes to measure, one after the other. */
    long[] sizes() {
        return all
                ? LongStream.iterate(2, each -> each <= size, each -> each * 2).toArray()
                : new long[] {size};
    }

    /** The same, as it runs before it is measured: for a time, and as fast as it goes. */
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

    /** How much memory a queue pair has for what it sends, and as much again for what it receives. */
    long stride() {
        return (size + ROUTING_HEADER + PAGE - 1) / PAGE * PAGE;
    }

    /** How much memory a side needs. */
    long memory() {
        return 2 * stride() * queuePairs;
    }

    /** Whether a side posts sends, writes, reads or atomics in a bandwidth test. */
    boolean isSource(boolean client) {
        return client || bidirectional;
    }

    /** Whether a side takes what the other sends, in a bandwidth test. */
    boolean isSink(boolean client) {
        return kind.operation == Operation.SEND && isSource(!client);
    }

    /** Whether latencies come out of it. */
    boolean hasLatencies() {
        return kind.latency || rate > 0;
    }

    /** What is wrong with it, in one line, or null. */
    String problem() {
        Operation operation = kind.operation;
        String test = kind.label();
        if (!connection.carries(operation)) {
            return connection + " has no " + operation + ": "
                    + (connection == Connection.UD
                            ? "it carries send-lat and send-bw"
                            : "it carries send and write; give -c RC");
        }
        if (size < 1 || size > MAX_SIZE) {
            return "--size must be between 1 byte and " + ByteSize.format(MAX_SIZE) + ", not " + ByteSize.format(size);
        }
        if (all && size < 2) {
            return "--all begins with 2 bytes: --size must not be less";
        }
        if (operation == Operation.ATOMIC && (all || size != ATOMIC_SIZE)) {
            return "atomics work on " + ATOMIC_SIZE + " bytes: leave out --size and --all";
        }
        if (operation.answers() && inline > 0) {
            return "--inline is for send and write: what " + test + " asks for comes from the other side";
        }
        if (kind == TestKind.WRITE_LAT && events) {
            return "write-lat watches the last byte of its memory, which no event tells: leave out --events";
        }
        String problem = kind.latency ? latencyProblem(test) : bandwidthProblem();
        if (problem == null && memory() > MAX_MEMORY) {
            problem = queuePairs + " queue pairs and " + ByteSize.format(size) + " need " + ByteSize.format(memory())
                    + " of memory, and " + ByteSize.format(MAX_MEMORY) + " is the limit: fewer, or smaller";
        }
        return problem == null ? rangeProblem() : problem;
    }

    private String latencyProblem(String test) {
        String option = queuePairs > 1
                ? "--qps"
                : postList > 1
                        ? "--post-list"
                        : bidirectional
                                ? "--bidirectional"
                                : txDepth > 1 ? "--tx-depth" : moderation > 1 ? "--cq-mod" : null;
        return option == null ? null : option + " is for bandwidth: " + test + " has one message under way at a time";
    }

    private String bandwidthProblem() {
        if (postList > 1 && rate > 0) {
            return "--rate and --post-list exclude each other: what is posted at once has no times of its own";
        }
        if (events && rate > 0) {
            return "--rate and --events exclude each other: who waits for the next time to send, polls";
        }
        if (moderation > 1 && rate > 0) {
            return "--rate and --cq-mod exclude each other: a completion for several tells the time of the last one only";
        }
        if (postList > txDepth) {
            return "--post-list " + postList + " does not fit into --tx-depth " + txDepth;
        }
        if (moderation > txDepth) {
            return "--cq-mod " + moderation + " does not fit into --tx-depth " + txDepth
                    + ": nothing would complete before the queue is full";
        }
        if (postList > 1 && postList % Math.max(1, moderation) != 0) {
            return "--post-list must be a multiple of --cq-mod, and " + postList + " is none of " + moderation;
        }
        if (postList > 1 && seconds == 0 && iterations % postList != 0) {
            return "--iters must be a multiple of --post-list, and " + iterations + " is none of " + postList;
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

    /** As it goes to the server. */
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

    /** What the client sent. */
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
                    "the client's parameters make no sense: both sides must be 'rdma perf' of one version", e);
        }
    }
}
