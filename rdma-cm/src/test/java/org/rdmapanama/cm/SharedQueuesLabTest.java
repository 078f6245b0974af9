package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceiveQueue;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/**
 * As many connections as {@code -Dcm.shared} says, which share one extended completion queue and one shared receive queue
 * on each side. One thread serves all of them.
 */
@Tag("lab")
@Timeout(value = 400, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SharedQueuesLabTest {
    private static final int PORT = 7619;
    private static final int COUNT = Integer.getInteger("cm.shared", Lab.isInLab() ? 100 : 1000);
    private static final int BYTES = 16;
    private static final int RECEIVES = 256;
    private static final int PATIENCE_SECONDS = 120;

    /** Where messages are sent from, behind those that are received. */
    private static final long OUT = (long) RECEIVES * BYTES;

    /** What the connections of one side share; a message is the number of its connection. */
    private static final class Side {
        final CompletionQueue queue;
        final SharedReceiveQueue receives;
        final RdmaConnectionOptions options;
        private final MemoryRegion memory;
        private final List<ReceiveWorkRequest> requests = new ArrayList<>();
        private final SendWorkRequest send;
        private final WorkCompletions completions;

        Side(VerbsArena arena, ProtectionDomain domain) {
            queue = domain.context().createCompletionQueue(new CompletionQueueOptions(4 * COUNT + RECEIVES));
            receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(RECEIVES));
            memory = domain.register(arena.allocate((RECEIVES + 1L) * BYTES, 64), AccessFlag.LOCAL_WRITE);
            send = SendWorkRequest.allocate(arena, 1);
            completions = new WorkCompletions(arena, 64);
            for (int i = 0; i < RECEIVES; i++) {
                ReceiveWorkRequest request =
                        ReceiveWorkRequest.allocate(arena, 1).id(i).add(memory, (long) i * BYTES, BYTES);
                requests.add(request);
                receives.postReceive(request);
            }
            options = new RdmaConnectionOptions()
                    .protectionDomain(domain)
                    .completionQueue(queue)
                    .sharedReceiveQueue(receives)
                    .sendWorkRequests(4)
                    .queuePair(each -> each.maxInlineData(BYTES));
        }

        /** Sends a number, inline, so that no memory must wait for the completion. */
        void send(RdmaConnection connection, int number) {
            memory.memory().set(ValueLayout.JAVA_INT_UNALIGNED, OUT, number);
            connection
                    .queuePair()
                    .postSend(send.clear()
                            .id(-1)
                            .send()
                            .add(memory, OUT, BYTES)
                            .inline(true)
                            .signaled(true));
        }

        /** Handles what has completed, and returns how many messages came. */
        int poll(Taker taker) {
            int messages = 0;
            int count = queue.poll(completions);
            for (int i = 0; i < count; i++) {
                int index = i;
                assertEquals(CompletionStatus.SUCCESS, completions.status(i), () -> completions.describe(index));
                if (completions.opcode(i) == CompletionOpcode.RECV) {
                    int place = (int) completions.id(i);
                    int number = memory.memory().get(ValueLayout.JAVA_INT_UNALIGNED, (long) place * BYTES);
                    taker.take(completions.queuePairNumber(i), number);
                    receives.postReceive(requests.get(place));
                    messages++;
                }
            }
            return messages;
        }
    }

    @FunctionalInterface
    private interface Taker {
        void take(int queuePairNumber, int message);
    }

    @Test
    void shouldEchoOnAllConnections() throws Exception {
        List<String> before = Lab.resources();
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT))) {
            serve(arena, server);
        }
        Lab.assertNothingLeft(before);
    }

    private static void serve(VerbsArena arena, RdmaServer server) throws Exception {
        Side asking = new Side(arena, clientDomain(arena, server));
        ProtectionDomain domain = server.protectionDomain();
        Side serving = new Side(arena, domain);
        server.connections(serving.options);
        RdmaClient client = new RdmaClient(arena);
        List<RdmaConnection> accepted = new ArrayList<>();
        FutureTask<Void> accepting = new FutureTask<>(() -> {
            for (int i = 0; i < COUNT; i++) {
                accepted.add(server.accept(Lab.SECONDS).orElseThrow());
            }
            return null;
        });
        Thread.ofPlatform().start(accepting);
        List<RdmaConnection> clients = new ArrayList<>();
        for (int i = 0; i < COUNT; i++) {
            RdmaConnection made =
                    client.connect(server.localAddress(), asking.options.localAddress(Lab.first(0)), Lab.SECONDS);
            made.attach(i);
            clients.add(made);
        }
        accepting.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        for (RdmaConnection each : accepted) {
            assertSame(each, server.connection(each.queuePair().number()));
            assertSame(
                    each, server.connection(domain.context(), each.queuePair().number()));
        }

        echo(server, serving, client, asking, clients);
        // Half of them go, from both sides; what is left works.
        Random random = new Random(COUNT);
        Collections.shuffle(accepted, random);
        for (int i = 0; i < COUNT / 4; i++) {
            RdmaConnection gone = accepted.removeLast();
            gone.close();
            assertNull(server.connection(gone.queuePair().number()));
            RdmaConnection left = clients.remove(random.nextInt(clients.size()));
            left.close();
            assertNull(client.connection(left.queuePair().number()));
        }
        Bound bound = Bound.ofSeconds(PATIENCE_SECONDS);
        while (clients.removeIf(SharedQueuesLabTest::closeIfEnded)
                || closeEnded(server, accepted)
                || clients.size() != accepted.size()) {
            bound.check(() -> clients.size() + " clients, " + accepted.size() + " accepted");
            Thread.sleep(10);
        }
        echo(server, serving, client, asking, clients);
        clients.forEach(RdmaConnection::close);
        accepted.forEach(RdmaConnection::close);
        assertNull(server.nextEnded(), "all are closed");
    }

    private static boolean closeIfEnded(RdmaConnection connection) {
        boolean over = !connection.isConnected();
        if (over) {
            connection.close();
        }
        return over;
    }

    /** The server's side of it needs no look at each connection. */
    private static boolean closeEnded(RdmaServer server, List<RdmaConnection> accepted) throws InterruptedException {
        assertTrue(server.accept(Duration.ZERO).isEmpty());
        boolean some = false;
        for (RdmaConnection each = server.nextEnded(); each != null; each = server.nextEnded()) {
            each.close();
            assertTrue(accepted.remove(each));
            some = true;
        }
        return some;
    }

    /** The domain on the device that clients come through: in the lab another one than the server's. */
    private static ProtectionDomain clientDomain(VerbsArena arena, RdmaServer server) throws Exception {
        FutureTask<RdmaConnection> accepting =
                new FutureTask<>(() -> server.accept(Lab.SECONDS).orElseThrow());
        Thread.ofPlatform().start(accepting);
        try (RdmaConnection probe = new RdmaClient(arena)
                        .connect(
                                server.localAddress(),
                                new RdmaConnectionOptions().localAddress(Lab.first(0)),
                                Lab.SECONDS);
                RdmaConnection accepted = accepting.get(30, TimeUnit.SECONDS)) {
            assertNotNull(server.connection(accepted.queuePair().number()));
            return probe.protectionDomain();
        }
    }

    /** Each client sends its number, the server sends back what it gets, and the client gets its own number again. */
    private static void echo(
            RdmaServer server, Side serving, RdmaClient client, Side asking, List<RdmaConnection> clients) {
        Bound bound = Bound.ofSeconds(PATIENCE_SECONDS);
        int sent = 0;
        int answered = 0;
        while (answered < clients.size()) {
            bound.check("not all were answered");
            // No more at once than there are receives.
            if (sent < clients.size() && sent - answered < RECEIVES / 2) {
                RdmaConnection next = clients.get(sent++);
                asking.send(next, (int) next.attachment());
            }
            serving.poll((number, message) -> serving.send(server.connection(number), message));
            answered += asking.poll(
                    (number, message) -> assertEquals(client.connection(number).attachment(), message));
        }
        assertTrue(sent == answered);
    }
}
