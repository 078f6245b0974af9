package org.rdmapanama.rsocket;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import org.rdmapanama.ffm.NativeLibrary;

/**
 * Works around a fault of librdmacm before rdma-core 55. Two threads of its own, one for rsockets that listen and one
 * for those that connect or are connected, keep an array of rsockets that grows by four when it is full, and then go on
 * using the old, freed one: the fourth rsocket of a process begins to corrupt memory, and about the eighth crashes it.
 *
 * <p>The arrays also grow by four each time that such a thread starts, and a thread starts when there is an rsocket for
 * it again and ends when there is none. So before the first rsocket is used, a few that lead nowhere are opened and
 * closed, until the arrays are large enough for all that this process will need; and more than that are refused. If they
 * do not get that large, for want of descriptors or of an address to connect to, fewer rsockets are let through, and it is
 * tried again when there is none.
 *
 * <p>A library whose version is not known counts as one with the fault.
 */
final class Services {
    private static final int FIRST_SOUND_VERSION = 55;
    private static final int GROWTH = 4;
    private static final int MOST_REFUSALS = 100;

    /** How many rsockets a process can have where librdmacm is at fault; that many sockets cost a moment at first use. */
    private static final int MOST = Math.max(GROWTH, Integer.getInteger("org.rdmapanama.rsocket.most", 256));

    /** Nobody listens there. */
    private static final int IDLE_PORT = 1;

    private static final boolean AT_FAULT = NativeLibrary.RDMACM
            .version()
            .map(version -> Integer.parseInt(version) < FIRST_SOUND_VERSION)
            .orElse(true);

    private static int open;

    /** How large the arrays are at least, one place of which is librdmacm's own, once their threads run. */
    private static int listeningSize = GROWTH;

    private static int connectingSize = GROWTH;

    private Services() {}

    /** To be called before an rsocket is opened or accepted. */
    static synchronized void reserve() throws SocketException {
        if (AT_FAULT && open == 0) {
            prepare();
        }
        int room = Math.min(MOST, Math.min(listeningSize, connectingSize));
        if (AT_FAULT && open + 1 >= room) {
            throw new SocketException("this process has " + open + " rsockets, and with rdma-core "
                    + NativeLibrary.RDMACM.version().orElse("of an unknown version")
                    + " more would corrupt its memory: close some"
                    + (room < MOST
                            ? ", or close all, allow more open files, and see to an RDMA device with an address"
                            : ", start with -Dorg.rdmapanama.rsocket.most=NUMBER")
                    + ", or install rdma-core " + FIRST_SOUND_VERSION);
        }
        open++;
    }

    /** One is gone, or did not come to be. */
    static synchronized void release() {
        open--;
    }

    /** To be called while there is no rsocket: otherwise the threads of librdmacm do not start anew. */
    private static void prepare() {
        try (Arena arena = Arena.ofConfined()) {
            if (listeningSize < MOST) {
                MemorySegment any = SocketAddresses.toNative(arena, new InetSocketAddress(0));
                while (listeningSize < MOST && listenOnce(any)) {
                    listeningSize += GROWTH;
                }
            }
            // With descriptors for listening there are enough for connecting, which would not tell that they lack.
            if (listeningSize >= MOST && connectingSize < MOST) {
                growConnecting(arena);
            }
        }
    }

    private static boolean listenOnce(MemorySegment address) {
        int socket = Rsockets.socket(Rsockets.AF_INET);
        if (socket < 0) {
            return false;
        }
        boolean listened = Rsockets.bind(socket, address) == 0 && Rsockets.listen(socket, 1) == 0;
        Rsockets.close(socket);
        return listened;
    }

    /** The addresses of this host serve to find one that an RDMA device has. Nothing is sent: it ends too soon for that. */
    private static void growConnecting(Arena arena) {
        InetSocketAddress[] own;
        try {
            own = NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .filter(address -> !address.isLoopbackAddress())
                    .map((InetAddress address) -> new InetSocketAddress(address, IDLE_PORT))
                    .toArray(InetSocketAddress[]::new);
        } catch (SocketException e) {
            return;
        }
        for (InetSocketAddress address : own) {
            MemorySegment target = SocketAddresses.toNative(arena, address);
            int refusals = 0;
            while (connectingSize < MOST && refusals < MOST_REFUSALS) {
                int result = connectOnce(target);
                if (result == -Rsockets.EINPROGRESS) {
                    connectingSize += GROWTH;
                } else if (result == -Rsockets.ECONNREFUSED) {
                    refusals++; // The answer came so fast that the thread was not needed.
                } else {
                    break;
                }
            }
        }
    }

    /** What rconnect says. */
    private static int connectOnce(MemorySegment address) {
        int socket = Rsockets.socket(Rsockets.AF_INET);
        if (socket < 0) {
            return socket;
        }
        Rsockets.setNonBlocking(socket);
        int result = Rsockets.connect(socket, address);
        Rsockets.close(socket);
        return result;
    }
}
