package org.rdmapanama.cards;

import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * An eRDMA card: {@code rdma/erdma-abi.h}, an adapter of iWARP with queue pairs of type RC. The kernel of a real one connects
 * them through its connection manager only. This one takes the attributes by which other cards connect, because soft0 needs
 * them, whose queue pairs stand behind these.
 */
final class ErdmaCard implements Card {
    static final int PAGE = 4096;

    private static final int VENDOR_ID = 0x1ded;
    private static final int PART_ID = 0x107f;
    private static final int MAX_WORK = 1 << 13;
    private static final int MAX_SEND_SEGMENTS = 6;
    private static final int MAX_RECEIVE_SEGMENTS = 1;
    private static final int MAX_INLINE = 96;

    // By which offsets the provider maps the pages of doorbells.
    private static final long SEND_DOORBELLS = PAGE;
    private static final long RECEIVE_DOORBELLS = 2 * PAGE;
    private static final long COMPLETION_DOORBELLS = 3 * PAGE;

    /** The page of doorbells for sends has one for each of the last 32 numbers of queue pairs. */
    private static final int SHARED_DOORBELLS = 2;

    static final Layout CONTEXT = Layout.of("dev_id:4 pad:4 sdb_type:4 sdb_offset:4 sdb:8 rdb:8 cdb:8");

    @Override
    public String name() {
        return "erdma_0";
    }

    @Override
    public String modalias() {
        return "pci:v00001DEDd0000107Fsv00001DEDsd0000107Fbc02sc00i00";
    }

    @Override
    public int abiVersion() {
        return 1;
    }

    @Override
    public String nodeType() {
        return "4: RNIC";
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
    public void correctDevice(View out) {
        out.set("vendor_id", VENDOR_ID)
                .set("vendor_part_id", PART_ID)
                .set("max_qp_wr", MAX_WORK)
                // The kernel tells the smaller one of both queues.
                .set("max_sge", MAX_RECEIVE_SEGMENTS)
                .set("max_sge_rd", 1)
                // The provider rounds up to a power of two.
                .set("max_cqe", Integer.highestOneBit(out.getInt("max_cqe")))
                .set("max_srq", 0)
                .set("max_srq_wr", 0)
                .set("max_srq_sge", 0)
                .set("max_mw", 0)
                .set("max_ah", 0)
                .set("max_mcast_grp", 0);
    }

    @Override
    public void correctPort(View out) {
        out.set("gid_tbl_len", gidTable());
    }

    @Override
    public void checkQueuePair(View in, long driverIn) throws CommandException {
        if (in.getInt("qp_type") != rdma_h.IBV_QPT_RC()) {
            throw new CommandException(Errno.EOPNOTSUPP);
        }
        if (!isPossible(in.getInt("max_send_wr"), MAX_WORK)
                || !isPossible(in.getInt("max_recv_wr"), MAX_WORK)
                || in.get("max_send_sge") > MAX_SEND_SEGMENTS
                || in.get("max_recv_sge") > MAX_RECEIVE_SEGMENTS
                || in.get("max_inline_data") > MAX_INLINE) {
            throw new CommandException(Errno.EINVAL);
        }
    }

    private static boolean isPossible(int requests, int most) {
        return requests > 0 && requests <= most;
    }

    @Override
    public void describeContext(long out) {
        CONTEXT.at(out)
                .set("sdb_type", SHARED_DOORBELLS)
                .set("sdb", SEND_DOORBELLS)
                .set("rdb", RECEIVE_DOORBELLS)
                .set("cdb", COMPLETION_DOORBELLS);
    }

    @Override
    public long map(DeviceFile file, long length, long offset) {
        boolean isPage = offset == SEND_DOORBELLS || offset == RECEIVE_DOORBELLS || offset == COMPLETION_DOORBELLS;
        return isPage && length == PAGE ? SystemCalls.map(length) : -Errno.EINVAL;
    }

    @Override
    public CardCompletionQueue createCompletionQueue(DeviceFile file, CompletionQueueRequest request) {
        return new ErdmaCompletionQueue(file, request);
    }

    @Override
    public CardQueuePair createQueuePair(DeviceFile file, QueuePairRequest request) {
        return new ErdmaQueuePair(file, request);
    }

    @Override
    public CardSharedReceiveQueue createSharedReceiveQueue(DeviceFile file, SharedReceiveQueueRequest request) {
        throw new IllegalStateException("the driver of eRDMA has no shared receive queues");
    }
}
