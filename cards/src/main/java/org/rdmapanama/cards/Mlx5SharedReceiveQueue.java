package org.rdmapanama.cards;

import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.soft.memory.Memory;

/**
 * A shared receive queue of a ConnectX card: a linked list of entries, of which the provider has given as many to the card
 * as the doorbell record counts.
 */
final class Mlx5SharedReceiveQueue implements CardSharedReceiveQueue {
    static final Layout REQUEST = Layout.of("buf_addr:8 db_addr:8 flags:4 reserved0:4 uidx:4 reserved1:4");
    private static final int SEGMENT = 16;
    private static final int SMALLEST_ENTRY = 32;
    private static final int NO_KEY = 0x100;

    private final long softQueue;
    private final long ring;
    private final long record;
    private final int entryBytes;
    private final int segments;
    private final SoftPost post;
    private int head;
    private int posted;

    Mlx5SharedReceiveQueue(DeviceFile file, Card.SharedReceiveQueueRequest request) {
        softQueue = request.softQueue();
        View in = REQUEST.at(request.in());
        ring = in.get("buf_addr");
        record = in.get("db_addr");
        segments = request.segments();
        int bytes = Math.max(SMALLEST_ENTRY, SEGMENT * (segments + 1));
        entryBytes = Integer.highestOneBit(bytes * 2 - 1);
        post = new SoftPost(file.soft());
        Memory.putInt(request.out(), request.number());
    }

    @Override
    public long softQueue() {
        return softQueue;
    }

    @Override
    public void close() {
        post.free();
    }

    @Override
    public boolean work() {
        int announced = Rings.readCounter(record);
        boolean busy = false;
        while ((posted & 0xffff) != announced) {
            long entry = ring + (long) head * entryBytes;
            post.begin(WorkId.receive(head));
            for (int i = 1; i <= segments; i++) {
                long segment = entry + (long) i * SEGMENT;
                int key = Memory.getNetInt(segment + 4);
                if (key == NO_KEY) {
                    break;
                }
                post.segment(Memory.getNetLong(segment + 8), Memory.getNetInt(segment), key);
            }
            if (post.receiveShared(softQueue) != 0) {
                break;
            }
            head = Memory.getNetShort(entry + 2) & 0xffff;
            posted++;
            busy = true;
        }
        return busy;
    }
}
