package org.rdmapanama.samples.stream;

import java.io.Closeable;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.function.Consumer;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.SingleProcessor;
import org.rdmapanama.samples.figures.LatencyRecord;

/** One end of a connection: runs tests on it. Threads: one. */
final class StreamEnd implements Closeable {
    /** Bytes with which both sides start a test together. */
    static final int GREETING = 16;

    private static final int MILLIS_TO_END = 2000;
    private static final String SAME_OPTIONS = "do both sides have the same options -I, -C, -S and -T?";

    private final SocketChannel channel;
    private final boolean first;
    private final Calls calls;
    private final ByteBuffer buffer;
    private final Counting counting;
    private final Selector selector;
    private final SelectionKey key;
    private final Consumer<SelectionKey> ready = each -> {};

    /**
     * Takes a connected channel, which closing this end closes.
     *
     * @param first whether this end sends first, as the client does
     * @param counting verifies the data; null if nobody does
     */
    StreamEnd(SocketChannel channel, boolean first, Calls calls, ByteBuffer buffer, Counting counting)
            throws IOException {
        this.channel = channel;
        this.first = first;
        this.calls = calls;
        this.buffer = buffer;
        this.counting = counting;
        channel.configureBlocking(calls == Calls.BLOCKING);
        selector = calls.selects() ? channel.provider().openSelector() : null;
        key = selector == null ? null : channel.register(selector, SelectionKey.OP_READ);
    }

    StreamResult run(StreamTest test) throws IOException, InterruptedException {
        turn(GREETING, 1);
        LatencyRecord latencies = test.isPingPong() ? new LatencyRecord(2) : null;
        long start = System.nanoTime();
        long last = start;
        for (int i = 0; i < test.iterations(); i++) {
            turn(test.size(), test.transfers());
            if (latencies != null) {
                long now = System.nanoTime();
                latencies.record(now - last);
                last = now;
            }
        }
        long nanos = Math.max(1, System.nanoTime() - start);
        if (latencies != null) {
            latencies.complete();
        }
        return new StreamResult(test, nanos, latencies);
    }

    private void turn(int size, int transfers) throws IOException, InterruptedException {
        for (int i = 0; i < transfers; i++) {
            transfer(size, first);
        }
        for (int i = 0; i < transfers; i++) {
            transfer(size, !first);
        }
    }

    private void transfer(int size, boolean sends) throws IOException, InterruptedException {
        buffer.limit(size).position(0);
        if (sends) {
            send(size);
        } else {
            receive(size);
        }
    }

    private void send(int size) throws IOException, InterruptedException {
        if (counting != null) {
            counting.fill(buffer, size);
        }
        channel.write(buffer);
        while (buffer.hasRemaining()) {
            await(SelectionKey.OP_WRITE);
            if (channel.write(buffer) == 0) {
                SingleProcessor.giveWay();
            }
        }
    }

    private void receive(int size) throws IOException, InterruptedException {
        while (buffer.hasRemaining()) {
            await(SelectionKey.OP_READ);
            int count = channel.read(buffer);
            if (count == 0) {
                SingleProcessor.giveWay();
            } else if (count < 0) {
                throw new Failure("the peer has ended the connection after " + buffer.position() + " of " + size
                        + " bytes: " + SAME_OPTIONS);
            }
        }
        if (counting != null) {
            counting.verify(buffer, size);
        }
    }

    /** Waits for an operation as this end waits: not at all unless it has a selector. */
    private void await(int operation) throws IOException, InterruptedException {
        if (selector != null) {
            if (key.interestOps() != operation) {
                key.interestOps(operation);
            }
            while (select() == 0) {
                checkInterrupt();
                SingleProcessor.giveWay();
            }
        }
        checkInterrupt();
    }

    private int select() throws IOException {
        return calls == Calls.SPINNING_SELECTOR ? selector.selectNow(ready) : selector.select(ready);
    }

    private static void checkInterrupt() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
    }

    /**
     * Waits until the peer has closed the connection, for a time. The side that sends last does this: rstream takes an end
     * that comes together with data for an error.
     *
     * @throws Failure if more data comes
     */
    void awaitEnd() throws IOException {
        if (selector != null) {
            selector.close();
        }
        channel.configureBlocking(true);
        channel.socket().setSoTimeout(MILLIS_TO_END);
        try {
            if (channel.socket().getInputStream().read() >= 0) {
                throw new Failure("the peer sends more than the tests have: " + SAME_OPTIONS);
            }
        } catch (SocketTimeoutException e) {
            // It may close later.
        }
    }

    @Override
    public void close() throws IOException {
        if (selector != null) {
            selector.close();
        }
        channel.close();
    }
}
