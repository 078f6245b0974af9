package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Locale;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.samples.Failure;

/** A side of {@code WholeTransfer}: its end of the connection, and memory for data and for messages. Threads: one. */
final class TransferSide {
    /** How long to wait for the other side: it may be a JVM that has just started, on a slow machine. */
    static final Duration LIMIT = Duration.ofSeconds(60);

    private static final int BYTES = 64;

    final MemoryRegion data;
    private final String name;
    private final RdmaConnection connection;
    private final Board board;
    private final MemoryRegion message;

    /** Registers memory and posts a receive. Both stay as long as the connection. */
    TransferSide(String name, RdmaConnection connection, Board board, AccessFlag... access) {
        this.name = name;
        this.connection = connection;
        this.board = board;
        data = connection.register(BYTES, access);
        message = connection.register(BYTES, LOCAL_WRITE);
        connection
                .queuePair()
                .postReceive(
                        ReceiveWorkRequest.allocate(connection.queuePair(), 1).add(message, 0, BYTES));
    }

    /** Writes a line that begins with the name of this side, and with the state that the device says its queue pair is in. */
    void say(String format, Object... values) {
        board.say(
                "%s %-5s %s",
                name,
                connection.queuePair().query(QueuePairAttribute.STATE).state(),
                String.format(Locale.ROOT, format, values));
    }

    int number() {
        return connection.queuePair().number();
    }

    int numberOfPeer() {
        return connection.queuePair().query(QueuePairAttribute.DEST_QPN).destinationQueuePair();
    }

    /** Returns an empty work request of this side. */
    SendWorkRequest request() {
        return SendWorkRequest.allocate(connection.queuePair(), 1);
    }

    /** Posts a work request, and waits until it has succeeded. */
    WorkCompletions finish(SendWorkRequest request) throws InterruptedException {
        connection.queuePair().postSend(request.signaled(true));
        return await(connection.sendQueue());
    }

    /** Sends a message, and waits until it has arrived. */
    WorkCompletions send(String text) throws InterruptedException {
        MemoryRegion copy = connection.register(BYTES);
        MemorySegment.copy(text.getBytes(US_ASCII), 0, copy.memory(), JAVA_BYTE, 0, text.length());
        return finish(request().send().add(copy, 0, text.length()));
    }

    /** Waits for the message of the other side. */
    String receive() throws InterruptedException {
        int bytes = await(connection.receiveQueue()).byteLength(0);
        return text(message.memory().asSlice(0, bytes));
    }

    /** Waits for a message that tells where memory is, as large as that of this side. */
    RemoteMemory receiveMemory() throws InterruptedException {
        RemoteMemory memory = RemoteMemory.parse(receive());
        if (memory.length() != BYTES) {
            throw new Failure("the other side lends " + memory.length() + " bytes, and this lesson needs " + BYTES
                    + ": it is another program, or another version");
        }
        return memory;
    }

    private WorkCompletions await(CompletionQueue queue) throws InterruptedException {
        WorkCompletions completions = new WorkCompletions(queue, 1);
        if (queue.await(completions, LIMIT) == 0) {
            throw new Failure("the other side did nothing for " + LIMIT.toSeconds() + " s: see what it printed");
        }
        if (!completions.succeeded(0)) {
            throw new Failure(completions.describe(0));
        }
        return completions;
    }

    /** Returns the text in memory, without what could disturb a terminal: the other side may have written anything. */
    static String text(MemorySegment memory) {
        String all = new String(memory.toArray(JAVA_BYTE), US_ASCII);
        int end = all.indexOf('\0');
        return (end < 0 ? all : all.substring(0, end)).replaceAll("\\P{Print}", "?");
    }
}
