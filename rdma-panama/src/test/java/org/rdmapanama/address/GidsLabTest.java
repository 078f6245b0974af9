package org.rdmapanama.address;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Commands;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.DummyDevice;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;

/** Ports whose network interfaces have something upon them, and what is chosen of their GIDs. The kernel makes them. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GidsLabTest {
    private static final Duration LONG = Duration.ofSeconds(10);
    private static final String NAMESPACE = "container9";

    private static void await(BooleanSupplier condition, String what) throws InterruptedException {
        Bound.of(LONG).await(what, condition::getAsBoolean);
    }

    private static boolean has(Context context, String address) {
        Gid gid = Gid.of(InetAddress.ofLiteral(address));
        return context.queryGidTable().stream().anyMatch(entry -> entry.gid().equals(gid));
    }

    private static void awaitGid(Context context, String address) throws InterruptedException {
        await(() -> has(context, address), "the table never had " + address);
    }

    private static void ip(String arguments) throws IOException {
        String[] words = ("ip " + arguments).split(" ");
        Commands.run(words);
    }

    private static String chosen(Context context, String peer) {
        return context.preferredGid(1, InetAddress.ofLiteral(peer))
                .orElseThrow()
                .gid()
                .toInetAddress()
                .getHostAddress();
    }

    private static String chosen(Context context) {
        return context.preferredGid(1).orElseThrow().gid().toInetAddress().getHostAddress();
    }

    @Test
    void shouldChooseTheVlanThatThePeerIsOn() throws Exception {
        try (DummyDevice dummy = DummyDevice.add();
                VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, dummy.device());
            dummy.addAddress("10.79.0.1/24");
            ip("link add link dummy9 name dummy9.7 type vlan id 7");
            ip("address add 10.79.7.1/24 dev dummy9.7");
            ip("link set dummy9.7 up");
            ip("route add 10.79.99.0/24 via 10.79.7.254");
            awaitGid(context, "10.79.0.1");
            awaitGid(context, "10.79.7.1");
            assertEquals("10.79.0.1", chosen(context), "the first");
            assertEquals("10.79.0.1", chosen(context, "10.79.0.5"));
            assertEquals("10.79.7.1", chosen(context, "10.79.7.5"));
            assertEquals("10.79.7.1", chosen(context, "10.79.99.5"), "through a router");
            assertEquals("10.79.0.1", chosen(context, "127.0.0.1"), "which is no address of the port");

            QueuePair queuePair = context.allocateProtectionDomain()
                    .createQueuePair(new QueuePairOptions(QueuePairType.RC, context.createCompletionQueue(1)));
            InetAddress peer = InetAddress.ofLiteral("10.79.7.5");
            Endpoint told = queuePair.localEndpoint(new ConnectOptions().peer(peer));
            assertEquals(Gid.of(InetAddress.ofLiteral("10.79.7.1")), told.gid());
        }
    }

    @Test
    void shouldNotChooseTheAddressOfAContainer() throws Exception {
        try (DummyDevice dummy = DummyDevice.add();
                VerbsArena arena = VerbsArena.ofConfined()) {
            ip("netns add " + NAMESPACE);
            try {
                Context context = Context.open(arena, dummy.device());
                ip("link add link dummy9 name dummy9.8 type vlan id 8");
                ip("link set dummy9.8 netns " + NAMESPACE);
                ip("-n " + NAMESPACE + " address add 10.79.8.1/24 dev dummy9.8");
                ip("-n " + NAMESPACE + " link set dummy9.8 up");
                awaitGid(context, "10.79.8.1");
                dummy.addAddress("10.79.0.1/24");
                awaitGid(context, "10.79.0.1");
                GidEntry first = context.queryGidTable().stream()
                        .filter(entry -> entry.gid().isIpv4Mapped())
                        .findFirst()
                        .orElseThrow();
                assertEquals("10.79.8.1", first.gid().toInetAddress().getHostAddress(), "or nothing is shown");
                assertEquals("10.79.0.1", chosen(context));
                assertEquals("10.79.0.1", chosen(context, "10.79.8.5"));
            } finally {
                ip("netns delete " + NAMESPACE);
            }
        }
    }

    private static void setMtu(Context context, String interfaceName, int bytes, Mtu becomes) throws Exception {
        ip("link set " + interfaceName + " mtu " + bytes);
        await(() -> context.queryPort(1).activeMtu() == becomes, "the port never had an MTU of " + becomes);
    }

    /** As between two hosts of which one has jumbo frames. */
    @Test
    void shouldConnectPortsOfDifferentMtu() throws Exception {
        LabDevices.assumeSoftRoce("the test changes the network");
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context first = Context.open(arena, LabDevices.first());
            Mtu usual = first.queryPort(1).activeMtu();
            assertEquals(Mtu.BYTES_1024, usual);
            setMtu(first, "veth0", 5000, Mtu.BYTES_4096);
            try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
                FillPattern.fill(pair.a.memory, 5);
                pair.a.post(pair.writeToB(1, 0, 8192));
                pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
                assertEquals(-1, pair.a.memory.asSlice(0, 8192).mismatch(pair.b.memory.asSlice(0, 8192)));
                pair.b.post(pair.b.request(2, 0, 8192).rdmaWrite(pair.a.region.address(), pair.a.region.rkey()));
                pair.b.await().is(CompletionOpcode.RDMA_WRITE, 2);
                assertEquals(
                        usual,
                        pair.a.queuePair.query(QueuePairAttribute.PATH_MTU).pathMtu());
                assertEquals(
                        usual,
                        pair.b.queuePair.query(QueuePairAttribute.PATH_MTU).pathMtu());
            } finally {
                setMtu(first, "veth0", 1500, usual);
            }
        }
    }
}
