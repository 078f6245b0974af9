package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import java.net.ProtocolException;

/**
 * The memory into which the peer of a stream writes, and the messages that tell how much. It has two halves: the peer gets
 * the first while connecting, and each of the next when as much has been read.
 *
 * <p>Threads: one at a time.
 */
final class ReceiveBuffer {
    private final MemorySegment memory;
    private final int half;

    /** The bytes of messages that are not read; a ring with one free place. */
    private final int[] messages;

    private int head;
    private int tail;

    /** Where reading goes on. */
    private int readAt;

    /** How much has been read and not been granted again. */
    private int free;

    private int grantAt;

    /** How much the peer may still write. */
    private long granted;

    private long available;

    /** Counts messages that have been read, modulo 65,536. */
    private short messagesRead;

    /**
     * Creates a buffer whose first half the peer may write into.
     *
     * @param memory the memory, of even size
     * @param messages how many messages may arrive before one is read
     */
    ReceiveBuffer(MemorySegment memory, int messages) {
        this.memory = memory;
        half = Math.toIntExact(memory.byteSize() / 2);
        this.messages = new int[messages + 1];
        free = half;
        grantAt = half;
        granted = half;
    }

    int half() {
        return half;
    }

    /**
     * Notes a message about data.
     *
     * @throws ProtocolException when the peer may not have written that much, or sent that many messages
     */
    void arrived(int bytes) throws ProtocolException {
        if (bytes > granted) {
            throw new ProtocolException(
                    "the peer wrote " + bytes + " bytes, and had room for " + granted + " in the receive buffer");
        }
        int next = tail + 1 == messages.length ? 0 : tail + 1;
        if (next == head) {
            throw new ProtocolException("the peer sent more than " + (messages.length - 1)
                    + " messages, which is as many as it had credits for");
        }
        messages[tail] = bytes;
        tail = next;
        granted -= bytes;
        available += bytes;
        forgetEmpty();
    }

    /** Returns how many bytes can be read. */
    long available() {
        return available;
    }

    /**
     * Copies what has arrived.
     *
     * @return the number of bytes, which is less than the length if less has arrived
     */
    long read(MemorySegment target, long offset, long length) {
        long wanted = Math.min(length, available);
        long done = 0;
        while (done < wanted) {
            int part = (int) Math.min(wanted - done, memory.byteSize() - readAt);
            MemorySegment.copy(memory, readAt, target, offset + done, part);
            done += part;
            readAt = readAt + part == memory.byteSize() ? 0 : readAt + part;
        }
        consume(wanted);
        return wanted;
    }

    /** Drops what has arrived. */
    void discard() {
        readAt = (int) ((readAt + available) % memory.byteSize());
        consume(available);
    }

    private void consume(long bytes) {
        available -= bytes;
        free += (int) bytes;
        long left = bytes;
        while (left > 0) {
            int part = (int) Math.min(left, messages[head]);
            messages[head] -= part;
            left -= part;
            forgetEmpty();
        }
    }

    private void forgetEmpty() {
        while (head != tail && messages[head] == 0) {
            head = head + 1 == messages.length ? 0 : head + 1;
            messagesRead++;
        }
    }

    /** Counts a message without data as read. */
    void skipMessage() {
        messagesRead++;
    }

    /** Counts messages that have been read, modulo 65,536. */
    short messagesRead() {
        return messagesRead;
    }

    /** Whether the peer can be granted another half. */
    boolean canGrant() {
        return free >= half;
    }

    /** Grants another half to the peer, and returns where it begins. */
    int grant() {
        int at = grantAt;
        free -= half;
        granted += half;
        grantAt = grantAt == 0 ? half : 0;
        return at;
    }
}
