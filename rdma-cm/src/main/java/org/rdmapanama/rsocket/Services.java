package org.rdmapanama.rsocket;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.SocketAddresses;

/**
 * Works around a memory corruption in librdmacm before rdma-core 55. Two service threads of librdmacm, one for
 * listening rsockets and one for connecting and connected ones, each keep an array of rsockets that grows by four when
 * it is full, and then continue to use the old, freed array: the fourth rsocket of a process corrupts memory, and about
 * the eighth crashes the process.
 *
 * <p>The arrays also grow by four whenever such a thread starts, and a thread starts with its first rsocket and ends
 * with its last one. So before the first rsocket is used, this class opens and closes dummy rsockets until the arrays
 * are large enough for the limit, and refuses rsockets beyond it. If the arrays cannot get that large, because
 * descriptors or an address to connect to are missing, the limit is lower, and growing is tried again when no rsocket
 * is open.
 *
 * <p>A library of unknown version is treated as affected. {@link NativeSocket} calls {@link #reserve} and {@link
 * #release} from any thread; the monitor of the class guards all state.
 */
final class Services {
    private static final int FIRST_SOUND_VERSION = 55;
    private static final int GROWTH = 4;
    private static final int MOST_REFUSALS = 100;

    /** The limit of rsockets per process with an affected librdmacm. A higher limit makes the first use slower. */
    private static final int MOST = Math.max(GROWTH, Integer.getInteger("org.rdmapanama.rsocket.most", 256));

    /** A port that no program listens at. */
    private static final int IDLE_PORT = 1;

    private static final boolean AT_FAULT = NativeLibrary.RDMACM
            .version()
            .map(version -> Integer.parseInt(version) < FIRST_SOUND_VERSION)
            .orElse(true);

    private static int open;

    /** The least sizes of the arrays once their threads run; librdmacm uses one place of each itself. */
    private static int listeningSize = GROWTH;

    private static int connectingSize = GROWTH;

    private Services() {}

    /** Counts an rsocket before it is opened or accepted; throws if it would exceed the limit. */
    static synchronized void reserve() throws SocketException {
        if (AT_FAULT && open == 0) {
            prepare();
        }
        int room = Math.min(MOST, Math.min(listeningSize, connectingSize));
        if (AT_FAULT && open + 1 >= room) {
            throw new SocketException(
                    "this process has " + open + " rsockets, and more would corrupt its memory with rdma-core "
                            + NativeLibrary.RDMACM.version().orElse("of unknown version")
                            + ": close some"
                            + (room < MOST
                                    ? ", or close all, raise the limit of open files, and give an RDMA device an IP address"
                                    : ", start Java with -Dorg.rdmapanama.rsocket.most=NUMBER")
                            + ", or install rdma-core " + FIRST_SOUND_VERSION + " or later");
        }
        open++;
    }

    /** Uncounts an rsocket that was closed, or could not be opened. */
    static synchronized void release() {
        open--;
    }

    /** Grows the arrays. No rsocket may be open, or the threads of librdmacm would not start anew. */
    private static void prepare() {
        try (Arena arena = Arena.ofConfined()) {
            if (listeningSize < MOST) {
                MemorySegment any = RsocketAddresses.toNative(arena, new InetSocketAddress(0));
                while (listeningSize < MOST && listenOnce(any)) {
                    listeningSize += GROWTH;
                }
            }
            // Connecting would not report a lack of descriptors; if listening succeeds, there are enough.
            if (listeningSize >= MOST && connectingSize < MOST) {
                growConnecting(arena);
            }
        }
    }

    private static boolean listenOnce(MemorySegment address) {
        int socket = Rsockets.socket(SocketAddresses.AF_INET);
        if (socket < 0) {
            return false;
        }
        boolean listened = Rsockets.bind(socket, address) == 0 && Rsockets.listen(socket, 1) == 0;
        Rsockets.close(socket);
        return listened;
    }

    /** Connects to each address of this host, to find one of an RDMA device. Each attempt is closed before it sends. */
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
            MemorySegment target = RsocketAddresses.toNative(arena, address);
            int refusals = 0;
            while (connectingSize < MOST && refusals < MOST_REFUSALS) {
                int result = connectOnce(target);
                if (result == -Errno.EINPROGRESS) {
                    connectingSize += GROWTH;
                } else if (result == -Errno.ECONNREFUSED) {
                    refusals++; // Refused at once, so the thread was not started.
                } else {
                    break;
                }
            }
        }
    }

    /** Starts to connect a dummy rsocket, closes it and returns the result of rconnect. */
    private static int connectOnce(MemorySegment address) {
        int socket = Rsockets.socket(SocketAddresses.AF_INET);
        if (socket < 0) {
            return socket;
        }
        Rsockets.setNonBlocking(socket);
        int result = Rsockets.connect(socket, address);
        Rsockets.close(socket);
        return result;
    }
}
