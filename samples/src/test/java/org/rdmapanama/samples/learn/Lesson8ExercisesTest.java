package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmapanama.DeviceList;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.ConnectionParameters;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.RemoteMemory;

/** Answers to the exercises of lesson 8, connections by address, in docs/EXERCISES.md. */
@SuppressWarnings("CheckReturnValue") // objects that are only there
class Lesson8ExercisesTest extends AnswersOfALesson {
    @BeforeEach
    void needTheConnectionManagerOfSoft0() {
        assumeTrue(DeviceList.query().size() <= 1, "connections by address are those of other devices");
    }

    @Test
    void shouldBeRejectedWhereNobodyListens() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            InetSocketAddress nobody;
            try (RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress("127.0.0.1", 0))) {
                nobody = server.localAddress();
            }
            predict("RejectedException", thrownBy(() -> new RdmaClient(arena).connect(nobody, Duration.ofSeconds(20))));
        }
    }

    @Test
    void shouldRefusePrivateDataThatIsTooLong() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress("127.0.0.1", 0))) {
            predict(2, 56 / RemoteMemory.BYTES);
            RdmaConnectionOptions tooLong = new RdmaConnectionOptions().privateData(new byte[3 * RemoteMemory.BYTES]);
            predict(
                    "IllegalArgumentException",
                    thrownBy(() ->
                            new RdmaClient(arena).connect(server.localAddress(), tooLong, Duration.ofSeconds(20))));
            predict(0, server.pending());
        }
    }

    @Test
    void shouldGiveUpIfItIsToldTo() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress("127.0.0.1", 0));
                ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            Duration limit = Duration.ofSeconds(20);
            server.connections(new RdmaConnectionOptions().parameters(new ConnectionParameters().rnrRetryCount(1)));
            Future<RdmaConnection> accepted =
                    executor.submit(() -> server.accept(limit).orElseThrow());
            RdmaConnectionOptions options = new RdmaConnectionOptions().completionEvents(true);
            try (RdmaConnection a = new RdmaClient(arena).connect(server.localAddress(), options, limit);
                    RdmaConnection b = accepted.get()) {
                board.draw("A", a.queuePair(), "B", b.queuePair());
                a.queuePair().postSend(SendWorkRequest.allocate(arena, 1).send().signaled(true));
                WorkCompletions completions = new WorkCompletions(arena, 1);
                a.sendQueue().await(completions, limit);
                predict(CompletionStatus.RNR_RETRY_EXC_ERR, completions.status(0));
            }
        }
    }
}
