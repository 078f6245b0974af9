package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.rdmapanama.samples.Failure;

/**
 * The TCP connection between the two sides of a test: carries the parameters before it, the results after it, and signs
 * of life during it.
 *
 * <p>Every message has a header of 12 bytes in network byte order: the four bytes "RPpf", the version of this protocol
 * (16 bits), the type (16 bits), and the number of bytes that follow (32 bits). Each side says something twice a second,
 * also while it waits for the other. Threads: one. Interrupting it ends every wait.
 */
final class PerfLink implements AutoCloseable {
    static final short VERSION = 4;
    static final int HEAD = 12;

    private static final int MAGIC = 0x5250_7066;
    private static final int MAX_BODY = 1 << 20;
    private static final byte[] NOTHING = {};

    /** How often to send a sign of life. */
    private static final long HEARTBEAT_NANOS = 500_000_000L;

    /** The message types. */
    enum Type {
        /** The client's parameters of the test. */
        SETTINGS,
        /** The address of a side's memory and queue pairs. */
        PLACE,
        /** The sender is ready for the next size. */
        READY,
        /** The number of messages of the sender, and the time they took. */
        RESULT,
        /** What the sender found in its memory. */
        VERIFIED,
        /** The sender is still busy. */
        HEARTBEAT,
        /** The sender cannot go on; the text says why. */
        FAILED,
        /** Everything has been measured. */
        DONE,
    }

    private static final Type[] TYPES = Type.values();

    private final SocketChannel channel;
    private final Selector selector;
    private final Duration timeout;
    private final ByteBuffer heard = ByteBuffer.allocateDirect(HEAD + MAX_BODY).limit(0);
    private final ByteBuffer heartbeat = frame(Type.HEARTBEAT, NOTHING);
    private boolean gone;
    private long lastSaid = System.nanoTime();
    private long lastHeard = System.nanoTime();

    /** How long the peer may say nothing at all. */
    private Duration silence;

    /** Whether that counts as well while this side does not wait for a message. */
    private boolean limitsSilence;

    PerfLink(SocketChannel channel, Duration timeout) throws IOException {
        this.channel = channel;
        this.timeout = timeout;
        silence = timeout;
        channel.socket().setTcpNoDelay(true);
        channel.configureBlocking(false);
        selector = Selector.open();
        channel.register(selector, SelectionKey.OP_READ);
    }

    /**
     * Has {@link #look} fail, too, when the peer says nothing for a time, and {@link #receive} when it does for this time
     * instead of the timeout, if this is shorter.
     */
    void limitSilence(Duration limit) {
        if (limit.compareTo(timeout) < 0) {
            silence = limit;
        }
        limitsSilence = true;
        lastHeard = System.nanoTime();
    }

    /** Returns the peer's address, which determines which address of the device to use. */
    InetAddress peer() {
        return channel.socket().getInetAddress();
    }

    /** Returns the peer's address and port, for people to read. */
    String peerText() {
        return peer().getHostAddress() + ":" + channel.socket().getPort();
    }

    void send(Type type, byte[] body) throws IOException, InterruptedException {
        write(frame(type, body));
    }

    void send(Type type) throws IOException, InterruptedException {
        send(type, NOTHING);
    }

    private static ByteBuffer frame(Type type, byte[] body) {
        return ByteBuffer.allocateDirect(HEAD + body.length)
                .putInt(MAGIC)
                .putShort(VERSION)
                .putShort((short) type.ordinal())
                .putInt(body.length)
                .put(body)
                .flip();
    }

    private void write(ByteBuffer bytes) throws IOException, InterruptedException {
        try {
            long start = System.nanoTime();
            while (bytes.hasRemaining()) {
                if (channel.write(bytes) == 0) {
                    if (System.nanoTime() - start > timeout.toNanos()) {
                        throw new Failure("the peer received nothing for " + timeout.toSeconds() + " s");
                    }
                    fill(); // the peer may be blocked until we read what it sends
                    pause();
                }
            }
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            gone = true;
            // A message that the peer sent before it left says why.
            fill();
            failedFirst();
            throw hungUp(e);
        }
        lastSaid = System.nanoTime();
    }

    private static void pause() throws InterruptedException {
        Thread.sleep(1);
    }

