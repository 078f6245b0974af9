package org.rdmapanama.internal.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.VerbsException;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.address.GidType;
import org.rdmapanama.ffm.Descriptors;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.ffm.internal.FreeDescriptors;

class SystemNetworkTest {
    private static final int LOOPBACK = 1;
    private static final int NOBODY = 4_000_000;
    private static final SystemNetwork NETWORK = SystemNetwork.INSTANCE;
    private static final InetAddress PEER = InetAddress.ofLiteral("127.0.0.9");

    /** The first is of an interface that is not here, as that of a container. */
    private static final List<GidEntry> TABLE = List.of(entry(0, "10.88.0.1", NOBODY), entry(1, "127.0.0.1", LOOPBACK));

    private static GidEntry entry(int index, String address, int netDevice) {
        return new GidEntry(1, index, Gid.of(InetAddress.ofLiteral(address)), GidType.ROCE_V2, netDevice);
    }

    private static Optional<GidEntry> best() {
        return GidChoice.best(TABLE, null, null, NETWORK);
    }

    @Test
    void shouldKnowTheLoopbackInterface() {
        InetAddress own = InetAddress.ofLiteral("127.0.0.1");
        assertTrue(NETWORK.addresses().stream()
                .anyMatch(each ->
                        each.interfaceIndex() == LOOPBACK && each.address().equals(own)));
        assertTrue(NETWORK.hasInterface(LOOPBACK));
        assertEquals(Optional.of("lo"), SystemNetwork.nameOf(LOOPBACK));
        assertFalse(NETWORK.hasInterface(NOBODY));
        assertEquals(own, NETWORK.sourceTo(PEER));
        assertNull(NETWORK.sourceTo(InetAddress.ofLiteral("fe80::9")), "which link that is, it does not tell");
        assertEquals(Optional.of(TABLE.getLast()), best());
    }

    @Test
    void shouldKnowTheWayOnAThreadThatIsInterrupted() {
        Thread.currentThread().interrupt();
        try {
            assertEquals(InetAddress.ofLiteral("127.0.0.1"), NETWORK.sourceTo(PEER));
        } finally {
            assertTrue(Thread.interrupted());
        }
    }

    /** Each for the first time in a process, which may be the one that it remembers. */
    @ParameterizedTest
    @ValueSource(strings = {"addresses", "hasInterface", "sourceTo", "best"})
    void shouldSayThatThereAreNoDescriptors(String question) throws Exception {
        // Where there are enough, it works for the first time, too.
        for (int left : new int[] {0, 1, FreeDescriptors.FEW - 1, FreeDescriptors.FEW}) {
            try (Program program = Program.java(
                    List.of("prlimit", "--nofile=200:200"), WithFew.class, question, Integer.toString(left))) {
                program.assertSucceeds();
            }
        }
    }

    /** Asks with so many descriptors left, and then again. */
    static final class WithFew {
        private WithFew() {}

        private static Object ask(String question) {
            return switch (question) {
                case "addresses" -> NETWORK.addresses();
                case "hasInterface" -> NETWORK.hasInterface(LOOPBACK);
                case "sourceTo" -> NETWORK.sourceTo(PEER);
                case "best" -> best();
                default -> throw new AssertionError(question);
            };
        }

        @SuppressWarnings("try") // it is only there
        public static void main(String... arguments) throws Exception {
            String question = arguments[0];
            int left = Integer.parseInt(arguments[1]);
            Descriptors.loadClasses(SystemNetwork.class);
            Descriptors.loadClasses(FreeDescriptors.class);
            Descriptors.loadClasses(WithFew.class);
            assertEquals(2, TABLE.size());
            Object found = null;
            VerbsException failure = null;
            try (Descriptors few = Descriptors.leave(left)) {
                found = ask(question);
            } catch (VerbsException e) {
                failure = e;
            }
            Object right = ask(question);
            if (failure == null) {
                assertTrue(left > 0, "it takes descriptors");
                assertEquals(right, found);
            } else {
                assertEquals("EMFILE", failure.errnoName());
                assertEquals(FreeDescriptors.CURE, failure.cure());
                assertTrue(left < FreeDescriptors.FEW);
            }
            // What the JDK failed to initialize would be lost for good.
            SocketChannel.open().close();
            Descriptors.exhaust(
                    question,
                    e -> e instanceof VerbsException known && known.errnoName().equals("EMFILE"),
                    () -> {
                        assertEquals(right, ask(question));
                        return null;
                    });
        }
    }
}
