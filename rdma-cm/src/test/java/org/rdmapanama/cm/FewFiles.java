package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.testing.Lab;

/** A program that uses up its files, in a process of its own. Prints what fails, and what works nevertheless. */
final class FewFiles {
    private static final int MOST = 1000;

    private FewFiles() {}

    /**
     * Takes the port of a listener.
     *
     * @param arguments the port
     */
    public static void main(String... arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        // Classes are loaded from files: so all of them are used once before.
        try (VerbsArena arena = VerbsArena.ofShared();
                TwoIds first = TwoIds.listening(PortSpace.UDP, port)) {
            System.out.println("request " + first.request().type());
            System.out.println("listen " + listen(arena, new InetSocketAddress("192.0.2.1", 0)));
            System.out.println("connect " + connect(arena, new InetSocketAddress("192.0.2.1", 0)));
        }
        try (VerbsArena arena = VerbsArena.ofShared();
                TwoIds ids = TwoIds.listening(PortSpace.UDP, port)) {
            List<EventChannel> channels = new ArrayList<>();
            ConnectionException full = fill(channels);
            ConnectionException listening = listen(arena, Lab.second(port + 1));
            ConnectionException connecting = connect(arena, Lab.second(port));
            CmEvent request = ids.request();
            CmId id = channels.getFirst().createId(PortSpace.TCP);
            id.bind(Lab.second(0));
            channels.forEach(EventChannel::close);
            System.out.println("full " + full);
            System.out.println("listening " + listening);
            System.out.println("connecting " + connecting);
            System.out.println("request still " + request.type());
            try (EventChannel again = EventChannel.create()) {
                System.out.println("again " + again.isOpen());
            }
        }
    }

    private static ConnectionException fill(List<EventChannel> channels) {
        try {
            while (channels.size() < MOST) {
                channels.add(EventChannel.create());
            }
            throw new AssertionError("nothing fails");
        } catch (ConnectionException e) {
            return e;
        }
    }

    private static ConnectionException listen(VerbsArena arena, InetSocketAddress address) {
        try (RdmaServer server = RdmaServer.listen(arena, address)) {
            throw new AssertionError(server.toString());
        } catch (ConnectionException e) {
            return e;
        }
    }

    private static ConnectionException connect(VerbsArena arena, InetSocketAddress address)
            throws InterruptedException {
        try (RdmaConnection connection = new RdmaClient(arena).connect(address, Duration.ofSeconds(2))) {
            throw new AssertionError(connection.toString());
        } catch (ConnectionException e) {
            return e;
        }
    }
}
