package org.rdmapanama.rsocket;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.ProtocolException;
import java.net.SocketException;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;

/**
 * A stream of bytes in both directions over one connection, in version 1 of rsocket's protocol.
 *
 * <p>Each side writes into a buffer of the other, and tells how much by immediate data; see {@link StreamMessage}. It may
 * write where the other has offered space ({@link Offers}), and as many messages as the other has given credits for. Space
 * and credits come back with messages of their own, of which four may be under way. iWARP has no immediate data: there each
 * message is a send of four bytes that follows the write.
 *
 * <p>Nothing here waits: {@link #progress} does what can be done. A failure is kept, and thrown by every later call of
 * {@link #read} and {@link #write}.
 *
 * <p>Threads: one at a time.
 */
final class Stream {
    /** Less room than this is not worth a write. */
    private static final int LEAST_ROOM = 2048;

    /** The first write of several is small, so that the device works on it while the next is copied. */
    private static final int FIRST_WRITE = 2048;

    private static final int LARGEST_WRITE = 1 << 16;

    /** How many messages about credits and ends may be under way. */
    static final int CONTROLS = 4;

    private static final int DATA_ALIGNMENT = 64;

    /** Where the memory that the device reads has messages, after what this side offers. */
    private static final long MESSAGE_AT = (long) CONTROLS * Offer.BYTES;

    private static final long ENTRY_AT = MESSAGE_AT + StreamMessage.BYTES;

    /** Where it has data that is sent inline. */
    private static final long INLINE_AT = ENTRY_AT + PeerMemory.BYTES;

    private static final int BATCH = 16;
    private static final int KIND_SHIFT = 32;

    /** What completes is told by the upper half of the id. */
    private static final int RECEIVED = 0;

    /** The lower half counts bytes of the send buffer, 0 if they were inline. */
    private static final int SENT_DATA = 1;

    /** The message that follows data, where it is not immediate data. */
    private static final int SENT_MESSAGE = 2;

    private static final int SENT_CONTROL = 3;
    private static final int SENT_DISCONNECT = 4;

    /** Data that the device has read from memory of the program; the lower half counts its bytes. */
    private static final int SENT_UNCOPIED = 5;

    /** What cannot be sent for lack of a ring. */
    private static final int NOT_SENT = -1;

    /** Less than this is copied also if it is registered: copying takes less time than to wait for the peer's acknowledgement. */
    static final int LEAST_UNCOPIED = 1 << 15;

    /** What a thread can wait for. */
    enum Wanted {
        /** Something to read, or the end. */
        INPUT,
        /** Room in the stream, or a failure. */
        ROOM,
        /** Room for writes into memory of the peer, or a failure. */
        REMOTE_ROOM,
        /** That the device reads no memory of the program, or that the connection has ended. */
        NOTHING_LENT
    }

    private final RdmaConnection connection;
    private final QueuePair queuePair;
    private final CompletionQueue queue;
    private final WorkCompletions completions;
    private final SendWorkRequest write;
    private final SendWorkRequest message;
    private final ReceiveWorkRequest receive;

    /** Whether messages are sends of their own. */
    private final boolean messagesApart;

    private final int inlineBytes;

    /** How many messages about data may arrive before one is read. */
    private final int credits;

    /** As many, and those about credits and ends: iWARP breaks a connection that has no receive for a message. */
    private final int receives;

    /**
     * The peer writes here: first the list of its offers, then the table of the memory that it has opened, then the data,
     * then messages that are not immediate data.
     */
    private final MemoryRegion incoming;

    private final long dataAt;
    private final long messagesAt;
    private final ReceiveBuffer received;

    /** How many parts of its memory the peer may open. */
    private final int mappings;

    private final PeerMemory peerMemory;

    /** The device reads here: first what this side offers, then messages, then {@link #entry}, then data that is sent inline. */
    private final MemoryRegion outgoing;

    private final SendBuffer unsent;

    /** How many requests the device has that name memory of the program. */
    private int lent;

    /** How many bytes of that kind of memory the device has reported as sent. */
    private long sentUncopied;

    /** An entry of the peer's table before it is copied to the send buffer. */
    private final MemorySegment entry;

