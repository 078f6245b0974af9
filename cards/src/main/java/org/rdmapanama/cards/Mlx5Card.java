package org.rdmapanama.cards;

import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.soft.memory.Memory;

/**
 * A ConnectX card: {@code rdma/mlx5-abi.h}, with an Ethernet port. It has what the version without ioctl(2) of the driver
 * has: no objects of devx, no memory windows.
 */
final class Mlx5Card implements Card {
    /** How many blue flame registers a program has, of which two are in each page. */
    static final int REGISTERS = 16;

    private static final int PAGE = 4096;
    private static final int REGISTER_BYTES = 512;
    private static final int MAX_WORK = 1 << 14;
    private static final int DESCRIPTOR_BYTES = 512;
    private static final int COMMAND_SHIFT = 8;

    /** How many registers a program may allocate in addition, for thread domains. */
    private static final int DYNAMIC_REGISTERS = 512;

    private static final int MAP_REGULAR = 0;
    private static final int MAP_NON_CACHED = 3;
    private static final int MAP_ALLOCATE = 6;

    private static final int SUPPORTS_QUERY_DEVICE = 1;
    private static final int SUPPORTS_CREATE_AH = 2;
    private static final int INLINE_MODE_NONE = 1;

    private static final Layout CONTEXT = Layout.of("""
            qp_tab_size:4 bf_reg_size:4 tot_bfregs:4 cache_line_size:4 max_sq_desc_sz:2 max_rq_desc_sz:2
            max_send_wqebb:4 max_recv_wr:4 max_srq_recv_wr:4 num_ports:2 flow_action_flags:2 comp_mask:4
            response_length:4 cqe_version:1 cmds_supp_uhw:1 eth_min_inline:1 clock_info_versions:1
            hca_core_clock_offset:8 log_uar_size:4 num_uars_per_page:4 num_dyn_bfregs:4 dump_fill_mkey:4""");
    private static final Layout ADDRESS_HANDLE = Layout.of("response_length:4 dmac:6 reserved:6");
    private static final byte[] MAC = {2, 5, 0x5e, 0, 0, 0x11};

    @Override
    public String name() {
        return "mlx5_0";
    }

    @Override
    public String modalias() {
        return "pci:v000015B3d00001017sv000015B3sd00000020bc02sc00i00";
    }

    @Override
    public int abiVersion() {
        return 1;
    }

    @Override
    public void describeContext(long out) {
        View view = CONTEXT.at(out);
        view.set("qp_tab_size", 1 << 12)
                .set("bf_reg_size", REGISTER_BYTES)
                .set("tot_bfregs", REGISTERS)
                .set("cache_line_size", 64)
                .set("max_sq_desc_sz", DESCRIPTOR_BYTES)
                .set("max_rq_desc_sz", DESCRIPTOR_BYTES)
                .set("max_send_wqebb", MAX_WORK)
                .set("max_recv_wr", MAX_WORK)
                .set("max_srq_recv_wr", MAX_WORK)
                .set("num_ports", 1)
                .set("response_length", CONTEXT.size())
                .set("cqe_version", 1)
                .set("cmds_supp_uhw", SUPPORTS_QUERY_DEVICE | SUPPORTS_CREATE_AH)
                .set("eth_min_inline", INLINE_MODE_NONE)
                .set("log_uar_size", 12)
                .set("num_uars_per_page", 1)
                .set("num_dyn_bfregs", DYNAMIC_REGISTERS);
    }

    @Override
    public void describeDevice(long out, int length) {
        Memory.putInt(out + Integer.BYTES, length);
    }

    @Override
    public void describeProtectionDomain(int number, long out) {
        Memory.putInt(out, number);
    }

    @Override
    public void describeAddressHandle(int number, long out) {
        View view = ADDRESS_HANDLE.at(out);
        view.set("response_length", ADDRESS_HANDLE.size());
        for (int i = 0; i < MAC.length; i++) {
            Memory.putByte(view.addressOf("dmac") + i, MAC[i]);
        }
    }

    @Override
    public long map(DeviceFile file, long length, long offset) {
        int command = (int) (offset / PAGE) >>> COMMAND_SHIFT & 0xff;
        boolean isRegister = command == MAP_REGULAR || command == MAP_NON_CACHED || command == MAP_ALLOCATE;
        return isRegister ? SystemCalls.map(length) : -Errno.EINVAL;
    }

    @Override
    public CardCompletionQueue createCompletionQueue(DeviceFile file, CompletionQueueRequest request) {
        return new Mlx5CompletionQueue(file, request);
    }

    @Override
    public CardQueuePair createQueuePair(DeviceFile file, QueuePairRequest request) {
        return new Mlx5QueuePair(file, request);
    }

    @Override
    public CardSharedReceiveQueue createSharedReceiveQueue(DeviceFile file, SharedReceiveQueueRequest request) {
        return new Mlx5SharedReceiveQueue(file, request);
    }
}
