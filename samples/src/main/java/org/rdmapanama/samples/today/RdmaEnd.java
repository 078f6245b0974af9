package org.rdmapanama.samples.today;

import java.time.Duration;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.ConnectionException;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.samples.Failure;

/** One end of a connection: sleeps until a work request completes, signals the peer, and disconnects. */
final class RdmaEnd {
    private static final int BATCH = 16;

    /** Not empty, because siw rejects a receive without a buffer. */
    private static final int SIGN_BYTES = 1;

    private static final Duration GOODBYE = Duration.ofSeconds(3);

    final VerbsArena arena;
    final RdmaConnection connection;
    private final Duration limit;
    private final WorkCompletions completions;
    private final SendWorkRequest sign;

    RdmaEnd(VerbsArena arena, RdmaConnection connection, Duration limit) {
        this.arena = arena;
        this.connection = connection;
        this.limit = limit;
        completions = new WorkCompletions(arena, BATCH);
        sign = SendWorkRequest.allocate(arena, 1)
                .send()
                .add(connection.register(SIGN_BYTES), 0, SIGN_BYTES)
                .signaled(true);
    }

    /** Posts the receive for the one signal of the other end. */
    static void expectSign(VerbsArena arena, RdmaConnection connection) {
        ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(arena, 1)
                .add(connection.register(SIGN_BYTES, AccessFlag.LOCAL_WRITE), 0, SIGN_BYTES);
        connection.queuePair().postReceive(receive);
    }

    /** Sends the message that tells the other end that this one is done. */
    void giveSign() {
        post(sign);
    }

    void post(SendWorkRequest request) {
        connection.queuePair().postSend(request);
    }

    /** Returns the names of the device and its driver. */
    String words() {
        Context context = connection.protectionDomain().context();
        return context.deviceName() + " " + context.driverName();
    }

    /** Waits for completions, and returns their number. */
    int await(CompletionQueue queue) throws InterruptedException {
        int count = queue.await(completions, limit, Duration.ZERO);
        if (count == 0) {
            throw new Failure("no work request completed on " + queue + " within " + limit.toSeconds() + " s");
        }
        for (int i = 0; i < count; i++) {
            if (!completions.succeeded(i)) {
                throw new Failure(completions.describe(i));
            }
        }
        return count;
    }

    void close() {
        try (arena;
                RdmaConnection closing = connection) {
            closing.disconnect(GOODBYE);
        } catch (ConnectionException e) {
            // The other side has already disconnected.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
