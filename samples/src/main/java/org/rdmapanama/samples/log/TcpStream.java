package org.rdmapanama.samples.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Messages over TCP. Each has a header of {@value #HEADER} bytes: kind and length of the payload (4 bytes each), and two numbers
 * (8 bytes each), little endian. No call waits, except {@link #pause}.
 *
 * <p>Threads: one at a time; any may close it.
 */
final class TcpStream implements AutoCloseable {
    static final int HEADER = 24;

    /** No payload is longer: the records that one message carries, or one that is larger, and the mark of the end. */
    static final int MAX_LENGTH = CatchUp.CHUNK + LogFile.RECORD_HEADER + LogFile.END_MARK;

    private static final int MAGIC = 0x474C_0000;
    private static final long SPIN_NANOS = 100_000;
    private static final long PAUSE_NANOS = 50_000;
    private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0);

    /** What messages say. In brackets: the two numbers. */
    enum Kind {
        /** A primary asks to be followed; the payload is a greeting. */
        REQUEST,
        /** A replica agrees; the payload is a greeting. */
        ANSWER,
        /** A replica refuses (the term that it has promised). */
        REJECTION,
        /** Somebody wants a part of the other's file (offset, length). */
        READ,
        /** The part that was asked for (offset). */
        DATA,
        /** A primary tells a replica to catch up (where its log ends). */
        JOIN,
        /** A replica has caught up (the index of its last record). */
        JOINED,
        /** Records, if any, and the mark of the end (where they begin, the commit index). */
        RECORDS,
        /** A replica has records as the durability demands (the index of the last one). */
        STORED
    }

    private static final Kind[] KINDS = Kind.values();

    private final SocketChannel channel;
    private final String name;
    private final ByteBuffer in = ByteBuffer.allocateDirect(HEADER).order(ByteOrder.LITTLE_ENDIAN);
    private final ByteBuffer header =
            ByteBuffer.allocateDirect(HEADER).order(ByteOrder.LITTLE_ENDIAN).limit(0);
    private final ByteBuffer[] out = {header, NOTHING};
    private Kind kind;

    /** Whether the peer has ended the connection between two messages. */
    private boolean ended;

    /** When bytes have come or gone last. */
    private long lastProgress = System.nanoTime();

    /** The channel is connected, and does not block. */
    TcpStream(SocketChannel channel, String name) {
        this.channel = channel;
        this.name = name;
    }

    long lastProgress() {
        return lastProgress;
    }

    /** Returns whether the connection has not ended, as far as is known. */
    boolean isUp() {
        return !ended && channel.isOpen();
    }

    boolean isSending() {
        return header.hasRemaining() || out[1].hasRemaining();
    }

    /** Begins to send a message; the one before must be gone. The payload must not change until it is. */
    void send(Kind what, long first, long second, ByteBuffer payload) {
        if (isSending()) {
            throw new IllegalStateException("the message before to " + name + " is not gone");
        }
        header.clear()
                .putInt(MAGIC + what.ordinal())
                .putInt(payload.remaining())
                .putLong(first)
                .putLong(second)
                .flip();
        out[1] = payload;
        lastProgress = System.nanoTime();
        flush();
    }

    void send(Kind what, long first, long second) {
        send(what, first, second, NOTHING);
    }

    /** Sends what can be sent; returns whether that was anything. */
    boolean flush() {
        if (!isSending()) {
            return false;
        }
        try {
            return progress(channel.write(out) > 0);
        } catch (IOException e) {
            throw failed(e);
        }
    }

    private boolean progress(boolean any) {
        if (any) {
            lastProgress = System.nanoTime();
        }
        return any;
    }

    /** Returns whether the header of a message is there. It remains until {@link #done}. */
    boolean hasHeader() {
        if (!ended && in.hasRemaining() && read(in) && !in.hasRemaining()) {
            int code = in.getInt(0) - MAGIC;
            if (code < 0 || code >= KINDS.length) {
                throw new LogException(name + " sends what is not a message of a log over TCP");
            }
            kind = KINDS[code];
            if (length() < 0 || length() > MAX_LENGTH) {
                throw new LogException(
                        "a message of " + name + " has " + length() + " bytes, and must have 0 to " + MAX_LENGTH);
            }
        }
        return !in.hasRemaining();
    }

    /** Returns whether a part of a message has come, and the rest is missing. */
    boolean isTorn() {
        return in.position() > 0;
    }

    Kind kind() {
        return kind;
    }

    int length() {
        return in.getInt(4);
    }

    long first() {
        return in.getLong(8);
    }

    long second() {
        return in.getLong(16);
    }

    /** Checks the kind and the length of a message. */
    void expect(Kind expected, int length) {
        if (kind != expected || length() != length) {
            throw new LogException(name + " sends " + kind + " with " + length() + " bytes, and must send " + expected
                    + " with " + length);
        }
    }

    /** Reads what is there of a payload; returns whether that was anything. */
    boolean read(ByteBuffer payload) {
        try {
            int count = channel.read(payload);
            if (count < 0) {
                ended = true;
                if (isTorn()) {
                    throw new LogException(name + " has ended the connection in the middle of a message");
                }
            }
            return progress(count > 0);
        } catch (IOException e) {
            throw failed(e);
        }
    }

    /** Ends with a message: the next header may come. */
    void done() {
        in.clear();
    }

    private LogException failed(IOException e) {
        return new LogException("the connection to " + name + " has failed: " + e.getMessage(), e);
    }

    /** Lets time pass between two looks at the stream, less at first. */
    void pause(long start, Duration timeout) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long waited = System.nanoTime() - start;
        if (waited > timeout.toNanos()) {
            throw new LogException("no answer from " + name + " in " + timeout.toMillis()
                    + " ms: see whether it runs, and what it prints");
        }
        if (ended) {
            throw new LogException(name + " has ended the connection");
        }
        if (waited < SPIN_NANOS) {
            Waits.letOthersRun();
        } else {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw failed(e);
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
