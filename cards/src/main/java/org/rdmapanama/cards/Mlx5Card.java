package org.rdmapanama.cards;

import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;

/**
 * A ConnectX card: {@code rdma/mlx5-abi.h}, with an Ethernet port. Pages of its register space (UAR) are allocated one by one,
 * as by Linux 5.10 and later. It has no objects of devx, and no memory windows.
 */
final class Mlx5Card implements Card {
    private static final int PAGE = 4096;
    private static final int MAX_WORK = 1 << 14;
    static final int DESCRIPTOR_BYTES = 512;
    private static final int COMMAND_SHIFT = 8;

    /** The most pages of registers that a program may have. */
    private static final int REGISTER_PAGES = 256;

    /** How to map a page of registers that was allocated, and above it its number. */
    private static final int MAP_REGISTERS = 9;

    private static final int PAGE_NUMBER_SHIFT = 16;

    // Of rdma/mlx5_user_ioctl_cmds.h.
    private static final int REGISTER_PAGE = 0x1008;
    private static final int ALLOCATE = 0x1000;
    private static final int DESTROY = 0x1001;
    private static final int HANDLE = 0x1000;
    private static final int MAP_OFFSET = 0x1002;
    private static final int MAP_LENGTH = 0x1003;
    private static final int PAGE_ID = 0x1004;

    private static final int SUPPORTS_QUERY_DEVICE = 1;
    private static final int SUPPORTS_CREATE_AH = 2;
    private static final int INLINE_MODE_NONE = 1;

    // What it can do with entries of completion queues that have 128 bytes, and otherwise.
    private static final int COMPRESSES_LARGE_COMPLETIONS = 1;
    private static final int PADS_COMPLETIONS = 1 << 1;
    private static final int COUNTS_CREDITS_BY_PACKET = 1 << 2;

    // A work request can have several packets: of one size, of several.
    private static final int SENDS_SEVERAL_PACKETS = 1 << 1;
    private static final int SENDS_SEVERAL_SIZES = 1 << 2;

    static final Layout CONTEXT = Layout.of("""
            qp_tab_size:4 bf_reg_size:4 tot_bfregs:4 cache_line_size:4 max_sq_desc_sz:2 max_rq_desc_sz:2
            max_send_wqebb:4 max_recv_wr:4 max_srq_recv_wr:4 num_ports:2 flow_action_flags:2 comp_mask:4
            response_length:4 cqe_version:1 cmds_supp_uhw:1 eth_min_inline:1 clock_info_versions:1
            hca_core_clock_offset:8 log_uar_size:4 num_uars_per_page:4 num_dyn_bfregs:4 dump_fill_mkey:4""");
    static final Layout DEVICE = Layout.of("""
            comp_mask:4 response_length:4 tso_caps:8 rss_caps:16 cqe_comp_caps:8 packet_pacing_caps:16
            mlx5_ib_support_multi_pkt_send_wqes:4 flags:4 sw_parsing_caps:8 striding_rq_caps:24 tunnel_offloads_caps:4
            dci_streams_caps:2 reserved:2""");

    // Of what is in it.
    static final Layout COMPRESSION = Layout.of("max_num:4 supported_format:4");
    static final Layout PARSING = Layout.of("sw_parsing_offloads:4 supported_qpts:4");
    static final Layout STRIDING = Layout.of("""
            min_single_stride_log_num_of_bytes:4 max_single_stride_log_num_of_bytes:4
            min_single_wqe_log_num_of_strides:4 max_single_wqe_log_num_of_strides:4 supported_qpts:4 reserved:4""");
    static final Layout STREAMS = Layout.of("max_log_num_concurent:1 max_log_num_errored:1");

    /** The answer to MODIFY_QP. */
    static final Layout MODIFIED = Layout.of("response_length:4 dctn:4 ece_options:4 reserved:4");

    static final Layout ADDRESS_HANDLE = Layout.of("response_length:4 dmac:6 reserved:6");
    private static final byte[] MAC = {2, 5, 0x5e, 0, 0, 0x11};

    // Flags of CREATE_QP.
    private static final int NAMES_REGISTER_PAGE = 1 << 10;
    private static final int DC_TARGET = 1 << 4;
    private static final int DC_INITIATOR = 1 << 5;

    private final Lock lock = new ReentrantLock();

    /** Those that initiators reach. */
    private final Map<Integer, Mlx5DcTarget> targets = new HashMap<>();

