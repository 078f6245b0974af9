package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Queue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;

/**
 * A client of a server of transfers: lends it memory, and checks what arrives. Each client has a protection domain of its
 * own, so none can reach the memory of another.
 *
 * <p>Nothing here waits. {@link TransferServer} passes completions on, calls {@link #tick} now and then, and runs in
 * another thread what takes long. Threads: the one of the server.
 */
final class ServedTransfer {
    /** Number of receives that are posted. */
    static final int RECEIVES = 4;

    /** Number of sends in flight: a control message and a heartbeat. */
    static final int SENDS = 2;

    // The lowest bits of the identifier of a work request: the number of a receive, or one of these.
    private static final int SEND = 14;
    private static final int READ = 15;
    private static final int KIND_BITS = 4;
    private static final int KIND = (1 << KIND_BITS) - 1;

    private final TransferServer server;
    private final ProtectionDomain domain;
    private final String name;
    private final long number;
    private final Queue<ControlMessage> outgoing = new ArrayDeque<>();

    // Created with the connection.
    private TransferConnection connection;
    private MemoryRegion control;
    private Heartbeat heartbeat;
    private long heardAt;

    /** What the client must send next; null if it must wait. */
    private ControlMessage.Type expected = ControlMessage.Type.GREETING;

    private MemoryRegion lent;
    private boolean sending;

    /** Whether another thread works for this client. */
    private boolean busy;

    /** Whether the last message is on its way; why the client was refused, or null. */
    private boolean ending;

    private Failure refusal;

    /** Whether a READ has been posted that completes after the last message has arrived. */
    private boolean confirming;

    private volatile boolean closed;

    /**
     * Creates a client that is not connected.
     *
     * @param domain its protection domain, which closes with it
     * @param name its address, for people to read
     * @param number its number, which no other client gets
     */
    ServedTransfer(TransferServer server, ProtectionDomain domain, String name, long number) {
        this.server = server;
        this.domain = domain;
        this.name = name;
        this.number = number;
    }

    ProtectionDomain domain() {
        return domain;
    }

    /** Returns the client's number, which no other client ever gets, unlike that of its queue pair. */
    long number() {
        return number;
    }

    /** Returns the number of the client that a work request belongs to. */
    static long numberOf(long workRequestId) {
        return workRequestId >>> KIND_BITS;
    }

    private long id(int kind) {
        return number << KIND_BITS | kind;
    }

    /** Posts receives, before the client can send. */
    void prepare(TransferConnection made) {
        connection = made;
        control = domain.register(memory((RECEIVES + 1) * (long) ControlMessage.BYTES), AccessFlag.LOCAL_WRITE);
        heartbeat = new Heartbeat(made, server.sendRequest(), id(READ), server.timeout());
        for (int i = 0; i < RECEIVES; i++) {
            postReceive(i);
        }
        heardAt = System.nanoTime();
    }

    /** Allocates memory that the garbage collector frees after the client has left: the server's arena keeps its own. */
    private static MemorySegment memory(long size) {
        return Arena.ofAuto().allocate(size, TransferConnection.PAGE);
    }

    /** Whether the connection could not be made, or has been closed in the middle of its handshake. */
    boolean isLost() {
        return connection == null || !connection.queuePair().isOpen();
    }

    /** Whether it is connected, and has not said a word since a moment. */
    boolean isSilentSince(long nanos) {
        return expected == ControlMessage.Type.GREETING && System.nanoTime() - heardAt > nanos;
    }

    private void postReceive(int slot) {
        connection
                .queuePair()
                .postReceive(server.receiveRequest()
                        .clear()
                        .id(id(slot))
                        .add(control, slot * (long) ControlMessage.BYTES, ControlMessage.BYTES));
    }

    private MemorySegment slot(int index) {
        return control.memory().asSlice(index * (long) ControlMessage.BYTES, ControlMessage.BYTES);
    }

    /** Prints what happens to this client. */
    void say(String text) {
        server.say(name, text);
    }

    /** Processes a completion of one of its work requests. */
    void completed(WorkCompletions completions, int index) {
        if (completions.status(index) == CompletionStatus.WR_FLUSH_ERR) {
            // Requests are flushed when the connection ends, which the connection reports by itself.
            return;
        }
        if (!completions.succeeded(index)) {
            throw new Failure(
                    completions.describe(index) + ": the peer is gone, or its device cannot be reached from here");
        }
        heardAt = System.nanoTime();
        int kind = (int) completions.id(index) & KIND;
        if (kind == SEND) {
            sending = false;
        } else if (kind == READ) {
            heartbeat.completed();
        } else {
            ControlMessage message = ControlMessage.read(slot(kind).asSlice(0, completions.byteLength(index)));
            postReceive(kind);
            receive(message);
        }
        sendNext();
    }

