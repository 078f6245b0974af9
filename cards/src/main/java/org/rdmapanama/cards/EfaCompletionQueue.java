package org.rdmapanama.cards;

import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.cards.SystemCalls.SharedPages;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.soft.memory.Memory;

/**
 * A completion queue of an EFA card: rings of entries, one for sends and one for receives, whose phase bit changes each time
 * around. The card does not know what the program has read, so that a queue which is too small loses entries. Layouts:
 * {@code struct efa_io_cdesc_common} and {@code efa_io_rx_cdesc_ex} of {@code efa_io_defs.h}.
 */
final class EfaCompletionQueue implements CardCompletionQueue {
    static final int SENDS = 0;
    static final int RECEIVES = 1;

    static final Layout REQUEST = Layout.of("comp_mask:4 cq_entry_size:4 num_sub_cqs:2 flags:1 reserved_58:5");
    static final Layout RESPONSE = Layout.of("""
            comp_mask:4 reserved_20:4 q_mmap_key:8 q_mmap_size:8 cq_idx:2 reserved_d0:2 db_off:4 db_mmap_key:8""");

    private static final Layout ENTRY = Layout.of("""
            req_id:2 status:1 flags:1 qp_num:2 length:2 ah:2 src_qp_num:2 imm:4""");

    /** Behind the entry of a write that is longer than 16 bits tell. */
    private static final Layout LENGTH_OF_WRITE = Layout.of("length_hi:2");

    private static final int QUEUE_TYPE_SHIFT = 1;
    private static final int HAS_IMMEDIATE = 1 << 3;
    private static final int OPERATION_SHIFT = 4;
    private static final int OPERATION_WRITE = 2;

    private static final int RESPONSE_HAS_DOORBELL = 1;
    private static final int DOORBELL = 192;
    private static final int CONSUMED_MASK = 0xffff;
    private static final int SEQUENCE_MASK = 3 << 29;
    private static final int ARM = 1 << 31;

    /** The number of an address handle that does not exist. */
    private static final int UNKNOWN = 0xffff;

    private final EfaCard card;
    private final long softQueue;
    private final long handle;
    private final int entries;
    private final int entryBytes;
    private final SharedPages pages;

    /** Where events go, or null. */
    private final CardEvents channel;

    /** Where the program tells what it has taken, and asks for an event; null without events. */
    private final SharedPages doorbell;

    /** The sequence of the last request that has had its event. */
    private int answered = -1;

    /** Counts the entries that were written to each ring. */
    private final int[] produced = new int[EfaCard.SUB_QUEUES];

    EfaCompletionQueue(EfaCard card, Card.CompletionQueueRequest request) {
        this.card = card;
        softQueue = request.softQueue();
        handle = request.handle();
        entries = request.entries();
        entryBytes = REQUEST.at(request.in()).getInt("cq_entry_size");
        pages = EfaCard.pagesFor((long) EfaCard.SUB_QUEUES * entries * entryBytes);
        channel = request.channel();
        doorbell = channel == null ? null : EfaCard.pagesFor(EfaCard.PAGE);
        View response = RESPONSE.at(request.out())
                .set("q_mmap_key", card.publish(pages))
                .set("q_mmap_size", pages.length())
                .set("cq_idx", request.number());
        if (doorbell != null) {
            response.set("comp_mask", RESPONSE_HAS_DOORBELL)
                    .set("db_off", DOORBELL)
                    .set("db_mmap_key", card.publish(doorbell));
        }
    }

    @Override
    public long softQueue() {
        return softQueue;
    }

    @Override
    public long handle() {
        return handle;
    }

    @Override
    public int withdrawEvents() {
        return channel == null ? 0 : channel.withdraw(handle);
    }

    @Override
    public void fail(CardQueuePair pair, long id, int status) {
        throw new IllegalStateException("queue pairs of EFA report their failures themselves");
    }

    @Override
    public int resize(int wanted, long in) {
        return -Errno.EOPNOTSUPP;
    }

    /** Writes the event that was asked for, if there are completions which were not taken. */
    @Override
    public boolean work() {
        if (doorbell == null) {
            return false;
        }
        int told = Memory.getIntAcquire(doorbell.address() + DOORBELL);
        int sequence = told & SEQUENCE_MASK;
        int written = produced[SENDS] + produced[RECEIVES] & CONSUMED_MASK;
        if ((told & ARM) == 0 || sequence == answered || written == (told & CONSUMED_MASK)) {
            return false;
        }
        answered = sequence;
        channel.completion(handle);
        return true;
    }

    @Override
    public void close() {
        card.free(pages);
        if (doorbell != null) {
            card.free(doorbell);
        }
    }

    /** Tells that a send has ended. */
    void sent(int pair, int id, int operation, EfaStatus status) {
        complete(SENDS, entry(SENDS, pair, id, status), operation << OPERATION_SHIFT);
    }

    /** Tells that a receive has failed. */
    void notReceived(int pair, int id, EfaStatus status) {
        complete(RECEIVES, entry(RECEIVES, pair, id, status), 0);
    }

    /**
     * Tells of a message.
     *
     * @param sender the number of the address handle for the sender, or null if there is none
     * @param gid the address of the sender's GID
     * @param immediate the immediate data, or null
     */
    void received(int pair, int id, int length, Integer sender, int senderPair, long gid, Integer immediate) {
        View entry = entry(RECEIVES, pair, id, EfaStatus.OK);
        entry.set("length", length).set("ah", sender == null ? UNKNOWN : sender).set("src_qp_num", senderPair);
        if (immediate != null) {
            entry.set("imm", immediate);
        }
        if (entryBytes > ENTRY.size()) {
            Memory.copy(gid, entry.end(), 2 * Long.BYTES);
        }
        complete(RECEIVES, entry, immediate == null ? 0 : HAS_IMMEDIATE);
    }

    /** Tells of a write with immediate data, which has taken a receive; otherwise as {@link #received}. */
    void written(int pair, int id, long length, Integer sender, int senderPair, int immediate) {
        View entry = entry(RECEIVES, pair, id, EfaStatus.OK)
                .set("length", length)
                .set("ah", sender == null ? UNKNOWN : sender)
                .set("src_qp_num", senderPair)
                .set("imm", immediate);
        if (entryBytes > ENTRY.size()) {
            LENGTH_OF_WRITE.at(entry.end()).set("length_hi", length >>> Short.SIZE);
        }
        complete(RECEIVES, entry, HAS_IMMEDIATE | OPERATION_WRITE << OPERATION_SHIFT);
    }

    private View entry(int ring, int pair, int id, EfaStatus status) {
        int index = produced[ring] % entries;
        return ENTRY.at(pages.address() + ((long) ring * entries + index) * entryBytes)
                .set("req_id", id)
                .set("status", status.code())
                .set("qp_num", pair);
    }

    /** Gives an entry to the program: the phase is that of its time around, 1 at first. */
    private void complete(int ring, View entry, int flags) {
        int phase = produced[ring]++ / entries % 2 == 0 ? 1 : 0;
        int type = ring + 1;
        Rings.publish(entry.addressOf("flags"), (byte) (flags | type << QUEUE_TYPE_SHIFT | phase));
    }
}
