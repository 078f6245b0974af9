package org.rdmapanama.cards;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import org.rdmapanama.cards.SystemCalls.Records;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * A descriptor from which a program reads events, and what writes them. An event is about an object, which the provider
 * has given an identifier. When the object is destroyed, the events that were not read are withdrawn, and the program is
 * told how many were read: the provider waits until as many are acknowledged.
 */
final class CardEvents {
    private final Records records = Records.open();
    private final NativeBlock block = new NativeBlock(Uverbs.ASYNC_EVENT.size());
    private final int bytes;

    /** How many events of an object were written and not withdrawn. */
    private final Map<Long, Integer> written = new HashMap<>();

    private CardEvents(int bytes) {
        this.bytes = bytes;
    }

    /** Returns a channel for events of completion queues. */
    static CardEvents ofCompletions() {
        return new CardEvents(Uverbs.COMP_EVENT.size());
    }

    /** Returns a channel for asynchronous events. */
    static CardEvents ofAsynchronousEvents() {
        return new CardEvents(Uverbs.ASYNC_EVENT.size());
    }

    /** Returns the descriptor that the program reads and closes. */
    int descriptor() {
        return records.readEnd();
    }

    /** Tells that a completion queue has completions. */
    void completion(long handle) {
        Uverbs.COMP_EVENT.at(block.address()).set("cq_handle", handle);
        write(handle);
    }

    /** Tells of an asynchronous event of an object. */
    void asynchronous(int type, long element) {
        Uverbs.ASYNC_EVENT.at(block.address()).set("element", element).set("event_type", type);
        write(element);
    }

    private void write(long handle) {
        records.write(block.address(), bytes);
        written.merge(handle, 1, Integer::sum);
    }

    /** Withdraws the events of an object that is destroyed. Returns how many of them the program has read. */
    int withdraw(long handle) {
        int read = written.getOrDefault(handle, 0);
        written.remove(handle);
        if (read == 0) {
            return 0;
        }
        Queue<byte[]> others = new ArrayDeque<>();
        while (records.takeBack(block.address(), bytes)) {
            // The identifier comes first in both kinds.
            if (Memory.getLong(block.address()) == handle) {
                read--;
            } else {
                others.add(recordInBlock());
            }
        }
        for (byte[] other : others) {
            for (int i = 0; i < other.length; i++) {
                Memory.putByte(block.address() + i, other[i]);
            }
            records.write(block.address(), bytes);
        }
        return read;
    }

    private byte[] recordInBlock() {
        byte[] copy = new byte[bytes];
        for (int i = 0; i < bytes; i++) {
            copy[i] = Memory.getByte(block.address() + i);
        }
        return copy;
    }

    void close() {
        records.closeWriteEnd();
        block.free();
    }
}
