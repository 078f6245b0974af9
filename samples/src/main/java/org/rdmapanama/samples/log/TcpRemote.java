package org.rdmapanama.samples.log;

import java.nio.ByteBuffer;
import java.time.Duration;

/** Asks another node for parts of its file over TCP; the other answers with {@link #answer}. */
final class TcpRemote implements Remote {
    private final TcpStream stream;
    private final LogFile file;
    private final Runnable whileWaiting;

    /**
     * For the thread that owns the file.
     *
     * @param stream the connection to the other node
     * @param file that of this node
     * @param whileWaiting is called again and again, and may throw what ends it
     */
    TcpRemote(TcpStream stream, LogFile file, Runnable whileWaiting) {
        this.stream = stream;
        this.file = file;
        this.whileWaiting = whileWaiting;
    }

    @Override
    public void read(long offset, int length, Duration timeout) throws InterruptedException {
        read(offset, file.buffer(offset, length), timeout);
    }

    @Override
    public byte[] bytes(long offset, int length, Duration timeout) throws InterruptedException {
        ByteBuffer bytes = ByteBuffer.allocate(length);
        read(offset, bytes, timeout);
        return bytes.array();
    }

    private void read(long offset, ByteBuffer target, Duration timeout) throws InterruptedException {
        long start = System.nanoTime();
        int length = target.remaining();
        stream.send(TcpStream.Kind.READ, offset, length);
        while (stream.isSending() || !stream.hasHeader()) {
            stream.flush();
            pause(start, timeout);
        }
        stream.expect(TcpStream.Kind.DATA, length);
        if (stream.first() != offset) {
            throw new LogException(stream + " sends what is at " + stream.first() + ", and was asked for " + offset);
        }
        while (target.hasRemaining()) {
            if (!stream.read(target)) {
                pause(start, timeout);
            }
        }
        stream.done();
    }

    private void pause(long start, Duration timeout) throws InterruptedException {
        whileWaiting.run();
        stream.pause(start, timeout);
    }

    /** Answers the message that is there, which asks for a part of a file: of records, up to an end. */
    static void answer(TcpStream stream, LogFile file, long end) {
        stream.expect(TcpStream.Kind.READ, 0);
        long offset = stream.first();
        long length = stream.second();
        if (length < 1 || length > CatchUp.CHUNK || offset < LogFile.FIRST || offset > end - length) {
            throw new LogException(stream + " asks for " + length + " bytes at " + offset + ", and may ask for 1 to "
                    + CatchUp.CHUNK + " between " + LogFile.FIRST + " and " + end);
        }
        stream.done();
        stream.send(TcpStream.Kind.DATA, offset, 0, file.buffer(offset, length));
    }

    @Override
    public String toString() {
        return stream.toString();
    }
}
