package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.Lab;

/** A client that looks like an rsocket while connecting, and then writes what a test wants into the memory of the server. */
final class EntryPeer implements AutoCloseable {
    static final int FIRST_BYTES = 8;
    static final int BYTES = 4096;
    private static final int RECEIVES = 100;
    private static final int FIRST_AT = 64;
    private static final int OUTGOING_AT = 3000;

    private final boolean apart;
    private final RdmaConnection connection;
    private final MemoryRegion memory;
    private final Offer lists;
    private final WorkCompletions completions;
    private final SendWorkRequest request;

    /**
     * Connects.
     *
     * @param apart whether messages are sends of their own
     * @param listLength how many entries it says its list of offers has
     * @param mappings how many parts of the server's memory it says it has entries for
     */
    EntryPeer(VerbsArena arena, InetSocketAddress server, boolean apart, long listLength, int mappings)
            throws Exception {
        this.apart = apart;
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .sendWorkRequests(RECEIVES)
                .receiveWorkRequests(RECEIVES)
                .localAddress(new InetSocketAddress(StreamPair.firstHost(apart), 0))
                .prepare(EntryPeer::prepare)
                .privateData(made -> privateData((MemoryRegion) made.attachment(), listLength, mappings));
        connection = new RdmaClient(arena).connect(server, options, Lab.SECONDS);
        memory = (MemoryRegion) connection.attachment();
        lists = ConnectionData.parse(connection.privateData()).offers();
        completions = new WorkCompletions(connection.sendQueue(), 1);
        request = SendWorkRequest.allocate(connection.queuePair(), 1);
    }

    private static void prepare(RdmaConnection connection) {
        MemoryRegion memory = connection.register(BYTES, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        connection.attach(memory);
        // Apart, because an entry can lead anywhere in the memory above, and a message would change what was written
        // there.
        MemoryRegion incoming = connection.register(StreamMessage.BYTES, AccessFlag.LOCAL_WRITE);
        ReceiveWorkRequest receive =
                ReceiveWorkRequest.allocate(connection.queuePair(), 1).add(incoming, 0, StreamMessage.BYTES);
        for (int i = 0; i < RECEIVES; i++) {
            connection.queuePair().postReceive(receive);
        }
    }

    private static byte[] privateData(MemoryRegion memory, long listLength, int mappings) {
        return new ConnectionData(
                        false,
                        RECEIVES,
                        mappings,
                        new Offer(memory.address(), memory.rkey(), listLength),
                        new Offer(memory.address() + FIRST_AT, memory.rkey(), FIRST_BYTES))
                .toBytes();
    }

    long address() {
        return memory.address();
    }

    int key() {
        return memory.rkey();
    }

    /** Whether such bytes are part of its memory. */
    boolean has(long address, int key, long count) {
        long at = address - memory.address();
        return key == memory.rkey() && at >= 0 && at < BYTES && count <= BYTES - at;
    }

    /** Whether such data begins with what its memory has at an address. */
    boolean holds(long address, byte[] data, int count) {
        return count == 0
                || MemorySegment.mismatch(
                                memory.memory(),
                                address - memory.address(),
                                address - memory.address() + count,
                                MemorySegment.ofArray(data),
                                0,
                                count)
                        < 0;
    }

    /** Writes into the server's list of offers. */
    void writeOffer(int place, byte... entry) throws Exception {
        write((long) place * Offer.BYTES, entry);
    }

    /** Writes into the server's table of opened memory. */
    void writeMapping(int place, byte... entry) throws Exception {
        write(Offers.LIST_BYTES + (long) place * PeerMemory.BYTES, entry);
    }

    private void write(long at, byte... entry) throws Exception {
        memory.memory().asSlice(OUTGOING_AT, entry.length).asByteBuffer().put(entry);
        post(request.clear().add(memory, OUTGOING_AT, entry.length).rdmaWrite(lists.address() + at, lists.key()));
    }

    /** Sends a message that tells of what was written. */
    void tell(int kind, int number) throws Exception {
        int message = StreamMessage.of(kind, number);
        if (apart) {
            send(ByteBuffer.allocate(StreamMessage.BYTES)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putInt(message)
                    .array());
        } else {
            post(request.clear().rdmaWriteWithImmediate(0, 0, message));
        }
    }

    /** Sends a message of any length. */
    void send(byte... message) throws Exception {
        memory.memory().asSlice(OUTGOING_AT, message.length).asByteBuffer().put(message);
        request.clear();
        if (message.length > 0) {
            request.add(memory, OUTGOING_AT, message.length);
        }
        post(request.send());
    }

    /** Posts, and waits until it has arrived or the connection has ended: then the memory can be used again. */
    private void post(SendWorkRequest each) {
        connection.queuePair().postSend(each.signaled(true));
        Completions.awaitAny(connection.sendQueue(), completions);
    }

    @Override
    public void close() {
        connection.close();
    }
}
