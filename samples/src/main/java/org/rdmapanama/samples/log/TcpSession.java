package org.rdmapanama.samples.log;

import java.nio.ByteBuffer;
import java.time.Duration;

/** Reads the records of a primary from a TCP connection into the file of the replica, and says what is there. */
final class TcpSession implements Session {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** How many messages are read before one answer, at most. */
    private static final int BATCH = 64;

    private final LogFile file;
    private final TcpStream stream;
    private final Durability durability;
    private final Runnable whileWaiting;
    private boolean joined;

    /** The last record that the primary knows to be here. */
    private long told;

    /** Where records go that are on their way; null if there are none. */
    private ByteBuffer records;

    TcpSession(LogFile file, TcpStream stream, Greeting.Request primary, Runnable whileWaiting) {
        this.file = file;
        this.stream = stream;
        this.durability = primary.durability();
        this.whileWaiting = whileWaiting;
        stream.send(
                TcpStream.Kind.ANSWER,
                0,
                0,
                ByteBuffer.wrap(Greeting.Answer.of(file, 0, 0).bytes()));
    }

    @Override
    public boolean isUp() {
        if ((stream.isSending() || stream.isTorn()) && System.nanoTime() - stream.lastProgress() > TIMEOUT.toNanos()) {
            throw new LogException(
                    stream + " has stopped in the middle of a message for " + TIMEOUT.toSeconds() + " seconds");
        }
        return stream.isUp();
    }

    @Override
    public boolean isAwaited() {
        return true;
    }

    @Override
    public boolean work() throws InterruptedException {
        boolean busy = stream.flush();
        for (int i = 0; i < BATCH && !stream.isSending() && stream.hasHeader(); i++) {
            if (joined) {
                busy |= receive();
                if (records != null) {
                    break;
                }
            } else {
                serve();
                busy = true;
            }
        }
        return acknowledge() || busy;
    }

    /** What a primary wants that has not written yet. */
    private void serve() throws InterruptedException {
        if (stream.kind() == TcpStream.Kind.READ) {
            TcpRemote.answer(stream, file, file.tail());
            return;
        }
        stream.expect(TcpStream.Kind.JOIN, 0);
        long tail = CatchUp.checkTail(stream.first(), file.capacity());
        stream.done();
        new CatchUp(new TcpRemote(stream, file, whileWaiting), file, tail, TIMEOUT).run();
        if (durability == Durability.DISK) {
            file.force(0, file.capacity());
        }
        told = file.lastIndex();
        joined = true;
        stream.send(TcpStream.Kind.JOINED, told, 0);
    }

    /** Reads what is there of a message with records. */
    private boolean receive() {
        int length = stream.length();
        if (records == null) {
            stream.expect(TcpStream.Kind.RECORDS, length);
            long at = stream.first();
            if (at != file.tail() || length > file.capacity() - at) {
                throw new LogException(stream + " sends " + length + " bytes for " + at + ", and the log ends at "
                        + file.tail() + " of " + file.capacity());
            }
            records = file.buffer(at, length);
        }
        boolean busy = !records.hasRemaining() || stream.read(records);
        if (!records.hasRemaining()) {
            records = null;
            take(stream.first() + Math.max(0, length - LogFile.END_MARK));
            stream.done();
        }
        return busy;
    }

    private void take(long end) {
        file.extend(end);
        if (file.tail() != end) {
            throw new LogException(
                    "record " + (file.lastIndex() + 1) + " of " + stream + " does not check: it was not sent whole");
        }
        long commit = stream.second();
        if (commit < 0 || commit > file.lastIndex()) {
            throw new LogException(stream + " says that record " + commit + " is committed, and has sent records up to "
                    + file.lastIndex());
        }
        file.commitIndex(Math.max(commit, file.commitIndex()));
    }

    /** Tells the primary of new records, which are then on the disk if that is demanded. */
    private boolean acknowledge() {
        long last = file.lastIndex();
        if (!joined || stream.isSending() || last == told) {
            return false;
        }
        if (durability == Durability.DISK) {
            file.force(file.endOf(told), file.endOf(last));
        }
        told = last;
        stream.send(TcpStream.Kind.STORED, last, 0);
        return true;
    }

    @Override
    public void close() {
        stream.close();
    }
}
