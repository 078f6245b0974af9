package org.rdmapanama.cm;

import java.time.Duration;
import java.util.Objects;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.completion.CompletionStatus;

/**
 * Notices, on any device, that the peer of a connection hangs or cannot be reached any more: asks it, when it has been
 * silent for some time, by an RDMA WRITE of no bytes, which the peer's device acknowledges without its program. One is
 * enough: the device repeats it by itself, and completes it with {@link CompletionStatus#RETRY_EXC_ERR} if no
 * acknowledgement comes. Then the connection has ended, for {@link RdmaConnection#isConnected} and all the others.
 *
 * <p>The loop that polls the send queue takes part, because the answer is a completion in that queue:
 *
 * <p>{@snippet :
 * SendWorkRequest question = KeepAlive.question(arena, ASKED);        // one for all connections of the arena
 * KeepAlive keepAlive = new KeepAlive(connection, question, Duration.ofSeconds(10));
 * while (connection.isConnected()) {
 *     int count = queue.poll(completions);
 *     for (int i = 0; i < count; i++) {
 *         if (completions.id(i) == ASKED) {
 *             keepAlive.answered(completions.status(i));
 *         } else {
 *             keepAlive.heard();
 *             ...
 *         }
 *     }
 *     keepAlive.check();
 * }
 * }
 *
 * <p>How long the peer has to answer is the acknowledgement timeout of the queue pair, times the retries: with the defaults
 * of the connection manager between one and a few tens of seconds, by the device. {@link CmId#acknowledgeTimeout} and {@link
 * ConnectionParameters#retryCount} set them. The question takes one entry of the send queue, and one of its completion
 * queue, until it is answered.
 *
 * <p>On {@code soft0} {@link RdmaConnectionOptions#keepAlive} does the same without the program. On iWARP the completion of
 * a WRITE does not mean that the peer has answered, so this notices nothing there.
 *
 * <p>Threads: one at a time, and as the arena of the connection says. Allocates nothing after its construction.
 */
public final class KeepAlive {
    private final RdmaConnection connection;
    private final SendWorkRequest question;
    private final long time;
    private long silentSince = System.nanoTime();
    private boolean heard;
    private boolean asked;

    /**
     * Begins to watch a connection.
     *
     * @param connection an established connection
     * @param question the work request of {@link #question}
     * @param time how long the peer may be silent before it is asked, more than zero
     * @throws IllegalArgumentException when the time is not more than zero
     * @throws NullPointerException when an argument is null
     */
    public KeepAlive(RdmaConnection connection, SendWorkRequest question, Duration time) {
        this.connection = Objects.requireNonNull(connection, "connection");
        this.question = Objects.requireNonNull(question, "question");
        if (time.isNegative() || time.isZero()) {
            throw new IllegalArgumentException("time must be more than zero: " + time);
        }
        this.time = time.toNanos();
    }

    /**
     * Creates the work request that asks a peer: an RDMA WRITE of no bytes, signaled. Connections of its arena may share it.
     *
     * @param arena the arena of the connections
     * @param id the identifier of its completions, which the program uses for nothing else
     * @return the work request
     * @throws IllegalStateException when the arena is closed
     */
    public static SendWorkRequest question(VerbsArena arena, long id) {
        return SendWorkRequest.allocate(arena, 0).id(id).rdmaWrite(0, 0).signaled(true);
    }

    /**
     * Notes that the peer is there, because something has completed that needed it: a receive, or a signaled send of a
     * reliable connection. This costs next to nothing; without it, a busy peer is asked as well.
     */
    public void heard() {
        heard = true;
    }

    /**
     * Asks the peer, if it has been silent for the time and has not been asked. To be called often.
     *
     * @return whether it was asked: a completion with the identifier of the question will come
     * @throws IllegalStateException when the connection is closed
     * @throws org.rdmapanama.VerbsException when the work request cannot be posted
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public boolean check() {
        long now = System.nanoTime();
        if (heard) {
            heard = false;
            silentSince = now;
        }
        // In a full queue, what is posted tells just as well.
        if (asked || now - silentSince < time || connection.queuePair().tryPostSend(question) == QueuePair.QUEUE_FULL) {
            return false;
        }
        asked = true;
        return true;
    }

    /**
     * Takes the completion of the question. One that failed ends the connection; the peer is told, in case it has only
     * stopped.
     *
     * @param status the status of the completion
     * @return whether the peer is there
     * @throws NullPointerException when the status is null
     * @throws ConnectionException when the peer cannot be told; the connection has ended nevertheless
     */
    public boolean answered(CompletionStatus status) {
        asked = false;
        if (Objects.requireNonNull(status, "status") == CompletionStatus.SUCCESS) {
            heard = true;
            return true;
        }
        connection.endWithoutPeer();
        return false;
    }

    /** Returns the text of the connection. */
    @Override
    public String toString() {
        return "keep-alive of " + connection;
    }
}
