package org.rdmapanama.samples.parameters;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.FailedCompletionException;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.samples.calls.CallClient;
import org.rdmapanama.samples.calls.CallException;
import org.rdmapanama.samples.calls.CallMessage;

/**
 * Reads the weights of a {@link ParameterServer} and adds to them. After an exception, other than that a number is too large,
 * it is of no use any more: what was added is not known then.
 *
 * <p>Threads: one at a time.
 */
public final class ParameterClient implements AutoCloseable {
    /** How much one READ fetches. */
    private static final int READ_BYTES = 1 << 20;

    private final CallClient calls;
    private final Place place;
    private final Duration timeout;
    private final MemoryRegion weights;

    /** What the weights were before atomics added to them. */
    private final MemoryRegion before;

    private ParameterClient(CallClient calls, Place place, Duration timeout) {
        this.calls = calls;
        this.place = place;
        this.timeout = timeout;
        calls.allocateMessages(Place.MESSAGE_BYTES);
        weights = calls.register((int) Math.min(READ_BYTES, (long) place.count() * Long.BYTES));
        before = calls.register(CallClient.DEPTH * Long.BYTES);
    }

    /**
     * Connects to a server.
     *
     * @param arena closes the connection at the latest
     * @param server the address of the server
     * @param timeout how long to wait for an answer, and how long a whole {@link #read} may take
     * @return the client
     * @throws ParameterException when the server cannot be reached, refuses, or is not one of parameters
     * @throws InterruptedException when the thread is interrupted
     */
    public static ParameterClient connect(VerbsArena arena, InetSocketAddress server, Duration timeout)
            throws InterruptedException {
        CallClient calls;
        try {
            calls = CallClient.connect(new RdmaClient(arena), server, Place.hello(), timeout);
        } catch (CallException e) {
            throw new ParameterException(e.getMessage(), e);
        }
        try {
            return new ParameterClient(
                    calls,
                    Place.of(calls.greeting())
                            .orElseThrow(() -> new ParameterException("what answers at " + server
                                    + " has no parameters: give the address of an 'rdma parameters serve'")),
                    timeout);
        } catch (RuntimeException | Error e) {
            calls.close();
            throw e;
        }
    }

    /** Returns how many weights there are. */
    public int count() {
        return place.count();
    }

    /** Returns who adds to them. */
    public Adding adding() {
        return place.adding();
    }

    /**
     * Reads all weights, without the server.
     *
     * @param into where they go, as many as there are
     * @throws ParameterException when the server is gone, or that takes longer than the timeout
     * @throws InterruptedException when the thread is interrupted
     */
    public void read(double[] into) throws InterruptedException {
        read(into, System.nanoTime());
    }

    /** The same for a read that began at a time of {@link System#nanoTime}. */
    void read(double[] into, long start) throws InterruptedException {
        checkLength(into);
        try {
            for (int from = 0; from < into.length; from += READ_BYTES / Long.BYTES) {
                if (from > 0 && System.nanoTime() - start > timeout.toNanos()) {
                    throw new CallException("it has sent " + from + " of " + into.length + " weights in "
                            + timeout.toMillis() + " ms, the limit for all of them: give it more time");
                }
                int some = Math.min(READ_BYTES / Long.BYTES, into.length - from);
                calls.read(place.address() + (long) from * Long.BYTES, place.key(), weights, some * Long.BYTES, start);
                for (int i = 0; i < some; i++) {
                    into[from + i] =
                            FixedPoint.toDouble(weights.memory().get(ParameterServer.LONG, (long) i * Long.BYTES));
                }
            }
        } catch (CallException | FailedCompletionException | VerbsException e) {
            throw failed(e);
        }
    }

    /**
     * Adds to all weights. Each is added to in one step; others may see some of the sums before the rest.
     *
     * @param deltas what is added, as many as there are weights
     * @throws ParameterException when one is larger than {@link FixedPoint} allows, and nothing has been added; when a weight has
     *     left the range of numbers; or when the server is gone
     * @throws InterruptedException when the thread is interrupted
     */
    public void add(double[] deltas) throws InterruptedException {
        checkLength(deltas);
        long[] numbers = new long[deltas.length];
        for (int i = 0; i < deltas.length; i++) {
            numbers[i] = FixedPoint.of(deltas[i]);
        }
        try {
            if (place.adding() == Adding.ATOMICS) {
                addByAtomics(numbers);
            } else {
                send(numbers);
            }
        } catch (CallException | FailedCompletionException | VerbsException e) {
            throw failed(e);
        }
    }

    private void checkLength(double[] numbers) {
        if (numbers.length != place.count()) {
            throw new IllegalArgumentException("there are " + place.count() + " weights, not " + numbers.length);
        }
    }

    private void addByAtomics(long... numbers) throws InterruptedException {
        for (int from = 0; from < numbers.length; from += CallClient.DEPTH) {
            int some = Math.min(CallClient.DEPTH, numbers.length - from);
            for (int i = 0; i < some; i++) {
                long address = place.address() + (long) (from + i) * Long.BYTES;
                calls.postAdd(address, place.key(), numbers[from + i], before, (long) i * Long.BYTES);
            }
            calls.awaitPosted();
            for (int i = 0; i < some; i++) {
                // Devices return the former value in the order of bytes of this machine.
                long old = before.memory().get(java.lang.foreign.ValueLayout.JAVA_LONG, (long) i * Long.BYTES);
                if (FixedPoint.overflows(old, numbers[from + i])) {
                    throw outOfRange();
                }
            }
        }
    }

    private void send(long... numbers) throws InterruptedException {
        for (int from = 0; from < numbers.length; from += Place.CHUNK) {
            int some = Math.min(Place.CHUNK, numbers.length - from);
            CallMessage.write(calls.request(), ParameterServer.ADD, from, some);
            for (int i = 0; i < some; i++) {
                calls.request()
                        .set(ParameterServer.LONG, CallMessage.HEADER + (long) i * Long.BYTES, numbers[from + i]);
            }
            calls.call(CallMessage.HEADER + some * Long.BYTES);
            int status = CallMessage.kind(calls.answer());
            if (status == ParameterServer.OUT_OF_RANGE) {
                throw outOfRange();
            }
            if (status != ParameterServer.OK) {
                throw new CallException("the server answers with status " + status + ", which is not known");
            }
        }
    }

    private static ParameterException outOfRange() {
        return new ParameterException("a weight has left the range from -2^31 to 2^31: choose a smaller step");
    }

    private ParameterException failed(RuntimeException reason) {
        close();
        return new ParameterException(
                "cannot use the server of the parameters any more: " + reason.getMessage(), reason);
    }

    @Override
    public void close() {
        calls.close();
    }
}