    private void receive(ControlMessage message) {
        if (message.type() != expected) {
            throw new Failure("the peer sent " + message.type() + " instead of "
                    + (expected == null ? "waiting for an answer" : expected));
        }
        expected = null;
        switch (message.type()) {
            case GREETING -> {
                heartbeat.follow(message);
                answer(heartbeat.greeting(), ControlMessage.Type.HELLO);
            }
            case HELLO -> lend(message.size());
            case WRITTEN -> check(message.checksum());
            case DONE -> {
                end(ControlMessage.done(), null);
                say("done: the peer wrote and read " + ByteSize.format(lent.byteSize()));
            }
            default -> throw new Failure("a client does not send " + message.type());
        }
    }

    private void lend(long size) {
        if (size < 1 || size > server.limit()) {
            refuse(
                    ByteSize.format(size) + " requested, " + ByteSize.format(server.limit()) + " allowed (--limit)",
                    null);
            return;
        }
        work(() -> {
            try {
                MemoryRegion region =
                        connection.register(memory(size), AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);
                return () -> lent(region);
            } catch (VerbsException | OutOfMemoryError e) {
                return () -> refuse("no memory for " + ByteSize.format(size) + ": " + e.getMessage(), e);
            }
        });
    }

    private void lent(MemoryRegion region) {
        lent = region;
        say("own memory: %s at 0x%x, rkey 0x%x"
                .formatted(ByteSize.format(region.byteSize()), region.address(), region.rkey()));
        answer(ControlMessage.ready(region.remote()), ControlMessage.Type.WRITTEN);
    }

    private void check(int announced) {
        work(() -> {
            int found = Checksum.of(lent.memory(), this::checkOpen);
            return () -> checked(announced, found);
        });
    }

    private void checked(int announced, int found) {
        answer(ControlMessage.verified(lent.byteSize(), found), ControlMessage.Type.DONE);
        if (found != announced) {
            throw new Failure("the data written by the peer is corrupted: CRC32C " + Checksum.format(found)
                    + " instead of " + Checksum.format(announced));
        }
        say("checksum: CRC32C " + Checksum.format(found) + ", correct");
    }

    /** Ends work for a client that has left. */
    private void checkOpen() throws InterruptedException {
        if (closed || Thread.interrupted()) {
            throw new InterruptedException();
        }
    }

    private void work(TransferServer.Work work) {
        busy = true;
        server.work(this, work);
    }

    /** Goes on after the work of another thread. */
    void worked(Runnable then) {
        busy = false;
        if (closed) {
            domain.close();
        } else {
            then.run();
            sendNext();
        }
    }

    private void answer(ControlMessage message, ControlMessage.Type next) {
        outgoing.add(message);
        expected = next;
    }

    private void refuse(String why, Throwable cause) {
        end(ControlMessage.refused(why), new Failure("refused the client: " + why, cause));
    }

    private void end(ControlMessage last, Failure why) {
        outgoing.add(last);
        ending = true;
        refusal = why;
    }

    /** Sends what waits. A message waits until the one before it has been sent: both use the same buffer. */
    private void sendNext() {
        if (sending) {
            return;
        }
        ControlMessage next = outgoing.poll();
        if (next != null) {
            next.write(slot(RECEIVES));
            connection
                    .queuePair()
                    .postSend(server.sendRequest()
                            .clear()
                            .id(id(SEND))
                            .send()
                            .add(control, RECEIVES * (long) ControlMessage.BYTES, ControlMessage.BYTES)
                            .signaled(true));
            sending = true;
        } else if (ending && !heartbeat.isReading()) {
            // On iWARP a send may complete before its message arrives; a READ posted after it completes only after
            // that.
            if (confirming) {
                server.left(this, refusal);
            } else {
                confirming = true;
                heartbeat.read();
            }
        }
    }

    /** Looks whether the client is there, and gives signs of life. */
    void tick() throws IOException, InterruptedException {
        if (!heartbeat.isPeerAlive()) {
            // What arrived before the end counts.
            server.poll();
            if (!closed) {
                throw new Failure("the peer ended the transfer early: see its output");
            }
        } else if (System.nanoTime() - heardAt > server.timeout().toNanos()) {
            throw new Failure("nothing arrived from the peer for "
                    + server.timeout().toSeconds() + " s: check its host and the network in between; give a longer"
                    + " --timeout if the network is slow");
        }
    }

    /** Disconnects, and closes everything, the memory not before another thread has done its work on it. */
    void close() {
        closed = true;
        try {
            if (connection != null) {
                connection.close();
            }
        } finally {
            if (!busy) {
                domain.close();
            }
        }
    }

    /** Returns the address of the client. */
    @Override
    public String toString() {
        return name;
    }
}
