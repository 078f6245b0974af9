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
 * The TCP connection of the two sides of a test: what they agree on before, what each found out after, and whether the
 * other is still there meanwhile.
 *
 * <p>Every message has a head of 12 bytes in network order: the four bytes "RPpf", the version of this protocol (16
 * bits), its type (16 bits), and how many bytes follow. Threads: one. Interrupting it ends every wait.
 */
final class PerfLink implements AutoCloseable {
    static final short VERSION = 3;
    static final int HEAD = 12;

    private static final int MAGIC = 0x5250_7066;
    private static final int MAX_BODY = 1 << 20;
    private static final byte[] NOTHING = {};

    /** How often to say that this side is still there. */
    private static final long HEARTBEAT_NANOS = 500_000_000L;

    /** The words of the protocol. */
    enum Type {
        /** The client says what to measure. */
        SETTINGS,
        /** Where a side's memory and queue pairs are. */
        PLACE,
        /** This side is ready for the next size. */
        READY,
        /** How much it did, and how long that took. */
        RESULT,
        /** What it found in its memory. */
        VERIFIED,
        /** It is still busy. */
        HEARTBEAT,
        /** It cannot go on, and the text says why. */
        FAILED,
        /** All is measured. */
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

    PerfLink(SocketChannel channel, Duration timeout) throws IOException {
        this.channel = channel;
        this.timeout = timeout;
        channel.socket().setTcpNoDelay(true);
        channel.configureBlocking(false);
        selector = Selector.open();
        channel.register(selector, SelectionKey.OP_READ);
    }

    /** Where the peer is: what chooses the address of a device. */
    InetAddress peer() {
        return channel.socket().getInetAddress();
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
                        throw new Failure("the peer took nothing for " + timeout.toSeconds() + " s");
                    }
                    fill(); // it may have to get rid of something itself
                    pause();
                }
            }
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            gone = true;
            // What it said before it went says why.
            fill();
            failedFirst();
            throw hungUp(e);
        }
        lastSaid = System.nanoTime();
    }

    private static void pause() throws InterruptedException {
        Thread.sleep(1);
    }

    /** Says why this side ends; the peer may be gone already. */
    void sendFailure(String why) {
        try {
            send(Type.FAILED, why.getBytes(StandardCharsets.UTF_8));
        } catch (IOException | InterruptedException | Failure e) {
            // Then it knows from the connection's end.
        }
    }

    /** Waits for the one message that is due; the peer must say something, if only that it is busy, within the timeout. */
    ByteBuffer receive(Type expected) throws IOException, InterruptedException {
        lastHeard = System.nanoTime();
        while (true) {
            fill();
            skipHeartbeats();
            if (hasMessage()) {
                Type type = head();
                byte[] body = take();
                if (type == Type.FAILED) {
                    throw failed(body);
                }
                if (type != expected) {
                    throw new Failure("the peer said " + type + " where " + expected
                            + " was due: both sides must be 'rdma perf' of one version");
                }
                return ByteBuffer.wrap(body);
            }
            if (gone) {
                throw hungUp(null);
            }
            long left = timeout.toNanos() - (System.nanoTime() - lastHeard);
            if (left <= 0) {
                throw new Failure("the peer said nothing for " + timeout.toSeconds()
                        + " s: see what it printed, or wait longer with --timeout");
            }
            // Woken by an interrupt as well, whose flag stays.
            selector.select(Math.clamp(left / 1_000_000, 1, 1000));
            selector.selectedKeys().clear();
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
        }
    }

    /** While something else is being done: notices a peer that is gone or failed, and says that this side is there. */
    void look(long now) throws IOException, InterruptedException {
        fill();
        skipHeartbeats();
        failedFirst();
        if (gone && !hasMessage()) {
            throw hungUp(null);
        }
        if (now - lastSaid > HEARTBEAT_NANOS) {
            write(heartbeat.rewind());
        }
    }

    private void failedFirst() {
        if (hasMessage() && head() == Type.FAILED) {
            throw failed(take());
        }
    }

    /** Whether a whole message came that nobody has taken yet. Does not look for new ones. */
    boolean hasMessage() {
        return heard.remaining() >= HEAD && head() != null && heard.remaining() >= HEAD + length();
    }

    private void skipHeartbeats() {
        while (hasMessage() && head() == Type.HEARTBEAT) {
            take();
        }
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
            // Reset: all that matters is that nobody is there.
            gone = true;
        } finally {
            heard.flip();
        }
    }

    /** The type of the first message, checked as soon as its head is there. */
    private Type head() {
        int start = heard.position();
        short version = heard.getShort(start + 4);
        short type = heard.getShort(start + 6);
        if (heard.getInt(start) != MAGIC) {
            throw new Failure("the peer is no 'rdma perf': it speaks another protocol");
        }
        if (version != VERSION) {
            throw new Failure("the peer is an 'rdma perf' with version " + version
                    + " of its protocol, and this one has " + VERSION + ": both sides must be of one release");
        }
        if (type < 0 || type >= TYPES.length || length() < 0 || length() > MAX_BODY) {
            throw new Failure("the peer is no 'rdma perf' of this release: it sent a message that makes no sense");
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
        return new Failure("the peer ended early: see what it printed", cause);
    }

    @Override
    public void close() throws IOException {
        try (selector) {
            channel.close();
        }
    }
}
