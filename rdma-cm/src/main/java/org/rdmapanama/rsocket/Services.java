package org.rdmapanama.rsocket;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.ffm.NativeLibrary;

/**
 * Works around a fault of librdmacm before rdma-core 55. Two threads of its own, one for rsockets that listen and one
 * for those that connect or are connected, keep an array of rsockets that grows by four when it is full, and then go on
 * using the old, freed one: the fourth rsocket of a process begins to corrupt memory, and about the eighth crashes it.
 *
 * <p>The arrays also grow by four each time that such a thread starts, and a thread starts when there is an rsocket for
 * it again and ends when there is none. So before the first rsocket is used, a few that lead nowhere are opened and
 * closed, until the arrays are large enough for all that this process will need; and more than that are refused.
 */
final class Services {
    private static final int FIRST_SOUND_VERSION = 55;
    private static final int GROWTH = 4;

    /** How many rsockets a process can have where librdmacm is at fault; that many sockets cost a moment at first use. */
    private static final int MOST = Math.max(GROWTH, Integer.getInteger("org.rdmapanama.rsocket.most", 256));

    /** Nobody listens there. */
    private static final int IDLE_PORT = 1;

    private static final AtomicInteger OPEN = new AtomicInteger();

    private static final boolean AT_FAULT = NativeLibrary.RDMACM
            .version()
            .map(version -> Integer.parseInt(version) < FIRST_SOUND_VERSION)
            .orElse(false);

    private static boolean prepared;

    private Services() {}

    /** To be called before an rsocket is opened or accepted. */
    static void reserve() throws SocketException {
        if (AT_FAULT) {
            prepare();
        }
        if (OPEN.incrementAndGet() >= MOST && AT_FAULT) {
            OPEN.decrementAndGet();
            throw new SocketException("this process has " + (MOST - 1) + " rsockets, and with rdma-core "
                    + NativeLibrary.RDMACM.version().orElse("")
                    + " more would corrupt its memory: close some, start with"
                    + " -Dorg.rdmapanama.rsocket.most=NUMBER, or install rdma-core " + FIRST_SOUND_VERSION);
        }
    }

    /** One is gone, or did not come to be. */
    static void release() {
        OPEN.decrementAndGet();
    }

    private static synchronized void prepare() {
        if (prepared) {
            return;
        }
        prepared = true;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment any = SocketAddresses.toNative(arena, new InetSocketAddress(0));
            for (int size = 0; size <= MOST && listenOnce(any); size += GROWTH) {
                // Once more.
            }
            growConnecting(arena);
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
            int size = 0;
            while (size <= MOST && connectOnce(target)) {
                size += GROWTH;
            }
            if (size > MOST) {
                return;
            }
        }
    }

    private static boolean connectOnce(MemorySegment address) {
        int socket = Rsockets.socket(Rsockets.AF_INET);
        if (socket < 0) {
            return false;
        }
        Rsockets.setNonBlocking(socket);
        boolean begun = Rsockets.connect(socket, address) == -Rsockets.EINPROGRESS;
        Rsockets.close(socket);
        return begun;
    }
}
