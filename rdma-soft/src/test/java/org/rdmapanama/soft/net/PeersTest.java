package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.rdmapanama.testing.Bound;

class PeersTest {
    private static final InetSocketAddress OWN = socket(0);
    private static final int STRANGERS = 10 * Peers.MOST_RECENT;

    private final Peers peers = new Peers(address -> false, OWN);

    private static InetSocketAddress socket(int number) {
        return new InetSocketAddress(InetAddress.ofLiteral("10." + number / 60_000 + ".0.1"), 1 + number % 60_000);
    }

    private void strangersCome() {
        for (int i = 1; i <= STRANGERS; i++) {
            peers.at(socket(i));
        }
    }

    @Test
    void shouldRememberSomeStrangers() {
        Peer one = peers.at(socket(1));
        assertSame(one, peers.at(socket(1)));
        strangersCome();
        assertTrue(peers.count() <= Peers.MOST_RECENT, () -> peers.count() + " peers");
    }

    @Test
    void shouldRememberWhomTheProgramSendsTo() {
        InetSocketAddress address = socket(100_000);
        Peer met = peers.at(address);
        Peer held = peers.ofPath(address);
        assertSame(met, held);
        assertSame(held, peers.ofPath(address));
        strangersCome();
        assertSame(held, peers.at(address));
        strangersCome();
        assertSame(held, peers.ofPath(address));
    }

    @Test
    void shouldForgetThemWhenNothingRefersToThem() throws InterruptedException {
        for (int i = 0; i < STRANGERS; i++) {
            peers.ofPath(socket(100_000 + i));
        }
        strangersCome();
        Bound bound = Bound.usual();
        while (peers.count() > Peers.MOST_RECENT + 1) {
            bound.check(() -> peers.count() + " peers are remembered");
            System.gc();
            Thread.sleep(1);
            assertEquals(OWN, peers.ofPath(OWN).address);
        }
    }
}