    private @Nullable Offers offers;
    private @Nullable Offer peerList;
    private ValueLayout.@Nullable OfLong peerLong;
    private ValueLayout.@Nullable OfInt peerInt;
    private long peerEntries;
    private int peerMappings;

    /** Where the peer's list takes the next offer; the first was made while connecting. */
    private long nextEntry = 1;

    /** How many work requests fit into the send queue, apart from {@link #CONTROLS}. */
    private final int allSendRoom;

    private int sendRoom;

    private int controlRoom = CONTROLS;
    private int controlSlot;

    /** Counts messages modulo 65,536: those sent, and how many may be sent. */
    private short sent;

    private short mayBeSent;

    /** As many messages must have been read before new credits are worth a message. */
    private short creditsAt;

    /** Receives that have completed and are not posted again. */
    private int missing;

    private int nextReceive;

    /** After as many completions polling ends, though there may be more: as many as can be there at a time. */
    private final int mostAtOnce;

    private boolean more;

    private boolean inputOpen = true;
    private boolean outputOpen = true;
    private boolean inputDropped;

    /** Whether the peer must be told of the end as soon as there is room. */
    private boolean endPending;

    /** Whether messages can be sent and arrive. */
    private boolean connected = true;

    /** Why the connection has broken; null if it has not. */
    private @Nullable String failure;

    /** Whether the reason is that the peer has broken the protocol. */
    private boolean brokenProtocol;

    /**
     * Creates the stream of a connection, in the action of {@link RdmaConnectionOptions#prepare}: the peer cannot send yet.
     *
     * @throws org.rdmapanama.VerbsException when the device refuses the memory
     */
    Stream(RdmaConnection connection, StreamSizes sizes) {
        this(connection, sizes, isIwarp(connection));
    }

