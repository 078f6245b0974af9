package org.rdmapanama.samples.learn;

import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_READ;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaDevices;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.Sockets;

/** Lesson 13: A writes and reads memory of B, which is in another process, from connecting to disconnecting. */
final class WholeTransfer {
    /** How long B waits for A, which somebody may have to start. */
    private static final Duration MEETING = Duration.ofMinutes(2);

    private static final Duration LIMIT = TransferSide.LIMIT;
    private static final String HOST = "127.0.0.1";
    private static final String WAITING = "B waits; start A in another terminal: bin/rdma learn ";
    private static final String LINE_OF_B = "B ";

    private WholeTransfer() {}

    /** Shows the next line of the other side, once it is there. */
    @FunctionalInterface
    interface Lines {
        void showNext() throws InterruptedException;
    }

    /** Runs A in this process and B in another one, whose lines are shown among those of A. */
    static void run(Board board) throws Exception {
        checkDevice();
        String number = Integer.toString(Lesson.TRANSFER.number());
        try (OtherProcess other = new OtherProcess(List.of("learn", number, "--serve"), LIMIT)) {
            String waiting = other.next(WAITING);
            int port = Integer.parseInt(waiting.substring(waiting.lastIndexOf(':') + 1));
            try {
                use(Sockets.resolve(HOST, port), board, () -> board.say("%s", other.next(LINE_OF_B)));
            } catch (VerbsException | Failure e) {
                throw other.explain(e);
            }
            other.awaitEnd();
        }
    }

    /** Runs A in this process, for a B that prints its lines elsewhere. */
    static void use(InetSocketAddress address, Board board) throws InterruptedException {
        checkDevice();
        use(address, board, () -> {});
    }

    /** Runs B in this process. */
    static void lend(Board board) throws InterruptedException {
        checkDevice();
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Sockets.resolve(HOST, 0))) {
            int port = server.localAddress().getPort();
            board.say("%s%d --to %s:%d", WAITING, Lesson.TRANSFER.number(), HOST, port);
            lend(server, board);
        }
    }

    /** Checks that connections by address are those of soft0. */
    static void checkDevice() {
        if (!RdmaDevices.names().contains("soft0")) {
            throw new Failure("connections by address are not those of soft0 here, because there are other devices: set"
                    + " the variable RDMA_DEVICE=soft0, on both sides");
        }
    }

    // excerpt
    /** B lends memory, and a message tells it when A is done. */
    private static void lend(RdmaServer server, Board board) throws InterruptedException {
        server.connections(new RdmaConnectionOptions().completionEvents(true).prepare(made -> {
            TransferSide b = new TransferSide("B", made, board, LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ);
            made.attach(b);
            b.say("has posted a receive, and lends %d bytes", b.data.byteSize());
        }));
        try (RdmaConnection connection = server.accept(MEETING).orElseThrow(WholeTransfer::nobody)) {
            TransferSide b = (TransferSide) connection.attachment();
            board.draw("A", b.numberOfPeer(), "B", b.number());
            b.say("is connected");
            RemoteMemory lent = b.data.remote();
            b.say(
                    "SEND of address 0x%016x, key 0x%08x: %s",
                    lent.address(), lent.rkey(), b.send(lent.toString()).status(0));
            b.say("receives '%s', and has '%s' in its memory", b.receive(), TransferSide.text(b.data.memory()));
            boolean gone = connection.awaitDisconnect(LIMIT);
            b.say("knows that A has disconnected: %b", gone);
            connection.disconnect(LIMIT);
            b.say("has disconnected, too");
        }
    }

    /** A writes to the memory of B, and reads it. */
    private static void use(InetSocketAddress address, Board board, Lines linesOfB) throws InterruptedException {
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .completionEvents(true)
                .prepare(made -> {
                    TransferSide a = new TransferSide("A", made, board, LOCAL_WRITE);
                    made.attach(a);
                    a.say("has posted a receive, and asks for a connection");
                });
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaConnection connection = new RdmaClient(arena).connect(address, options, LIMIT)) {
            TransferSide a = (TransferSide) connection.attachment();
            board.draw("A", a.number(), "B", a.numberOfPeer());
            linesOfB.showNext();
            a.say("is connected");
            linesOfB.showNext();

            linesOfB.showNext();
            RemoteMemory lent = a.receiveMemory();
            a.say("receives address 0x%016x, key 0x%08x", lent.address(), lent.rkey());
            a.data.memory().setString(0, "written by A");
            a.say(
                    "WRITE: %s",
                    a.finish(a.request().rdmaWrite(lent).add(a.data, 0, lent.length()))
                            .status(0));
            a.data.memory().fill((byte) 0);
            a.say(
                    "READ: %s",
                    a.finish(a.request().rdmaRead(lent).add(a.data, 0, lent.length()))
                            .status(0));
            a.say("has '%s' in its memory", TransferSide.text(a.data.memory()));

            a.say("SEND of 'done': %s", a.send("done").status(0));
            linesOfB.showNext();
            connection.disconnect(LIMIT);
            a.say("has disconnected");
            linesOfB.showNext();
            linesOfB.showNext();
        }
    }

    // end

    private static Failure nobody() {
        return new Failure(
                "A did not come within " + MEETING.toMinutes() + " minutes: start it as the line above says");
    }
}
