package org.rdmapanama.cards;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.cards.SystemCalls.SharedPages;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;

/**
 * An EFA card: {@code rdma/efa-abi.h}, with SRD queue pairs only, and without completion events unless a test wants them. soft0 has no such queue
 * pairs: it keeps the states and the protection domains, and {@link EfaQueuePair} moves the data. They reach the queue pairs
 * of this card only.
 */
final class EfaCard implements Card {
    static final int MAX_SEGMENTS = 2;
    static final int MAX_MESSAGE = 8928;
    static final int MAX_READ = 1 << 30;
    static final int SUB_QUEUES = 2;
    static final int PAGE = 4096;

    private static final int VENDOR_ID = 0x1d0f;
    private static final int PART_ID = 0xefa1;
    private static final int MAX_INLINE = 32;

    /** With entries of twice the size, for drivers of rdma-core 63 and newer. */
    private static final int MAX_INLINE_OF_LARGE = 80;

    private static final int MAX_WORK = 1 << 11;
    private static final int SEND_ENTRY = 64;

    /** Numbers have 16 bits; the provider looks for queue pairs by the last ones, as many as this needs. */
    private static final int MAX_PAIRS = 1 << 10;

    private static final int FIRST_NUMBER = 0xf000;

    private static final int SUPPORTS_QUERY_DEVICE = 1;
    private static final int SUPPORTS_CREATE_AH = 2;
    private static final int HAS_RDMA_READ = 1;
    private static final int HAS_RNR_RETRY = 1 << 1;
    private static final int HAS_CQ_NOTIFICATIONS = 1 << 2;
    private static final int HAS_CQ_WITH_SGID = 1 << 3;
    private static final int HAS_RDMA_WRITE = 1 << 5;

    /** System property: true does what {@link #notify} does, for tests of modules that do not see this one. */
    private static final String EVENTS = "org.rdmapanama.card.events";

    /** Whether devices that are opened from now on tell of completions. */
    private static volatile boolean notifying;

    static final Layout CONTEXT = Layout.of("""
            comp_mask:4 cmds_supp_udata_mask:4 sub_cqs_per_cq:2 inline_buf_size:2 max_llq_size:4 max_tx_batch:2
            min_sq_wr:2 reserved_a0:4""");
    static final Layout DEVICE =
            Layout.of("comp_mask:4 max_sq_wr:4 max_rq_wr:4 max_sq_sge:2 max_rq_sge:2 max_rdma_size:4 device_caps:4");
    static final Layout PROTECTION_DOMAIN = Layout.of("comp_mask:4 pdn:2 reserved_30:2");
    static final Layout ADDRESS_HANDLE = Layout.of("comp_mask:4 efa_address_handle:2 reserved_30:2");

    private final Lock lock = new ReentrantLock();
    private final Map<Integer, EfaQueuePair> pairs = new HashMap<>();

    /** Pages that a provider may map, by their keys. */
    private final Map<Long, SharedPages> pages = new HashMap<>();

    private long lastKey;
    private int lastNumber;

    /**
     * Has devices that are opened from now on tell of completions, or not. Only for a program that takes no completion between
     * its request for an event and the event: taking one is told by the same doorbell, which is memory here, so that the request
     * would be lost if the card had not looked yet.
     */
    static void notify(boolean value) {
        notifying = value;
    }

    @Override
    public String name() {
        return "efa_0";
    }

    @Override
    public String modalias() {
        return "pci:v00001D0Fd0000EFA1sv00001D0Fsd0000EFA1bc02sc00i00";
    }

    @Override
    public int abiVersion() {
        return 1;
    }

    @Override
    public String nodeType() {
        return "7: unspecified";
    }

    @Override
    public String linkLayer() {
        return "Unknown";
    }

    @Override
    public String gidType() {
        return "IB/RoCE v1";
    }

    @Override
    public int gidTable() {
        return 1;
    }

    @Override
    public Lock lock() {
        return lock;
    }

    @Override
    public void correctDevice(View out) {
        out.set("vendor_id", VENDOR_ID)
                .set("vendor_part_id", PART_ID)
                .set("max_qp", MAX_PAIRS)
                .set("max_qp_wr", MAX_WORK)
                .set("max_sge", MAX_SEGMENTS)
                .set("max_sge_rd", 1)
                .set("atomic_cap", 0)
                .set("max_srq", 0)
                .set("max_srq_wr", 0)
                .set("max_srq_sge", 0)
                .set("max_mw", 0)
                .set("max_mcast_grp", 0);
    }

    @Override
    public void correctPort(View out) {
        out.set("max_msg_sz", MAX_MESSAGE).set("gid_tbl_len", gidTable()).set("link_layer", 0);
    }

    @Override
    public int softType(int type) throws CommandException {
        if (type != rdma_h.IBV_QPT_DRIVER()) {
            throw new CommandException(Errno.EOPNOTSUPP);
        }
        // It goes through the same states, with the same attributes.
        return rdma_h.IBV_QPT_UD();
    }

