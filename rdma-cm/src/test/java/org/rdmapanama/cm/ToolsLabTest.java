package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.UnsupportedVerbException;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Lab;

/** The programs of rdma-core's librdmacm, and ours on the other side, both ways. rping is among the samples' tests. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ToolsLabTest {
    private static final String FIRST = "10.77.0.1";
    private static final String SECOND = "10.77.0.2";

    /** What ucmatose, udaddy and mckey use unless told otherwise. */
    private static final int COUNT = 10;

    private static final int SIZE = 100;

    /** What rdma_client and its like use. */
    private static final int SMALL = 16;

    private static final int CONNECTIONS = 3;

    private static int nextPort = 7501;

    private final int port = nextPort++;
    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        Lab.assumeInLab("the tools are of librdmacm");
        before = Lab.resources();
    }

    @AfterEach
    void nothingIsLeft() throws Exception {
        Lab.assertNothingLeft(before);
    }

    @FunctionalInterface
    private interface Attempt<T> {
        T make() throws InterruptedException;
    }

    /** Tries until the program on the other side listens: until then nobody does, which comes as a rejection. */
    private static <T> T reach(Program server, Attempt<T> attempt) throws InterruptedException {
        ConnectionException last = null;
        for (int tries = 0; tries < 200; tries++) {
            try {
                return attempt.make();
            } catch (ConnectionException e) {
                if (e.event() == null) {
                    return fail(server.toString(), e);
                }
                last = e;
                Thread.sleep(100);
            }
        }
        return fail(server.toString(), last);
    }

    /** A connection, and its messages. */
    private record Talk(RdmaConnection connection, Messages messages) {}

    private static RdmaConnectionOptions options(VerbsArena arena, int count, int size, List<Messages> made) {
        return new RdmaConnectionOptions()
                .localAddress(Lab.first(0))
                .parameters(new ConnectionParameters().responderResources(1).initiatorDepth(1))
                .prepare(connection ->
                        made.add(Messages.of(arena, connection, count, size).postReceives()));
    }

    private Talk connect(VerbsArena arena, Program server, int count, int size) throws InterruptedException {
        List<Messages> made = new ArrayList<>();
        RdmaClient client = new RdmaClient(arena);
        RdmaConnection connection =
                reach(server, () -> client.connect(Lab.second(port), options(arena, count, size, made), Lab.SECONDS));
        return new Talk(connection, made.getLast());
    }

    private static Talk accept(VerbsArena arena, RdmaServer server, Program client, int count, int size)
            throws InterruptedException {
        List<Messages> made = new ArrayList<>();
        RdmaConnection connection = server.awaitRequest(Lab.SECONDS)
                .orElseThrow(() -> new AssertionError("nobody came: " + client))
                .accept(options(arena, count, size, made), Lab.SECONDS);
        return new Talk(connection, made.getLast());
    }

    private static void awaitEnd(Talk talk) throws InterruptedException {
        assertTrue(talk.connection().awaitDisconnect(Lab.SECONDS), talk.connection()::toString);
        talk.connection().close();
    }

    @Test
    void shouldTalkToUcmatoseAsClient() throws Exception {
        try (Program server = Program.start(
                        "ucmatose", "-b", SECOND, "-p", Integer.toString(port), "-c", Integer.toString(CONNECTIONS));
                VerbsArena arena = VerbsArena.ofConfined()) {
            List<Talk> talks = new ArrayList<>();
            for (int i = 0; i < CONNECTIONS; i++) {
                talks.add(connect(arena, server, COUNT, SIZE));
            }
            for (Talk talk : talks) {
                talk.messages().receive();
            }
            for (Talk talk : talks) {
                talk.messages().send();
            }
            for (Talk talk : talks) {
                awaitEnd(talk);
            }
            server.assertSucceeds();
            assertTrue(server.output().contains("data transfers complete"), server::toString);
        }
    }

    @Test
    void shouldTalkToUcmatoseAsServer() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(port));
                Program client = Program.start(
                        "ucmatose",
                        "-s",
                        SECOND,
                        "-b",
                        FIRST,
                        "-p",
                        Integer.toString(port),
                        "-c",
                        Integer.toString(CONNECTIONS),
                        "-m")) {
            List<Talk> talks = new ArrayList<>();
            for (int i = 0; i < CONNECTIONS; i++) {
                talks.add(accept(arena, server, client, COUNT, SIZE));
            }
            for (Talk talk : talks) {
                talk.messages().send();
            }
            for (Talk talk : talks) {
                talk.messages().receive();
            }
            for (Talk talk : talks) {
                talk.connection().disconnect(Lab.SECONDS);
                talk.connection().close();
            }
            client.assertSucceeds();
            assertTrue(client.output().contains("data transfers complete"), client::toString);
        }
    }

    @Test
    void shouldTalkToRdmaServer() throws Exception {
        try (Program server = Program.start("rdma_server", "-s", SECOND, "-p", Integer.toString(port));
                VerbsArena arena = VerbsArena.ofConfined()) {
            Talk talk = connect(arena, server, 1, SMALL);
            talk.messages().sendLast();
            talk.messages().receive();
            awaitEnd(talk);
            server.assertSucceeds();
            assertTrue(server.output().contains("rdma_server: end 0"), server::toString);
        }
    }

    @Test
    void shouldTalkToRdmaClient() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(port));
                Program client = Program.start("rdma_client", "-s", SECOND, "-p", Integer.toString(port))) {
            Talk talk = accept(arena, server, client, 1, SMALL);
            talk.messages().receive();
            talk.messages().send();
            awaitEnd(talk);
            client.assertSucceeds();
            assertTrue(client.output().contains("rdma_client: end 0"), client::toString);
        }
    }

    @Test
    void shouldTalkToRdmaXserver() throws Exception {
        try (Program server = Program.start("rdma_xserver", "-c", "r", "-p", Integer.toString(port));
                VerbsArena arena = VerbsArena.ofConfined()) {
            Talk talk = connect(arena, server, 1, SMALL);
            // The number of a shared receive queue, which there is none of.
            assertEquals(0, talk.connection().privateData()[0]);
            talk.messages().sendLast();
            awaitEnd(talk);
            server.assertSucceeds();
        }
    }

    @Test
    void shouldTalkToRdmaXclient() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(port));
                Program client = Program.start("rdma_xclient", "-c", "r", "-s", SECOND, "-p", Integer.toString(port))) {
            Talk talk = accept(arena, server, client, 1, SMALL);
            talk.messages().receive();
            awaitEnd(talk);
            client.assertSucceeds();
        }
    }

    /** Soft-RoCE has no XRC: the C program fails, and so does the Java side, which says what is missing. */
    @Test
    void shouldRefuseXrcAsRdmaXclientDoes() throws Exception {
        try (SynchronousId id = SynchronousId.create(PortSpace.IB);
                VerbsArena arena = VerbsArena.ofConfined();
                Program client = Program.start("rdma_xclient", "-c", "x", "-s", SECOND, "-p", Integer.toString(port))) {
            id.id().bind(Lab.first(0));
            Context context = id.id().openContext(arena);
            UnsupportedVerbException missing = assertThrows(UnsupportedVerbException.class, context::openXrcDomain);
            assertTrue(missing.getMessage().contains("XRC"), missing::getMessage);
            ProtectionDomain domain = context.allocateProtectionDomain();
            CompletionQueue queue = context.createCompletionQueue(1);
            assertThrows(UnsupportedVerbException.class, () -> domain.createQueuePair(QueuePairOptions.xrcSend(queue)));
            assertTrue(client.join() != 0, client::toString);
            assertTrue(client.output().contains("rdma_"), client::toString);
        }
    }

    @Test
    void shouldBeTimedByCmtimeAsServer() throws Exception {
        int connections = 20;
        try (VerbsArena arena = VerbsArena.ofConfined();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(port));
                Program client = Program.start(
                        "cmtime",
                        "-s",
                        SECOND,
                        "-b",
                        FIRST,
                        "-p",
                        Integer.toString(port),
                        "-c",
                        Integer.toString(connections))) {
            List<Talk> talks = new ArrayList<>();
            for (int i = 0; i < connections; i++) {
                talks.add(accept(arena, server, client, 1, SMALL));
            }
            for (Talk talk : talks) {
                awaitEnd(talk);
            }
            client.assertSucceeds();
            assertTrue(client.output().contains("us / conn"), client::toString);
            assertTrue(!client.output().contains("error"), client::toString);
        }
    }

    /** All at once: cmtime puts all queue pairs on the completion queues of its first, and fails when that is gone. */
    @Test
    void shouldConnectToCmtimeManyTimes() throws Exception {
        try (Program server = Program.start("cmtime", "-b", SECOND, "-p", Integer.toString(port));
                VerbsArena arena = VerbsArena.ofConfined()) {
            List<Talk> talks = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                talks.add(connect(arena, server, 1, SMALL));
            }
            for (Talk talk : talks) {
                talk.connection().disconnect(Lab.SECONDS);
                talk.connection().close();
            }
            assertEquals("", server.output());
        }
    }

    /** A queue pair for datagrams, on the device of an id. */
    private static final class Datagrams {
        final ProtectionDomain domain;
        final QueuePair queuePair;
        final Messages messages;

        Datagrams(VerbsArena arena, CmId id) {
            Context context = id.openContext(arena);
            domain = context.allocateProtectionDomain();
            CompletionQueue sends = context.createCompletionQueue(COUNT);
            CompletionQueue receives = context.createCompletionQueue(COUNT);
            queuePair = domain.createQueuePair(new QueuePairOptions(id.queuePairType(), sends, receives)
                    .maxSendWorkRequests(COUNT)
                    .maxReceiveWorkRequests(COUNT));
            messages = new Messages(arena, domain, queuePair, sends, receives, COUNT, SIZE);
            id.initialize(queuePair);
            messages.postReceives();
        }

        void sendTo(UdParameters way) {
            messages.sendTo(domain.createAddressHandle(way.addressVector()), way.queuePairNumber(), way.qkey());
        }
    }

    /** What udaddy cannot be told. */
    private static final int UDADDY_PORT = 7174;

    @Test
    void shouldTalkToUdaddyAsClient() throws Exception {
        List<SynchronousId> ids = new ArrayList<>();
        try (Program server = Program.start("udaddy", "-b", SECOND, "-c", Integer.toString(CONNECTIONS));
                VerbsArena arena = VerbsArena.ofConfined()) {
            List<Datagrams> sides = new ArrayList<>();
            List<UdParameters> ways = new ArrayList<>();
            for (int i = 0; i < CONNECTIONS; i++) {
                reach(server, () -> {
                    SynchronousId id = SynchronousId.create(PortSpace.UDP);
                    ids.add(id);
                    id.resolve(Lab.first(0), Lab.second(UDADDY_PORT), Lab.SECONDS);
                    Datagrams side = new Datagrams(arena, id.id());
                    ways.add(id.connect(side.queuePair, new ConnectionParameters(), Duration.ofSeconds(5))
                            .datagram());
                    return sides.add(side);
                });
            }
            for (int i = 0; i < CONNECTIONS; i++) {
                sides.get(i).sendTo(ways.get(i));
            }
            for (Datagrams side : sides) {
                side.messages.receive();
            }
            server.assertSucceeds();
            assertTrue(server.output().contains("data transfers complete"), server::toString);
        } finally {
            ids.forEach(SynchronousId::close);
        }
    }

    @Test
    void shouldTalkToUdaddyAsServer() throws Exception {
        try (EventChannel channel = EventChannel.create();
                VerbsArena arena = VerbsArena.ofConfined();
                CmId listener = channel.createId(PortSpace.UDP)) {
            listener.bind(Lab.second(UDADDY_PORT));
            listener.listen(CONNECTIONS);
            try (Program client =
                    Program.start("udaddy", "-s", SECOND, "-b", FIRST, "-c", Integer.toString(CONNECTIONS))) {
                List<Datagrams> sides = new ArrayList<>();
                for (int i = 0; i < CONNECTIONS; i++) {
                    CmId id =
                            CmEvents.await(channel, CmEventType.CONNECT_REQUEST).id();
                    Datagrams side = new Datagrams(arena, id);
                    sides.add(side);
                    id.accept(side.queuePair, new ConnectionParameters());
                }
                for (Datagrams side : sides) {
                    Messages messages = side.messages;
                    messages.receive();
                    AddressHandle back = side.domain.createAddressHandle(
                            messages.completions, 0, messages.routingHeader(), listener.port());
                    messages.sendTo(
                            back,
                            messages.completions.immediate(0),
                            side.queuePair.query().qkey());
                }
                client.assertSucceeds();
                assertTrue(client.output().contains("data transfers complete"), client::toString);
            }
        }
    }

    @Test
    void shouldSendToMckey() throws Exception {
        InetSocketAddress group = new InetSocketAddress("239.77.0.11", 0);
        try (Program receiver = Program.start("mckey", "-m", "239.77.0.11", "-b", SECOND);
                SynchronousId sender = SynchronousId.create(PortSpace.UDP);
                VerbsArena arena = VerbsArena.ofConfined()) {
            receiver.await("joined dgid");
            sender.id().bind(Lab.first(0));
            Datagrams side = new Datagrams(arena, sender.id());
            side.sendTo(sender.joinMulticast(group, Lab.SECONDS));
            receiver.assertSucceeds();
            assertTrue(receiver.output().contains("data transfers complete"), receiver::toString);
            sender.id().leaveMulticast(group);
        }
    }

    @Test
    void shouldReceiveFromMckey() throws Exception {
        InetSocketAddress group = new InetSocketAddress("239.77.0.12", 0);
        try (SynchronousId receiver = SynchronousId.create(PortSpace.UDP);
                VerbsArena arena = VerbsArena.ofConfined()) {
            receiver.id().bind(Lab.second(0));
            Datagrams side = new Datagrams(arena, receiver.id());
            UdParameters joined = receiver.joinMulticast(group, Lab.SECONDS);
            side.queuePair.attachMulticast(
                    joined.addressVector().destination(), joined.addressVector().lid());
            try (Program sender = Program.start("mckey", "-m", "239.77.0.12", "-b", FIRST, "-s")) {
                side.messages.receive();
                sender.assertSucceeds();
            }
            assertTrue(side.messages.completions.hasImmediate(0));
            side.queuePair.detachMulticast(
                    joined.addressVector().destination(), joined.addressVector().lid());
            receiver.id().leaveMulticast(group);
        }
    }
}