    /**
     * Creates the stream of a connection whose messages are sends, as over iWARP, or are not: both ends must agree. Devices that
     * have immediate data can do either.
     */
    Stream(RdmaConnection connection, StreamSizes sizes, boolean messagesApart) {
        this.connection = connection;
        this.messagesApart = messagesApart;
        queuePair = connection.queuePair();
        queue = connection.sendQueue();
        credits = sizes.receives();
        receives = credits + CONTROLS;
        inlineBytes = queuePair.capabilities().maxInlineData();
        if (messagesApart && inlineBytes < StreamMessage.BYTES) {
            throw new UnsupportedOperationException("a stream without immediate data needs " + StreamMessage.BYTES
                    + " bytes of inline data, and " + queuePair + " has " + inlineBytes);
        }
        completions = new WorkCompletions(queue, BATCH);
        write = SendWorkRequest.allocate(queuePair, 2);
        message = SendWorkRequest.allocate(queuePair, 1);
        receive = ReceiveWorkRequest.allocate(queuePair, 1);
        long tableBytes = (long) sizes.mappings() * PeerMemory.BYTES;
        dataAt = roundUp(Offers.LIST_BYTES + tableBytes, DATA_ALIGNMENT);
        messagesAt = dataAt + sizes.receiveBytes();
        int messageBytes = messagesApart ? receives * StreamMessage.BYTES : 0;
        incoming = connection.register(
                Math.toIntExact(messagesAt + messageBytes), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        mappings = sizes.mappings();
        peerMemory = new PeerMemory(incoming.memory().asSlice(Offers.LIST_BYTES, tableBytes));
        received = new ReceiveBuffer(incoming.memory().asSlice(dataAt, sizes.receiveBytes()), credits);
        outgoing = connection.register((int) INLINE_AT + inlineBytes);
        entry = outgoing.memory().asSlice(ENTRY_AT, PeerMemory.BYTES);
        unsent = new SendBuffer(connection.protectionDomain(), sizes.sendBytes());
        allSendRoom = sizes.sends() - CONTROLS;
        sendRoom = allSendRoom;
        mostAtOnce = sizes.sends() + receives;
        creditsAt = (short) (credits / 2);
        missing = receives;
        postReceives();
    }

    /** Options of connections that carry streams; the caller adds the preparation and the private data. */
    static RdmaConnectionOptions options(StreamSizes sizes) {
        return configure(new RdmaConnectionOptions(), sizes);
    }

    /** Sets those of the queues. */
    static RdmaConnectionOptions configure(RdmaConnectionOptions options, StreamSizes sizes) {
        return options.sendWorkRequests(sizes.sends())
                .receiveWorkRequests(sizes.receives() + CONTROLS)
                .completionEvents(true)
                .singleCompletionQueue(true)
                // Where messages are sends, they are sent inline.
                .queuePair(wanted ->
                        wanted.maxSegments(2, 1).maxInlineData(Math.max(StreamMessage.BYTES, sizes.inline())));
    }

    private static long roundUp(long value, int multiple) {
        return (value + multiple - 1) / multiple * multiple;
    }

    private static boolean isIwarp(RdmaConnection connection) {
        return connection.protectionDomain().context().transportType() == TransportType.IWARP;
    }

    /** What to tell the peer while connecting. */
    ConnectionData connectionData() {
        return new ConnectionData(
                ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN,
                credits,
                mappings,
                new Offer(incoming.address(), incoming.rkey(), ConnectionData.OFFERS),
                new Offer(incoming.address() + dataAt, incoming.rkey(), received.half()));
    }

    /** Takes what the peer has told while connecting. */
    void peer(ConnectionData data) {
        offers = new Offers(incoming.memory().asSlice(0, Offers.LIST_BYTES), data.buffer());
        mayBeSent = (short) data.credits();
        peerList = data.offers();
        peerEntries = peerList.length();
        peerMappings = data.mappings();
        ByteOrder order = data.bigEndian() ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        peerLong = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(order);
        peerInt = ValueLayout.JAVA_INT_UNALIGNED.withOrder(order);
    }

    /**
     * Takes what has completed, and gives the peer room and credits.
     *
     * @return whether anything has completed
     */
    boolean progress() {
        if (offers == null) {
            // The peer has not said yet that it is an rsocket, and perhaps is none.
            return false;
        }
        boolean some = poll();
        giveCredits();
        sendPendingEnd();
        return some;
    }

    private boolean poll() {
        int polled = 0;
        int count;
        do {
            count = queue.poll(completions);
            for (int i = 0; i < count; i++) {
                complete(i);
            }
            polled += count;
            postReceives();
        } while (count == BATCH && polled < mostAtOnce);
        more = count == BATCH;
        return polled > 0;
    }

    /**
     * Whether {@link #progress} has left completions behind, which no event tells of: a peer that sends without a pause must
     * not keep a thread for ever.
     */
    boolean hasMore() {
        return more;
    }

    private void complete(int i) {
        try {
            check(i);
        } catch (ProtocolException e) {
            brokenProtocol |= failure == null;
            fail(String.valueOf(e.getMessage()));
        }
    }

    private void check(int i) throws ProtocolException {
        long id = completions.id(i);
        int kind = (int) (id >>> KIND_SHIFT);
        boolean succeeded = completions.succeeded(i);
        switch (kind) {
            case RECEIVED -> {
                if (succeeded) {
                    missing++;
                    take(messageOf(i, (int) id));
                } else if (connected) {
                    fail(broken(completions.status(i)));
                }
                return;
            }
            case SENT_DATA -> {
                sendRoom++;
                unsent.sent((int) id);
            }
            case SENT_UNCOPIED -> {
                sendRoom++;
                lent--;
                // They complete in their order, so these are the first bytes of what was written.
                sentUncopied += succeeded ? (int) id : 0;
            }
            case SENT_MESSAGE -> sendRoom++;
            case SENT_CONTROL -> controlRoom++;
            case SENT_DISCONNECT -> {
                controlRoom++;
                connected = false;
            }
            default -> throw new AssertionError(kind);
        }
        // Whoever lent memory waits to be told whether it was sent, whatever the peer has said in the meantime.
        if (!succeeded && (connected || kind == SENT_UNCOPIED)) {
            fail(broken(completions.status(i)));
        }
    }

    private static String broken(CompletionStatus status) {
        return status == CompletionStatus.RETRY_EXC_ERR
                ? "Connection timed out: the peer does not answer"
                : "Connection reset: " + status;
    }

    private int messageOf(int i, int slot) throws ProtocolException {
        if (!messagesApart) {
            if (!completions.hasImmediate(i)) {
                throw new ProtocolException("the peer sent a message without immediate data");
            }
            return completions.immediate(i);
        }
        if (completions.byteLength(i) != StreamMessage.BYTES) {
            throw new ProtocolException(
                    "the peer's messages must have " + StreamMessage.BYTES + " bytes: " + completions.byteLength(i));
        }
        return incoming.memory().get(peerInt, messagesAt + (long) slot * StreamMessage.BYTES);
    }

    private void take(int arrived) throws ProtocolException {
        int number = StreamMessage.number(arrived);
        switch (StreamMessage.kind(arrived)) {
            case StreamMessage.DATA -> {
                received.arrived(number);
                if (inputDropped) {
                    received.discard();
                }
            }
            case StreamMessage.CREDITS -> {
                mayBeSent = (short) number;
                peerOffers().take();
            }
            case StreamMessage.CONTROL -> control(number);
            // The entry is in the table already.
            case StreamMessage.MAPPING -> received.skipMessage();
            default ->
                throw new ProtocolException(
                        "the peer sent a message of an unknown kind: " + StreamMessage.kind(arrived));
        }
    }

    private void control(int what) {
        switch (what) {
            // What this side has sent may still be on its way, so the connection is kept also if both have ended.
            case StreamMessage.SHUTDOWN -> inputOpen = false;
            case StreamMessage.DISCONNECT -> ended();
            default -> {
                // A message that the peer is there, or one of a later version.
            }
        }
    }

    /** Notes that the peer has ended the connection; what {@link #progress} has found can be read. */
    void ended() {
        inputOpen = false;
        outputOpen = false;
        connected = false;
    }

    /** Takes all that the peer has sent before it ended the connection, and notes the end. */
    void endedByPeer() {
        // Nothing is posted from now on, so that the completions come to an end.
        connected = false;
        do {
            progress();
        } while (more);
        ended();
    }

    /**
     * Notes that the device does not tell of completions any more. Returns whether that ends the stream now: not if it has
     * ended before.
     */
    boolean deviceFailed(VerbsException cause) {
        boolean first = connected || inputOpen || outputOpen;
        if (first) {
            fail("Connection reset: " + cause.getMessage());
        }
        return first;
    }

    private void fail(String cause) {
        if (failure == null) {
            failure = cause;
        }
        ended();
    }

    private void postReceives() {
        while (missing > 0 && connected) {
            receive.clear().id(nextReceive);
            if (messagesApart) {
                receive.add(incoming, messagesAt + (long) nextReceive * StreamMessage.BYTES, StreamMessage.BYTES);
            }
            try {
                if (queuePair.tryPostReceive(receive) != QueuePair.POSTED) {
                    return; // What completes next makes room.
                }
            } catch (VerbsException e) {
                fail("Connection reset: " + e.getMessage());
                return;
            }
            nextReceive = nextReceive + 1 == receives ? 0 : nextReceive + 1;
            missing--;
        }
    }

    private void giveCredits() {
        boolean space = received.canGrant();
        int needed = space && messagesApart ? 2 : 1;
        if (!connected || controlRoom < needed || (!space && (short) (received.messagesRead() - creditsAt) < 0)) {
            return;
        }
        creditsAt = (short) (received.messagesRead() + credits / 2);
        int more = StreamMessage.of(
                StreamMessage.CREDITS, Short.toUnsignedInt((short) (received.messagesRead() + credits)));
        if (!space) {
            postMessage(more, SENT_CONTROL);
            return;
        }
        long slot = (long) controlSlot * Offer.BYTES;
        controlSlot = (controlSlot + 1) % CONTROLS;
        MemorySegment memory = outgoing.memory();
        memory.set(peerLong, slot, incoming.address() + dataAt + received.grant());
        memory.set(peerInt, slot + Long.BYTES, incoming.rkey());
        memory.set(peerInt, slot + Long.BYTES + Integer.BYTES, received.half());
        write.clear().add(outgoing, slot, Offer.BYTES).inline(inlineBytes >= Offer.BYTES);
        Offer list = Objects.requireNonNull(peerList);
        long entry = list.address() + nextEntry * Offer.BYTES;
        nextEntry = (nextEntry + 1) % peerEntries;
        controlRoom--;
        postWrite(entry, list.key(), more, SENT_CONTROL, 0, SENT_CONTROL);
        if (messagesApart) {
            controlRoom--;
        }
    }

    /** Posts {@link #write} with the message. */
    private void postWrite(long address, int key, int text, int kind, int bytes, int messageKind) {
        if (messagesApart) {
            postData(write.rdmaWrite(address, key), kind, bytes);
            postApart(text, messageKind);
        } else {
            postData(write.rdmaWriteWithImmediate(address, key, text), kind, bytes);
        }
    }

    private void postData(SendWorkRequest request, int kind, int bytes) {
        int told = kind == SENT_UNCOPIED || bytes > inlineBytes ? bytes : 0;
        boolean posted = post(request.id((long) kind << KIND_SHIFT | told).signaled(true));
        if (posted && kind == SENT_UNCOPIED) {
            lent++;
        }
    }

    /** Sends a message that does not follow a write. */
    private void postMessage(int text, int kind) {
        controlRoom--;
        if (messagesApart) {
            postApart(text, kind);
        } else {
            post(message.clear()
                    .inline(false)
                    .id((long) kind << KIND_SHIFT)
                    .signaled(true)
                    .rdmaWriteWithImmediate(0, 0, text));
        }
    }

    private void postApart(int text, int kind) {
        outgoing.memory().set(ValueLayout.JAVA_INT_UNALIGNED, MESSAGE_AT, text);
        post(message.clear()
                .add(outgoing, MESSAGE_AT, StreamMessage.BYTES)
                .inline(true)
                .id((long) kind << KIND_SHIFT)
                .signaled(true)
                .send());
    }

    /** Returns false if the connection has ended. */
    private boolean post(SendWorkRequest request) {
        if (!connected) {
            return false;
        }
        try {
            queuePair.postSend(request);
            return true;
        } catch (VerbsException e) {
            fail("Connection reset: " + e.getMessage());
            return false;
        }
    }

    /** Whether bytes have arrived, or the end. */
    boolean isReadable() {
        return received.available() > 0 || !inputOpen;
    }

    /**
     * Reads what has arrived.
     *
     * @return the number of bytes; 0 if none have arrived; -1 at the end of the stream
     * @throws IOException when the connection has broken, after what arrived before has been read
     */
    long read(MemorySegment target, long offset, long length) throws IOException {
        if (received.available() == 0) {
            throwFailure();
            return inputOpen ? 0 : -1;
        }
        long count = received.read(target, offset, length);
        giveCredits();
        return count;
    }

    /** How many bytes can be read without waiting. */
    long available() {
        return received.available();
    }

    /** Whether what a thread waits for is there. */
    boolean isReady(Wanted wanted) {
        return switch (wanted) {
            case INPUT -> isReadable();
            case ROOM -> isWritable();
            case REMOTE_ROOM -> !outputOpen || (hasRemoteRoom() && !unsent.lacksRing());
            case NOTHING_LENT -> lent == 0 || !connected;
        };
    }

    /** Whether {@link #write} would take something, or fail. */
    boolean isWritable() {
        return !outputOpen || (hasRoom() && !unsent.lacksRing());
    }

    /** Whether the last write ended because all memory to send from is in use: {@link #retry} tries again. */
    boolean lacksRing() {
        return unsent.lacksRing();
    }

    /** Lets the next write look again for memory to send from. */
    void retry() {
        unsent.retry();
    }

    /** Known once the peer has said that it is an rsocket, before which nothing is sent. */
    private Offers peerOffers() {
        return Objects.requireNonNull(offers);
    }

    private boolean hasRoom() {
        return sendRoom >= (messagesApart ? 2 : 1)
                && unsent.free() >= LEAST_ROOM
                // A message more than the peer has counted is never sent, so any difference is a number of credits.
                && mayBeSent != sent
                && peerOffers().length() > 0;
    }

    private boolean hasRemoteRoom() {
        return sendRoom > 0 && unsent.free() >= LEAST_ROOM;
    }

    /**
     * Writes what there is room for.
     *
     * @param registered what the source is a part of, so that the device reads it there: it must stay as it is until nothing is
     *     {@linkplain Wanted#NOTHING_LENT lent}; null if it is copied
     * @return the number of bytes
     * @throws IOException when the peer has ended the connection, or it has broken
     */
    long write(MemorySegment source, long offset, long length, @Nullable MemoryRegion registered) throws IOException {
        long done = 0;
        int wanted = firstWrite(registered);
        while (done < length) {
            checkOutput();
            if (!hasRoom()) {
                break;
            }
            Offers offered = peerOffers();
            int bytes =
                    Math.min(part(length - done, wanted, registered), (int) Math.min(LARGEST_WRITE, offered.length()));
            wanted = Math.min(2 * wanted, LARGEST_WRITE);
            int kind = fill(source, offset + done, bytes, registered);
            if (kind == NOT_SENT) {
                break;
            }
            useCredit();
            long address = offered.address();
            int key = offered.key();
            offered.use(bytes);
            postWrite(address, key, StreamMessage.of(StreamMessage.DATA, bytes), kind, bytes, SENT_MESSAGE);
            // What the device has refused was not written.
            checkOutput();
            done += bytes;
        }
        return done;
    }

    private static int firstWrite(@Nullable MemoryRegion registered) {
        return registered == null ? FIRST_WRITE : LARGEST_WRITE;
    }

    /** How much of the rest one request takes. */
    private int part(long left, int wanted, @Nullable MemoryRegion registered) {
        int most = (int) Math.min(left, wanted);
        return registered == null ? Math.min(most, unsent.free()) : most;
    }

    private void checkOutput() throws IOException {
        if (!outputOpen) {
            throwFailure();
            throw new SocketException(
                    "Broken pipe: the output has been shut down, or the peer has closed the connection");
        }
    }

    /**
     * Names data in {@link #write}, and copies it unless it is registered. Returns the kind of the completion, or {@link
     * #NOT_SENT}.
     */
    private int fill(MemorySegment source, long offset, int bytes, @Nullable MemoryRegion registered)
            throws IOException {
        write.clear().inline(bytes <= inlineBytes);
        if (registered != null) {
            write.add(registered, source.address() + offset - registered.address(), bytes);
            return SENT_UNCOPIED;
        }
        if (bytes <= inlineBytes) {
            // The request gets it when it is posted.
            MemorySegment.copy(source, offset, outgoing.memory(), INLINE_AT, bytes);
            write.add(outgoing, INLINE_AT, bytes);
            return SENT_DATA;
        }
        try {
            return unsent.tryPut(source, offset, bytes, write) ? SENT_DATA : NOT_SENT;
        } catch (VerbsException e) {
            throw SocketErrors.because(e, new SocketException("there is no memory to send from: " + e.getMessage()));
        }
    }

    private void useCredit() {
        sent++;
        sendRoom -= messagesApart ? 2 : 1;
    }

    /** How many parts of this side's memory can be open to the peer at the same time. */
    int peerMappings() {
        return peerMappings;
    }

    /**
     * Tells the peer of memory that it may write into.
     *
     * @param place where the peer's table takes it, from 0, less than {@link #peerMappings}
     * @param region the memory
     * @param offset how the peer calls the first byte
     * @return false if there is no room for the message now
     * @throws IOException as {@link #write} does
     */
    boolean announce(int place, MemoryRegion region, long offset) throws IOException {
        checkOutput();
        if (!hasRoom()) {
            return false;
        }
        entry.set(peerLong, 0, offset);
        entry.set(peerLong, PeerMemory.ADDRESS_AT, region.address());
        entry.set(peerInt, PeerMemory.KEY_AT, region.rkey());
        entry.set(peerInt, PeerMemory.LENGTH_AT, (int) region.memory().byteSize());
        int kind = fill(entry, 0, PeerMemory.BYTES, null);
        if (kind == NOT_SENT) {
            return false;
        }
        useCredit();
        Offer list = Objects.requireNonNull(peerList);
        postWrite(
                list.address() + peerEntries * Offer.BYTES + (long) place * PeerMemory.BYTES,
                list.key(),
                StreamMessage.of(StreamMessage.MAPPING, place),
                kind,
                PeerMemory.BYTES,
                SENT_MESSAGE);
        checkOutput();
        return true;
    }

    /**
     * Writes into memory that the peer has opened, as much as there is room for.
     *
     * @param target how the peer calls the first byte
     * @param registered as {@link #write} has it
     * @return the number of bytes
     * @throws IOException as {@link #write} does; also when the peer has not opened that memory
     */
    long writeRemote(MemorySegment source, long offset, long length, long target, @Nullable MemoryRegion registered)
            throws IOException {
        long done = 0;
        int wanted = firstWrite(registered);
        while (done < length) {
            checkOutput();
            if (!peerMemory.find(target + done)) {
                throw new SocketException("offset must lie in memory that the peer has mapped: " + (target + done)
                        + "; if the mapping is new, first read a message that the peer sends after mapForRemoteWrite");
            }
            if (!hasRemoteRoom()) {
                break;
            }
            int bytes = Math.min(
                    part(length - done, wanted, registered), (int) Math.min(LARGEST_WRITE, peerMemory.length()));
            wanted = Math.min(2 * wanted, LARGEST_WRITE);
            int kind = fill(source, offset + done, bytes, registered);
            if (kind == NOT_SENT) {
                break;
            }
            sendRoom--;
            postData(write.rdmaWrite(peerMemory.address(), peerMemory.key()), kind, bytes);
            checkOutput();
            done += bytes;
        }
        return done;
    }

    /** Drops what has arrived and what arrives. */
    void shutdownInput() {
        inputDropped = true;
        inputOpen = false;
        received.discard();
    }

    /**
     * Tells the peer that nothing more is written, as soon as a message can be sent. What was written before arrives before.
     *
     * @param both whether this side does not read either
     */
    void end(boolean both) {
        if (both) {
            inputOpen = false;
        }
        outputOpen = false;
        endPending = true;
        sendPendingEnd();
    }

    private void sendPendingEnd() {
        if (!endPending || !connected || controlRoom == 0) {
            return;
        }
        endPending = false;
        postMessage(
                StreamMessage.of(StreamMessage.CONTROL, inputOpen ? StreamMessage.SHUTDOWN : StreamMessage.DISCONNECT),
                inputOpen ? SENT_CONTROL : SENT_DISCONNECT);
    }

    /** Asks the device whether the peer is there: if it is not, the connection breaks. */
    void keepAlive() {
        if (connected && controlRoom > 0) {
            postMessage(StreamMessage.of(StreamMessage.CONTROL, StreamMessage.KEEP_ALIVE), SENT_CONTROL);
        }
    }

    /** Whether all that was written has arrived, or cannot arrive any more. */
    boolean isFlushed() {
        return !connected || (!endPending && sendRoom == allSendRoom && controlRoom == CONTROLS);
    }

    /** Whether the device may read memory of the program. */
    boolean hasLent() {
        return lent > 0;
    }

    /** How many bytes the device has sent from memory of the program, since this began. */
    long sentUncopied() {
        return sentUncopied;
    }

    /**
     * Breaks the connection off, so that the device gives up what it has: its completions must be awaited.
     *
     * @throws VerbsException when the device fails
     */
    void breakOff() {
        if (connected) {
            fail("Connection reset: a write was given up");
        }
        queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
    }

    /**
     * Gives the memory back to the other channels of the device.
     *
     * @param readByDevice whether closing the queue pair has failed, so that the device may still read what it has: then the
     *     memory stays out of use, and what is {@linkplain #hasLent lent} stays so
     * @throws VerbsException when the device refuses to free memory that nobody needs any more
     */
    void close(boolean readByDevice) {
        if (!readByDevice) {
            lent = 0;
        }
        unsent.close(readByDevice);
    }

    /** What the channels of the device share. */
    SendMemory sendMemory() {
        return unsent.device();
    }

    /** Throws what has broken the connection, if something has. */
    void throwFailure() throws IOException {
        if (failure != null) {
            throw brokenProtocol ? new ProtocolException(failure) : new SocketException(failure);
        }
    }

    @Override
    public String toString() {
        return "Stream[" + connection + "]";
    }
}