    /** Tells the peer why this side ends; the peer may already be gone. */
    void sendFailure(String why) {
        try {
            send(Type.FAILED, why.getBytes(StandardCharsets.UTF_8));
        } catch (IOException | InterruptedException | Failure e) {
            // The peer then notices the end of the connection.
        }
    }

    /** Waits for a message of the given type. Within each timeout the peer must send one, if only that it is busy. */
    ByteBuffer receive(Type expected) throws IOException, InterruptedException {
        lastHeard = System.nanoTime();
        while (true) {
            fill();
            if (hasMessage()) {
                Type type = head();
                byte[] body = take();
                if (type == Type.FAILED) {
                    throw failed(body);
                }
                if (type != expected) {
                    throw new Failure("the peer sent " + type + " instead of " + expected
                            + ": both sides must run the same version of 'rdma perf'");
                }
                return ByteBuffer.wrap(body);
            }
            if (gone) {
                throw hungUp(null);
            }
            long now = System.nanoTime();
            long left = silence.toNanos() - (now - lastHeard);
            if (left <= 0) {
                throw silent();
            }
            sayIfDue(now);
            // An interrupt ends this wait as well, and its flag stays set.
            selector.select(Math.clamp(left / 1_000_000, 1, HEARTBEAT_NANOS / 1_000_000));
            selector.selectedKeys().clear();
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
        }
    }

    /** Call this during other work: notices a peer that is gone or failed, and sends signs of life. */
    void look(long now) throws IOException, InterruptedException {
        fill();
        failedFirst();
        if (gone && !hasMessage()) {
            throw hungUp(null);
        }
        if (limitsSilence && !gone && now - lastHeard > silence.toNanos()) {
            throw silent();
        }
        sayIfDue(now);
    }

    private void sayIfDue(long now) throws IOException, InterruptedException {
        if (now - lastSaid >= HEARTBEAT_NANOS) {
            write(heartbeat.rewind());
        }
    }

    private Failure silent() {
        return new Failure("the peer was silent for " + silence.toSeconds() + " s: see its output"
                + (silence.equals(timeout) ? ", or give a longer --timeout" : ""));
    }

    private void failedFirst() {
        if (hasMessage() && head() == Type.FAILED) {
            throw failed(take());
        }
    }

    /** Whether a complete message waits to be received, other than signs of life. Does not read new ones. */
    boolean hasMessage() {
        while (isComplete() && head() == Type.HEARTBEAT) {
            take();
        }
        return isComplete();
    }

    private boolean isComplete() {
        return heard.remaining() >= HEAD && head() != null && heard.remaining() >= HEAD + length();
    }

    private void fill() throws IOException {
        if (gone || heard.capacity() - heard.remaining() == 0) {
            return;
        }
        heard.compact();
        try {
            int count = channel.read(heard);
            if (count < 0) {
                gone = true;
            } else if (count > 0) {
                lastHeard = System.nanoTime();
            }
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            // Reset: all that matters is that the peer is gone.
            gone = true;
        } finally {
            heard.flip();
        }
    }

    /** Returns the type of the first message, which is checked as soon as its header has arrived. */
    private Type head() {
        int start = heard.position();
        short version = heard.getShort(start + 4);
        short type = heard.getShort(start + 6);
        if (heard.getInt(start) != MAGIC) {
            throw new Failure("the peer is not 'rdma perf': it speaks another protocol");
        }
        if (version != VERSION) {
            throw new Failure("the peer is an 'rdma perf' with protocol version " + version
                    + ", but this one has version " + VERSION + ": both sides must run the same version of 'rdma"
                    + " perf'");
        }
        if (type < 0 || type >= TYPES.length || length() < 0 || length() > MAX_BODY) {
            throw new Failure("the peer is not this version of 'rdma perf': it sent a malformed message");
        }
        return TYPES[type];
    }

    private int length() {
        return heard.getInt(heard.position() + 8);
    }

    private byte[] take() {
        byte[] body = new byte[length()];
        heard.position(heard.position() + HEAD);
        heard.get(body);
        return body;
    }

    private static Failure failed(byte[] why) {
        return new Failure("the peer failed: " + new String(why, StandardCharsets.UTF_8));
    }

    private static Failure hungUp(IOException cause) {
        return new Failure("the peer ended early: see its output", cause);
    }

    @Override
    public void close() throws IOException {
        try (selector) {
            channel.close();
        }
    }
}
