package org.rdmapanama.samples.log;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;

/** Sends records to a replica over TCP, from the mapped file. */
final class TcpLink implements Link {
    /** How long a replica may take to receive or to store anything. */
    private static final long STALL_NANOS = 10_000_000_000L;

    private final LogFile file;
    private final TcpStream stream;
    private final Greeting.Answer replica;

    /** The last record that was sent to the replica, and the last one that the replica has. */
    private long sent;

    private long stored;
    private long commitSent;

    private TcpLink(LogFile file, TcpStream stream, Greeting.Answer replica) {
        this.file = file;
        this.stream = stream;
        this.replica = replica;
        commitSent = replica.commitIndex();
    }

    /**
     * Asks a replica to follow, on a connection that the caller closes if this fails.
     *
     * @throws FencedException when it has promised a higher term, or this one to another node
     * @throws UnreachableException when it does not answer
     */
    static TcpLink greet(
            LogFile file,
            TcpStream stream,
            InetSocketAddress address,
            Durability durability,
            long term,
            Duration timeout)
            throws InterruptedException {
        ByteBuffer greeting = ByteBuffer.allocate(Greeting.Answer.BYTES);
        Greeting.Request request = new Greeting.Request(durability, term, file.node(), 0, 0);
        try {
            long start = System.nanoTime();
            stream.send(TcpStream.Kind.REQUEST, 0, 0, ByteBuffer.wrap(request.bytes()));
            while (stream.isSending() || !stream.hasHeader()) {
                stream.flush();
                stream.pause(start, timeout);
            }
            if (stream.kind() == TcpStream.Kind.REJECTION && stream.first() >= term) {
                throw new FencedException(term, stream.first());
            }
            if (stream.kind() == TcpStream.Kind.ANSWER && stream.length() == greeting.capacity()) {
                while (greeting.hasRemaining()) {
                    if (!stream.read(greeting)) {
                        stream.pause(start, timeout);
                    }
                }
            }
            stream.done();
        } catch (FencedException e) {
            throw e;
        } catch (LogException e) {
            throw new UnreachableException(e.getMessage(), e);
        }
        Greeting.Answer answer = Greeting.Answer.of(greeting.array())
                .orElseThrow(() -> new LogException("what answers at " + address
                        + " is no replica of a log: give the address of an 'rdma log replica --tcp'"));
        answer.check(file, address);
        return new TcpLink(file, stream, answer);
    }

    @Override
    public Greeting.Answer replica() {
        return replica;
    }

    @Override
    public long stored() {
        return stored;
    }

    @Override
    public Remote remote() {
        return new TcpRemote(stream, file, () -> {});
    }

    @Override
    public void join(Duration timeout) throws InterruptedException {
        long last = file.lastIndex();
        long end = file.endOf(last);
        stream.send(TcpStream.Kind.JOIN, end, 0);
        long start = System.nanoTime();
        boolean joined = false;
        while (!joined) {
            if (stream.isSending() || !stream.hasHeader()) {
                if (!stream.flush()) {
                    stream.pause(start, timeout);
                }
            } else if (stream.kind() == TcpStream.Kind.READ) {
                TcpRemote.answer(stream, file, end);
            } else {
                stream.expect(TcpStream.Kind.JOINED, 0);
                joined = true;
            }
        }
        if (stream.first() != last) {
            throw new LogException(
                    stream + " says that it has record " + stream.first() + " after it was told of " + last);
        }
        stream.done();
        sent = last;
        stored = last;
    }

    @Override
    public boolean isUp() {
        try {
            stream.hasHeader();
            return stream.isUp();
        } catch (LogException e) {
            return false;
        }
    }

    @Override
    public boolean work(long committed) {
        boolean busy = stream.flush();
        if (!stream.isSending()) {
            long last = file.lastIndex();
            // Only of records that it has been sent before: it takes them into its log before it looks at this.
            long commit = Math.min(committed, sent);
            if (sent < last || commitSent < commit) {
                send(last, commit);
                busy = true;
            }
        }
        while (stream.hasHeader()) {
            take();
            busy = true;
        }
        if ((stream.isSending() || stored < sent) && System.nanoTime() - stream.lastProgress() > STALL_NANOS) {
            throw new LogException(stream + " has taken nothing for " + STALL_NANOS / 1_000_000_000 + " seconds");
        }
        return busy;
    }

    private void send(long last, long commit) {
        commitSent = Math.max(commitSent, commit);
        long from = file.endOf(sent);
        if (sent == last) {
            stream.send(TcpStream.Kind.RECORDS, from, commit);
        } else {
            sent = Math.max(sent + 1, Math.min(last, file.indexAt(from + CatchUp.CHUNK)));
            // With the mark of the end, or, by now, the beginning of the next record.
            long length = file.endOf(sent) + LogFile.END_MARK - from;
            stream.send(TcpStream.Kind.RECORDS, from, commit, file.buffer(from, length));
        }
    }

    private void take() {
        stream.expect(TcpStream.Kind.STORED, 0);
        long index = stream.first();
        if (index <= stored || index > sent) {
            throw new LogException(stream + " says that it has record " + index + ", and it was sent records from "
                    + (stored + 1) + " to " + sent);
        }
        stored = index;
        stream.done();
    }

    @Override
    public void close() {
        stream.close();
    }

    @Override
    public String toString() {
        return "replica " + Long.toHexString(replica.node()) + ", " + stream;
    }
}