    /** The pages of registers that are allocated, by their numbers, from 1 on. */
    private final Map<Integer, Mlx5RegisterPage> registerPages = new HashMap<>();

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
                .set("bf_reg_size", Mlx5RegisterPage.REGISTER_BYTES)
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
                .set("num_uars_per_page", 1);
    }

    @Override
    public void describeDevice(long out, int length) {
        int bytes = Math.min(length, DEVICE.size());
        try (Arena arena = Arena.ofConfined()) {
            View view = DEVICE.at(arena.allocate(DEVICE.size(), Long.BYTES).address());
            describeDevice(view.set("response_length", bytes));
            Memory.copy(view.address(), out, bytes);
        }
    }

    /** Numbers that differ, so that a program sees if it takes one for another. */
    private static void describeDevice(View view) {
        view.set("flags", COMPRESSES_LARGE_COMPLETIONS | PADS_COMPLETIONS | COUNTS_CREDITS_BY_PACKET)
                .set("mlx5_ib_support_multi_pkt_send_wqes", SENDS_SEVERAL_PACKETS | SENDS_SEVERAL_SIZES)
                .set("tunnel_offloads_caps", 1 | 1 << 2);
        COMPRESSION.at(view.addressOf("cqe_comp_caps")).set("max_num", 60).set("supported_format", 1 | 1 << 2);
        PARSING.at(view.addressOf("sw_parsing_caps"))
                .set("sw_parsing_offloads", 1 | 1 << 1)
                .set("supported_qpts", 1 << rdma_h.IBV_QPT_RAW_PACKET());
        STRIDING.at(view.addressOf("striding_rq_caps"))
                .set("min_single_stride_log_num_of_bytes", 6)
                .set("max_single_stride_log_num_of_bytes", 13)
                .set("min_single_wqe_log_num_of_strides", 9)
                .set("max_single_wqe_log_num_of_strides", 16)
                .set("supported_qpts", 1 << rdma_h.IBV_QPT_RAW_PACKET() | 1 << rdma_h.IBV_QPT_UD());
        STREAMS.at(view.addressOf("dci_streams_caps"))
                .set("max_log_num_concurent", 5)
                .set("max_log_num_errored", 3);
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
    public void control(Uverbs.Control command) throws CommandException {
        if (command.object() != REGISTER_PAGE) {
            throw new CommandException(Errno.EPROTONOSUPPORT);
        }
        switch (command.method()) {
            case ALLOCATE -> {
                int page = 1;
                while (registerPages.containsKey(page)) {
                    page++;
                }
                Mlx5RegisterPage allocated = page > REGISTER_PAGES ? null : Mlx5RegisterPage.allocate(page);
                if (allocated == null) {
                    throw new CommandException(Errno.ENOMEM);
                }
                registerPages.put(page, allocated);
                command.attribute(HANDLE).set("data", page);
                Memory.putLong(
                        command.attribute(MAP_OFFSET).get("data"),
                        ((long) page << PAGE_NUMBER_SHIFT | MAP_REGISTERS << COMMAND_SHIFT) * PAGE);
                Memory.putInt(command.attribute(MAP_LENGTH).get("data"), PAGE);
                Memory.putInt(command.attribute(PAGE_ID).get("data"), page);
            }
            case DESTROY -> {
                Mlx5RegisterPage page =
                        registerPages.remove(command.attribute(HANDLE).getInt("data"));
                if (page == null) {
                    throw new CommandException(Errno.EINVAL);
                }
                page.free();
            }
            default -> throw new CommandException(Errno.EPROTONOSUPPORT);
        }
    }

    @Override
    public long map(DeviceFile file, long length, long offset) {
        int number = (int) (offset / PAGE);
        Mlx5RegisterPage page = registerPages.get(number >>> PAGE_NUMBER_SHIFT);
        if ((number >>> COMMAND_SHIFT & 0xff) != MAP_REGISTERS || page == null) {
            return -Errno.EINVAL;
        }
        long mapped = page.mapForProgram(length);
        return mapped == -1 ? -Errno.ENOMEM : mapped;
    }

    @Override
    public CardCompletionQueue createCompletionQueue(DeviceFile file, CompletionQueueRequest request) {
        return new Mlx5CompletionQueue(file, request);
    }

    /** One lock for all files, because initiators reach the targets of others. */
    @Override
    public Lock lock() {
        return lock;
    }

    @Override
    public int softType(int type) {
        // An initiator or a target. It goes through states of the same names, with fewer attributes.
        return type == rdma_h.IBV_QPT_DRIVER() ? rdma_h.IBV_QPT_UD() : type;
    }

    @Override
    public CardQueuePair createQueuePair(DeviceFile file, QueuePairRequest request) throws CommandException {
        View in = Mlx5QueuePair.REQUEST.at(request.in());
        int kind = in.getInt("flags") & (DC_TARGET | DC_INITIATOR);
        if (request.type() != rdma_h.IBV_QPT_DRIVER()) {
            return new Mlx5QueuePair(this, file, request, registerPage(in), false);
        }
        boolean possible = kind == DC_TARGET
                ? request.shared() != null
                : kind == DC_INITIATOR && request.shared() == null && in.getInt("rq_wqe_count") == 0;
        if (!possible) {
            throw new CommandException(Errno.EINVAL);
        }
        return kind == DC_TARGET
                ? new Mlx5DcTarget(this, file, request)
                : new Mlx5QueuePair(this, file, request, registerPage(in), true);
    }

    /** Returns the page that has the doorbell of a queue pair, or null. */
    private Mlx5RegisterPage registerPage(View in) {
        return (in.getInt("flags") & NAMES_REGISTER_PAGE) == 0 ? null : registerPages.get(in.getInt("bfreg_index"));
    }

    /** Returns the target that has a number, or null. */
    Mlx5DcTarget target(int number) {
        return targets.get(number);
    }

    /** Has initiators find a target. */
    void publish(Mlx5DcTarget target) {
        targets.put(target.number(), target);
    }

    void forget(Mlx5DcTarget target) {
        targets.remove(target.number(), target);
    }

    @Override
    public CardSharedReceiveQueue createSharedReceiveQueue(DeviceFile file, SharedReceiveQueueRequest request) {
        return new Mlx5SharedReceiveQueue(file, request);
    }
}
