package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** The sockets of other processes, in one: to the kernel it makes no difference. */
@EnabledOnOs(OS.LINUX)
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are only there
class PeerProcessesTest {
    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

    private final BlockingQueue<InetSocketAddress> gone = new LinkedBlockingQueue<>();

    private PeerProcesses watcher() throws Exception {
        // It need not be watched itself.
        try (ServerSocket taken = new ServerSocket(0, 1, LOOPBACK)) {
            return PeerProcesses.open("watcher", taken.getLocalPort(), gone::add);
        }
    }

    /** One as soft0 has it. */
    private static DatagramChannel socket() throws IOException {
        return DatagramChannel.open(StandardProtocolFamily.INET).bind(new InetSocketAddress(LOOPBACK, 0));
    }

    private static InetSocketAddress placeOf(DatagramChannel socket) throws IOException {
        return (InetSocketAddress) socket.getLocalAddress();
    }

    @Test
    void shouldNoticeTheEndOfAProcess() throws Exception {
        try (PeerProcesses watcher = watcher()) {
            DatagramChannel socket = socket();
            InetSocketAddress place = placeOf(socket);
            PeerProcesses peer = PeerProcesses.open("peer", place.getPort(), each -> {});
            watcher.watch(place);
            watcher.watch(place);
            // The peer watches somebody as well, so it takes the connection.
            DatagramChannel other = socket();
            peer.watch(placeOf(other));
            other.close();
            assertNull(gone.poll(300, TimeUnit.MILLISECONDS));
            socket.close();
            peer.close();
            assertEquals(place, gone.poll(30, TimeUnit.SECONDS));
            // Its successor is watched anew.
            watcher.watch(place);
            assertEquals(place, gone.poll(30, TimeUnit.SECONDS));
            assertEquals(0, gone.size());
        }
    }

    /** Anybody may listen there, and end connections, or speak. */
    @Test
    void shouldNotTakeTheEndOfAConnectionForThatOfTheProcess() throws Exception {
        try (PeerProcesses watcher = watcher();
                DatagramChannel socket = socket();
                ServerSocket stranger = new ServerSocket(placeOf(socket).getPort(), 1, LOOPBACK)) {
            InetSocketAddress place = placeOf(socket);
            awaitLink(watcher, place, stranger).close();
            // After a while the watcher drops the peer, until a caller asks for it again.
            try (Socket link = awaitLink(watcher, place, stranger)) {
                link.getOutputStream().write(1);
                assertEquals(-1, link.getInputStream().read());
            }
            Socket link = awaitLink(watcher, place, stranger);
            assertEquals(0, gone.size());
            socket.close();
            link.close();
            assertEquals(place, gone.poll(30, TimeUnit.SECONDS));
        }
    }

    /** Asks for the peer to be watched until it is. */
    private static Socket awaitLink(PeerProcesses watcher, InetSocketAddress place, ServerSocket stranger)
            throws IOException {
        stranger.setSoTimeout(100);
        while (true) {
            watcher.watch(place);
            try {
                return stranger.accept();
            } catch (SocketTimeoutException e) {
                // It still looks what has become of the last connection. The test has a time limit.
            }
        }
    }

    @Test
    void shouldEndWithConnectionsOpen() throws Exception {
        DatagramChannel socket = socket();
        PeerProcesses peer = PeerProcesses.open("peer", placeOf(socket).getPort(), each -> {});
        PeerProcesses watcher = watcher();
        watcher.watch(placeOf(socket));
        watcher.close();
        watcher.watch(placeOf(socket));
        peer.close();
        socket.close();
        assertEquals(0, gone.size());
    }
}