    /** The retries are those of this card's queue pair. */
    @Override
    public int softMask(int mask) {
        return mask & ~rdma_h.IBV_QP_RNR_RETRY();
    }

    /** Keys have 24 bits, and are both local and remote. */
    @Override
    public int key(int handle, int softKey) {
        return handle;
    }

    @Override
    public void describeContext(long out) {
        CONTEXT.at(out)
                .set("cmds_supp_udata_mask", SUPPORTS_QUERY_DEVICE | SUPPORTS_CREATE_AH)
                .set("sub_cqs_per_cq", SUB_QUEUES)
                .set("inline_buf_size", MAX_INLINE)
                .set("max_llq_size", MAX_WORK * SEND_ENTRY)
                .set("max_tx_batch", 16)
                .set("min_sq_wr", 16)
                // Newer headers call its lower half inline_buf_size_ex.
                .set("reserved_a0", MAX_INLINE_OF_LARGE);
    }

    @Override
    public void describeDevice(long out, int length) {
        DEVICE.at(out)
                .set("max_sq_wr", MAX_WORK)
                .set("max_rq_wr", MAX_WORK)
                .set("max_sq_sge", MAX_SEGMENTS)
                .set("max_rq_sge", MAX_SEGMENTS)
                .set("max_rdma_size", MAX_READ)
                .set(
                        "device_caps",
                        HAS_RDMA_READ
                                | HAS_RNR_RETRY
                                | HAS_CQ_WITH_SGID
                                | HAS_RDMA_WRITE
                                | (notifying || Boolean.getBoolean(EVENTS) ? HAS_CQ_NOTIFICATIONS : 0));
    }

    @Override
    public void describeProtectionDomain(int number, long out) {
        PROTECTION_DOMAIN.at(out).set("pdn", number);
    }

    @Override
    public void describeAddressHandle(int number, long out) {
        ADDRESS_HANDLE.at(out).set("efa_address_handle", number);
    }

    @Override
    public long map(DeviceFile file, long length, long offset) {
        SharedPages wanted = pages.get(offset);
        return wanted == null || length > wanted.length() ? -Errno.EINVAL : wanted.mapForProgram(length);
    }

    /** Returns a key by which a provider may map pages. */
    long publish(SharedPages shared) {
        lastKey += PAGE;
        pages.put(lastKey, shared);
        return lastKey;
    }

    /** Frees pages. What a provider has mapped stays. */
    void free(SharedPages shared) {
        pages.values().removeIf(shared::equals);
        shared.free();
    }

    /** Returns pages for a number of bytes. */
    static SharedPages pagesFor(long bytes) {
        return SharedPages.of(Math.max(1, (bytes + PAGE - 1) / PAGE) * PAGE);
    }

    @Override
    public CardCompletionQueue createCompletionQueue(DeviceFile file, CompletionQueueRequest request) {
        return new EfaCompletionQueue(this, request);
    }

    /** A driver that knows entries of one size only asks for small ones, and would write too much inline data beyond them. */
    @Override
    public void checkQueuePair(View in, long driverIn) throws CommandException {
        boolean large = EfaQueuePair.sendEntryBytes(in.getInt("max_send_wr"), driverIn) > SEND_ENTRY;
        if (in.get("max_inline_data") > (large ? MAX_INLINE_OF_LARGE : MAX_INLINE)) {
            throw new CommandException(Errno.EINVAL);
        }
    }

    @Override
    public CardQueuePair createQueuePair(DeviceFile file, QueuePairRequest request) {
        do {
            lastNumber = (lastNumber + 1) % MAX_PAIRS;
        } while (pairs.containsKey(FIRST_NUMBER + lastNumber));
        EfaQueuePair pair = new EfaQueuePair(this, file, FIRST_NUMBER + lastNumber, request);
        pairs.put(pair.number(), pair);
        return pair;
    }

    @Override
    public CardSharedReceiveQueue createSharedReceiveQueue(DeviceFile file, SharedReceiveQueueRequest request) {
        throw new IllegalStateException("the driver of EFA has no shared receive queues");
    }

    /** Returns a queue pair by its number, or null. */
    EfaQueuePair pair(int number) {
        return pairs.get(number);
    }

    void forget(EfaQueuePair pair) {
        pairs.remove(pair.number(), pair);
    }

    /** Writes the only GID of the port. */
    static void writeGid(DeviceFile file, long out) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment entries = arena.allocate(ibv_gid_entry.layout(), SysfsTree.GID_TABLE);
            int count = file.soft().queryGidTable(entries.address(), SysfsTree.GID_TABLE);
            if (count < 1) {
                throw new IllegalStateException("soft0 has no GID");
            }
            Memory.copy(ibv_gid_entry.gid(entries).address(), out, 2 * Long.BYTES);
        }
    }
}
