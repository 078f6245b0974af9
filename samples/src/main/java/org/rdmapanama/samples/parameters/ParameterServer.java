package org.rdmapanama.samples.parameters;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.samples.calls.CallMessage;
import org.rdmapanama.samples.calls.CallServer;
import org.rdmapanama.samples.calls.Service;

/**
 * Keeps weights, which begin as zeros. Clients read them by RDMA READ and add to them as {@link Adding} says. A weight is a number of
 * {@link FixedPoint}: 8 bytes, which are read and added to as a whole. A READ of many weights may see some of them earlier than
 * others, which the training bears.
 *
 * <p>Threads: any.
 */
public final class ParameterServer implements AutoCloseable {
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** The one request: add the numbers that follow to the weights from a place on. */
    static final int ADD = 1;

    static final int OK = 0;
    static final int OUT_OF_RANGE = 1;

    private static final VarHandle WEIGHT = LONG.varHandle();
    private static final long CACHE_LINE = 64;

    private final int count;
    private final Adding adding;
    private final MemorySegment memory;
    private final Map<ProtectionDomain, MemoryRegion> regions = new HashMap<>();
    private final CallServer server;

    private ParameterServer(InetSocketAddress address, int count, Adding adding, int maxClients) {
        this.count = count;
        this.adding = adding;
        memory = Arena.ofAuto().allocate((long) count * Long.BYTES, CACHE_LINE);
        server = CallServer.start(
                address,
                new Service() {
                    @Override
                    public boolean accepts(byte[] privateData) {
                        return Place.isHello(privateData);
                    }

                    @Override
                    public Client connecting(RdmaConnection connection) {
                        return client(connection.protectionDomain());
                    }
                },
                Place.MESSAGE_BYTES,
                maxClients);
    }

    /**
     * Starts a server.
     *
     * @param address where it listens
     * @param count how many weights it has
     * @param adding who adds to them
     * @param maxClients how many clients it serves at once
     * @return the server
     * @throws IllegalArgumentException when there cannot be as many weights
     * @throws org.rdmapanama.VerbsException when it cannot listen there
     */
    public static ParameterServer start(InetSocketAddress address, int count, Adding adding, int maxClients) {
        if (count < 1 || count > Place.MAX_COUNT) {
            throw new IllegalArgumentException("count must be between 1 and " + Place.MAX_COUNT + ": " + count);
        }
        return new ParameterServer(address, count, adding, maxClients);
    }

    private Service.Client client(ProtectionDomain domain) {
        return new Service.Client() {
            @Override
            public byte[] greeting() {
                MemoryRegion region = region(domain);
                return new Place(region.address(), region.rkey(), count, adding).bytes();
            }

            @Override
            public int answer(MemorySegment request, MemorySegment answer) {
                CallMessage.write(answer, add(request), 0, 0);
                return CallMessage.HEADER;
            }
        };
    }

    private MemoryRegion region(ProtectionDomain domain) {
        synchronized (regions) {
            return regions.computeIfAbsent(
                    domain,
                    each -> adding == Adding.ATOMICS
                            ? each.register(
                                    memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC)
                            : each.register(memory, AccessFlag.REMOTE_READ));
        }
    }

    /** Adds all numbers of a request or, if one is out of range, none; clients may add to the same weights meanwhile. */
    private int add(MemorySegment request) {
        int from = CallMessage.first(request);
        int numbers = CallMessage.second(request);
        long bytes = request.byteSize() - CallMessage.HEADER;
        if (CallMessage.kind(request) != ADD
                || adding != Adding.SENT
                || numbers < 1
                || bytes != (long) numbers * Long.BYTES
                || from < 0
                || from > count - numbers) {
            throw new Service.BadRequestException("request " + CallMessage.kind(request) + " of " + bytes
                    + " bytes for " + numbers + " weights from " + from + " on");
        }
        synchronized (memory) {
            for (int i = 0; i < numbers; i++) {
                long delta = request.get(LONG, CallMessage.HEADER + (long) i * Long.BYTES);
                if (!FixedPoint.mayBeAdded(delta) || FixedPoint.overflows(number(from + i), delta)) {
                    return OUT_OF_RANGE;
                }
            }
            for (int i = 0; i < numbers; i++) {
                long delta = request.get(LONG, CallMessage.HEADER + (long) i * Long.BYTES);
                WEIGHT.setRelease(memory, (long) (from + i) * Long.BYTES, number(from + i) + delta);
            }
        }
        return OK;
    }

    /** Returns a weight as a number of fixed point. */
    long number(int index) {
        return (long) WEIGHT.getAcquire(memory, (long) index * Long.BYTES);
    }

    /** Returns the weights as they are now. */
    public double[] weights() {
        double[] weights = new double[count];
        for (int i = 0; i < count; i++) {
            weights[i] = FixedPoint.toDouble(number(i));
        }
        return weights;
    }

    /** Returns where it listens. */
    public InetSocketAddress address() {
        return server.address();
    }

    @Override
    public void close() {
        server.close();
    }
}
