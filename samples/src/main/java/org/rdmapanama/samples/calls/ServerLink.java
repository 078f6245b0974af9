package org.rdmapanama.samples.calls;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.KeepAlive;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.memory.AccessFlag;

/**
 * The server's end of a connection. Each place for a request has one for its answer, and takes the next request only once the
 * client has taken the answer: so nothing piles up.
 */
final class ServerLink {
    /** How many requests of a client may be under way. Few would do, if the device did not acknowledge answers in groups. */
    static final int DEPTH = 16;

    private static final Duration TICK = Duration.ofSeconds(1);

    private static final long ASKED = -1;

    private final RdmaConnection connection;
    private final Service.Client client;
    private final int messageBytes;
    private final Duration silence;
    private final MemoryRegion requests;
    private final MemoryRegion answers;
    private final ReceiveWorkRequest receive;
    private final SendWorkRequest send;
    private final SendWorkRequest question;
    private final WorkCompletions completions;
    private final AtomicBoolean left = new AtomicBoolean();

    /** Before the client can send. */
    ServerLink(RdmaConnection connection, Service.Client client, int messageBytes, Duration silence) {
        this.connection = connection;
        this.client = client;
        this.messageBytes = messageBytes;
        this.silence = silence;
        requests = connection.register(DEPTH * messageBytes, AccessFlag.LOCAL_WRITE);
        answers = connection.register(DEPTH * messageBytes);
        receive = ReceiveWorkRequest.allocate(connection.queuePair(), 1);
        send = SendWorkRequest.allocate(connection.queuePair(), 1);
        question = SendWorkRequest.allocate(connection.queuePair(), 0)
                .id(ASKED)
                .rdmaWrite(0, 0)
                .signaled(true);
        completions = new WorkCompletions(connection.receiveQueue(), 2 * DEPTH);
        for (int place = 0; place < DEPTH; place++) {
            receive(place);
        }
    }

    Service.Client client() {
        return client;
    }

    /** The client no longer counts; returns true the first time. */
    boolean leave() {
        return left.compareAndSet(false, true);
    }

    private void receive(int place) {
        connection
                .queuePair()
                .postReceive(receive.clear().id(place).add(requests, (long) place * messageBytes, messageBytes));
    }

    /** Serves until the connection ends. */
    void serve() throws InterruptedException {
        client.started();
        KeepAlive keepAlive = new KeepAlive(connection, question, silence);
        try {
            while (connection.isConnected()) {
                int count = connection.receiveQueue().await(completions, TICK);
                for (int i = 0; i < count; i++) {
                    if (completions.id(i) == ASKED) {
                        keepAlive.answered(completions.status(i));
                        continue;
                    }
                    completions.check(i);
                    keepAlive.heard();
                    int place = (int) completions.id(i);
                    if (place < DEPTH) {
                        answer(place, completions.byteLength(i));
                    } else {
                        receive(place - DEPTH);
                    }
                }
                keepAlive.check();
            }
        } finally {
            client.ended();
        }
    }

    private void answer(int place, int length) {
        if (length < CallMessage.HEADER) {
            throw new Service.BadRequestException("a request has at least 16 bytes, not " + length);
        }
        long at = (long) place * messageBytes;
        MemorySegment request = requests.memory().asSlice(at, length);
        MemorySegment answer = answers.memory().asSlice(at, messageBytes);
        int bytes = client.answer(request, answer);
        CallMessage.id(answer, CallMessage.id(request));
        connection
                .queuePair()
                .postSend(send.clear()
                        .id(DEPTH + place)
                        .send()
                        .add(answers, at, bytes)
                        .signaled(true));
    }
}
