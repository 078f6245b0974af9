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
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.PollCursor;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceiveQueue;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.ffm.Program;
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
    private static final int COUNT = Integer.getInteger("cm.shared", Lab.isInLab() ? 300 : 2000);
    private static final int BYTES = 16;
    private static final int RECEIVES = 256;
    private static final int KILLED = 20;
    private static final int PATIENCE_SECONDS = 120;

    /** Where messages are sent from, behind those that are received. */
    private static final long OUT = (long) RECEIVES * BYTES;

    /** What the connections of one side share; a message is the number of its connection. */
    private static final class Side {
        final ExtendedCompletionQueue queue;
        final SharedReceiveQueue receives;
        final RdmaConnectionOptions options;
        private final MemoryRegion memory;
        private final List<ReceiveWorkRequest> requests = new ArrayList<>();
        private final SendWorkRequest send;

        /** The connections that are being closed, by the number of their queue pair on this side: what they do may fail. */
        final Set<Integer> leaving = new HashSet<>();

        Side(VerbsArena arena, ProtectionDomain domain) {
            queue = domain.context()
                    .createCompletionQueue(
                            new CompletionQueueOptions(4 * (COUNT + KILLED) + RECEIVES).fields(CompletionField.QP_NUM));
            receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(RECEIVES));
            memory = domain.register(arena.allocate((RECEIVES + 1L) * BYTES, 64), AccessFlag.LOCAL_WRITE);
            send = SendWorkRequest.allocate(arena, 1);
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
            try (PollCursor cursor = queue.poll()) {
                while (cursor.next()) {
                    int number = cursor.queuePairNumber();
                    boolean received = cursor.id() >= 0;
                    if (!cursor.succeeded()) {
                        assertTrue(leaving.contains(number), cursor::describe);
                    } else if (received) {
                        int place = (int) cursor.id();
                        taker.take(number, memory.memory().get(ValueLayout.JAVA_INT_UNALIGNED, (long) place * BYTES));
                        messages++;
                    }
                    if (received) {
                        receives.postReceive(requests.get((int) cursor.id()));
                    }
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
        Footprint before = Footprint.now();
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
        System.out.printf(
                "%,d connections, each with both ends: %s%n",
                COUNT, Footprint.now().since(before, COUNT));
        closeSome(server, serving, client, asking, clients);
        awaitEnds(server, accepted, clients);
        echo(server, serving, client, asking, clients);
        killSome(server, accepted, serving);
        echo(server, serving, client, asking, clients);
        clients.forEach(RdmaConnection::close);
        accepted.forEach(RdmaConnection::close);
        assertNull(server.nextEnded(), "all are closed");
    }

    /** Half of the connections go in the middle of their messages, from both sides. */
    private static void closeSome(
            RdmaServer server, Side serving, RdmaClient client, Side asking, List<RdmaConnection> clients) {
        Random random = new Random(COUNT);
        List<RdmaConnection> leaving = new ArrayList<>(clients);
        Collections.shuffle(leaving, random);
        for (RdmaConnection each : leaving.subList(0, COUNT / 2)) {
            RdmaConnection accepted = acceptedBy(server, each);
            asking.leaving.add(each.queuePair().number());
            serving.leaving.add(accepted.queuePair().number());
            asking.send(each, (int) each.attachment());
            if (random.nextBoolean()) {
                serving.poll((number, message) -> answer(server, serving, number, message));
            }
            RdmaConnection closed = random.nextBoolean() ? each : accepted;
            closed.close();
            assertNull(closed == each ? client.connection(each.number()) : server.connection(accepted.number()));
            asking.poll((number, message) -> {});
        }
    }

    /** Both know the other's number from the handshake. */
    private static RdmaConnection acceptedBy(RdmaServer server, RdmaConnection client) {
        return Objects.requireNonNull(server.connection(client.peer().queuePairNumber()));
    }

    /** The connection may have been closed since the message came. */
    private static void answer(RdmaServer server, Side serving, int number, int message) {
        RdmaConnection connection = server.connection(number);
        if (connection != null) {
            serving.send(connection, message);
        }
    }

    /** Until the other side of each connection that was closed is closed as well. */
    private static void awaitEnds(RdmaServer server, List<RdmaConnection> accepted, List<RdmaConnection> clients)
            throws InterruptedException {
        Bound bound = Bound.ofSeconds(PATIENCE_SECONDS);
        while (clients.removeIf(SharedQueuesLabTest::closeIfEnded)
                || closeEnded(server, accepted)
                || accepted.removeIf(each -> !each.queuePair().isOpen())
                || clients.size() != accepted.size()) {
            bound.check(() -> clients.size() + " clients, " + accepted.size() + " accepted");
            Thread.sleep(10);
        }
        assertEquals(COUNT - COUNT / 2, clients.size());
    }

    /** A process with connections is killed, and all of them end. */
    private static void killSome(RdmaServer server, List<RdmaConnection> accepted, Side serving) throws Exception {
        String host = server.localAddress().getAddress().getHostAddress();
        try (Program program =
                Program.java(List.of(), Leaver.class, host, "" + PORT, "many", Integer.toString(KILLED))) {
            for (int i = 0; i < KILLED; i++) {
                // A JVM starts slowly where the processor is emulated.
                RdmaConnection made =
                        server.accept(Duration.ofSeconds(PATIENCE_SECONDS)).orElseThrow();
                serving.leaving.add(made.queuePair().number());
                accepted.add(made);
            }
            program.await(", " + KILLED);
            int before = accepted.size();
            program.kill();
            Bound bound = Bound.ofSeconds(PATIENCE_SECONDS);
            while (accepted.size() > before - KILLED) {
                bound.check(() -> accepted.size() + " are left");
                closeEnded(server, accepted);
                Thread.sleep(10);
            }
        }
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
