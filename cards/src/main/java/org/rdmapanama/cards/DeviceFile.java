package org.rdmapanama.cards;

import static org.rdmapanama.cards.CommandException.check;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Lock;
import org.rdmapanama.cards.Card.CompletionQueueRequest;
import org.rdmapanama.cards.Card.QueuePairRequest;
import org.rdmapanama.cards.Card.SharedReceiveQueueRequest;
import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_async_event;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.ffm.verbs.ibv_mr;
import org.rdmapanama.ffm.verbs.ibv_mw;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * One open device file: executes the commands that libibverbs writes to it, as the kernel does, on objects of soft0, and
 * lets the card look at its queues. Its lock guards everything; commands come on the program's threads, the steps of a
 * round on the {@link CardThread}.
 */
final class DeviceFile {
    /** At least so many entries has a completion queue of soft0: it is the card's that overruns. */
    private static final int SOFT_ENTRIES = 1 << 12;

    /** Room for any structure of verbs.h. */
    private static final int SCRATCH_BYTES = 1024;

    private final Lock lock;
    private final Card card;
    private final ProviderContext soft;
    private final long softChannel;
    private final NativeBlock scratch = new NativeBlock(SCRATCH_BYTES);
    private final CardEvents asyncEvents = CardEvents.ofAsynchronousEvents();

    private final Handles<Long> domains = new Handles<>();
    private final Handles<Region> regions = new Handles<>();
    private final Handles<Long> windows = new Handles<>();
    private final Handles<Address> addresses = new Handles<>();
    private final Handles<CardEvents> channels = new Handles<>();
    private final Handles<CardCompletionQueue> completionQueues = new Handles<>();
    private final Handles<CardSharedReceiveQueue> sharedReceives = new Handles<>();
    private final Handles<CardQueuePair> pairs = new Handles<>();

    /** The identifiers that the provider gave to queue pairs and shared receive queues, by the addresses of soft0's. */
    private final Map<Long, Long> userHandles = new HashMap<>();

    /** The soft0 queues that have had a completion which was solicited. */
    private final Set<Long> solicited = new HashSet<>();

    private final Map<Integer, CardQueuePair> pairsByNumber = new HashMap<>();

    /** The addresses of soft0 queue pairs of which programs hear no events. */
    private final Set<Long> hidden = new HashSet<>();

    private boolean closed;

    /**
     * Memory that a program has registered.
     *
     * @param soft the soft0 region
     * @param domain the soft0 protection domain
     * @param iova by which address work requests name the first byte
     */
    record Region(long soft, long domain, long start, long length, long iova, int access) {
        /** Returns the address in this process of a part of it; or 0 if it does not have all of the part. */
        long address(long from, long bytes) {
            long offset = from - iova;
            return offset >= 0 && bytes <= length - offset ? start + offset : 0;
        }
    }

    /** An address handle of a program: that of soft0, its protection domain, and the two halves of the GID. */
    record Address(long soft, long domain, long prefix, long suffix) {}

    DeviceFile(Card card, ProviderContext soft) {
        this.card = card;
        this.soft = soft;
        lock = card.lock();
        softChannel = soft.createCompletionChannel();
    }

    ProviderContext soft() {
        return soft;
    }

    /** Returns a queue pair by its number, or null. */
    CardQueuePair pair(int number) {
        return pairsByNumber.get(number);
    }

    /** Executes a command. Returns its length, or a negated errno. */
    long write(long command, long length) {
        lock.lock();
        try {
            View header = Uverbs.HEADER.at(command);
            int number = header.getInt("command");
            if ((number & Uverbs.EXTENDED) == 0) {
                execute(number, header.end());
            } else {
                View extended = Uverbs.EXTENDED_HEADER.at(header.end());
                Extended parts = new Extended(
                        extended.end(),
                        extended.end() + 8 * header.get("in_words"),
                        extended.getInt("provider_in_words") * 8,
                        extended.get("response"),
                        extended.get("response") + 8 * header.get("out_words"),
                        extended.getInt("provider_out_words") * 8);
                executeExtended(number & ~Uverbs.EXTENDED, parts);
            }
            return length;
        } catch (CommandException ex) {
            return -ex.errno();
        } finally {
            lock.unlock();
        }
    }

    /** The parts of an extended command: the core's and the driver's, in and out. */
    private record Extended(long in, long driverIn, int driverInBytes, long out, long driverOut, int driverOutBytes) {}

    private void execute(int command, long in) throws CommandException {
        switch (command) {
            case Uverbs.GET_CONTEXT -> getContext(Uverbs.GET_CONTEXT_IN.at(in));
            case Uverbs.QUERY_DEVICE ->
                queryDevice(Uverbs.QUERY_DEVICE_IN.at(in).get("response"));
            case Uverbs.QUERY_PORT -> queryPort(Uverbs.QUERY_PORT_IN.at(in));
            case Uverbs.ALLOC_PD -> allocateDomain(Uverbs.ALLOC_PD_IN.at(in));
            case Uverbs.DEALLOC_PD -> deallocateDomain(Uverbs.DEALLOC_PD_IN.at(in));
            case Uverbs.REG_MR -> register(Uverbs.REG_MR_IN.at(in));
            case Uverbs.DEREG_MR -> deregister(Uverbs.DEREG_MR_IN.at(in));
            case Uverbs.ALLOC_MW -> allocateWindow(Uverbs.ALLOC_MW_IN.at(in));
            case Uverbs.DEALLOC_MW -> deallocateWindow(Uverbs.DEALLOC_MW_IN.at(in));
            case Uverbs.CREATE_COMP_CHANNEL -> createChannel(Uverbs.CREATE_COMP_CHANNEL_IN.at(in));
            case Uverbs.CREATE_CQ -> {
                View request = Uverbs.CREATE_CQ_IN.at(in);
                View answer = Uverbs.CREATE_CQ_OUT.at(request.get("response"));
                createCompletionQueue(request, request.end(), answer, answer.end());
            }
            case Uverbs.RESIZE_CQ -> resize(Uverbs.RESIZE_CQ_IN.at(in));
            case Uverbs.DESTROY_CQ -> destroyCompletionQueue(Uverbs.DESTROY_CQ_IN.at(in));
            case Uverbs.CREATE_QP -> {
                View request = Uverbs.CREATE_QP_IN.at(in);
                View answer = Uverbs.CREATE_QP_OUT.at(request.get("response"));
                createQueuePair(request, request.end(), answer, answer.end());
            }
            case Uverbs.QUERY_QP -> query(Uverbs.QUERY_QP_IN.at(in));
            case Uverbs.MODIFY_QP -> modify(Uverbs.MODIFY_QP_IN.at(in));
            case Uverbs.DESTROY_QP -> destroyQueuePair(Uverbs.DESTROY_QP_IN.at(in));
            case Uverbs.CREATE_SRQ -> createSharedReceiveQueue(Uverbs.CREATE_SRQ_IN.at(in));
            case Uverbs.MODIFY_SRQ -> modifyShared(Uverbs.MODIFY_SRQ_IN.at(in));
            case Uverbs.QUERY_SRQ -> queryShared(Uverbs.QUERY_SRQ_IN.at(in));
            case Uverbs.DESTROY_SRQ -> destroyShared(Uverbs.DESTROY_SRQ_IN.at(in));
            case Uverbs.CREATE_AH -> createAddressHandle(Uverbs.CREATE_AH_IN.at(in));
            case Uverbs.DESTROY_AH -> {
                View request = Uverbs.DESTROY_AH_IN.at(in);
                check(soft.destroyAddressHandle(
                        addresses.get(request.get("ah_handle")).soft()));
                addresses.remove(request.get("ah_handle"));
            }
            case Uverbs.ATTACH_MCAST -> {
                View request = Uverbs.MCAST_IN.at(in);
                check(soft.attachMulticast(softPair(request), request.addressOf("gid"), request.getInt("mlid")));
            }
            case Uverbs.DETACH_MCAST -> {
                View request = Uverbs.MCAST_IN.at(in);
                check(soft.detachMulticast(softPair(request), request.addressOf("gid"), request.getInt("mlid")));
            }
            default -> throw new CommandException(Errno.EOPNOTSUPP);
        }
    }

    private void executeExtended(int command, Extended parts) throws CommandException {
        switch (command) {
            case Uverbs.QUERY_DEVICE -> {
                queryDevice(parts.out);
                View answer = Uverbs.EX_QUERY_DEVICE_OUT.at(parts.out);
                answer.set("response_length", Uverbs.EX_QUERY_DEVICE_OUT.size());
                if (parts.driverOutBytes > 0) {
                    card.describeDevice(parts.driverOut, parts.driverOutBytes);
                }
            }
            case Uverbs.CREATE_CQ ->
                createCompletionQueue(
                        Uverbs.EX_CREATE_CQ_IN.at(parts.in),
                        parts.driverIn,
                        Uverbs.CREATE_CQ_OUT.at(parts.out),
                        parts.driverOut);
            case Uverbs.CREATE_QP ->
                createQueuePair(
                        Uverbs.EX_CREATE_QP_IN.at(parts.in),
                        parts.driverIn,
                        Uverbs.CREATE_QP_OUT.at(parts.out),
                        parts.driverOut);
            case Uverbs.MODIFY_QP -> {
                CardQueuePair pair = modify(Uverbs.MODIFY_QP_IN.at(parts.in));
                if (parts.driverOutBytes > 0) {
                    pair.describeModified(parts.driverOut);
                }
            }
            default -> throw new CommandException(Errno.EOPNOTSUPP);
        }
    }

    /**
     * Answers ioctl(2). libibverbs falls back to writing its commands when this refuses them; those of the card's driver come
     * only this way.
     */
    long control(long argument) {
        lock.lock();
        try {
            card.control(Uverbs.Control.at(argument));
            return 0;
        } catch (CommandException ex) {
            return -ex.errno();
        } finally {
            lock.unlock();
        }
    }

    long map(long length, long offset) {
        lock.lock();
        try {
            return card.map(this, length, offset);
        } finally {
            lock.unlock();
        }
    }

    /** Ends what the program left, as the kernel does when a device file is closed. */
    void close() {
        lock.lock();
        try {
            closed = true;
            pairs.all().forEach(CardQueuePair::close);
            completionQueues.all().forEach(CardQueue::close);
            soft.close();
            asyncEvents.close();
            channels.all().forEach(CardEvents::close);
            scratch.free();
        } finally {
            lock.unlock();
        }
    }

    /** Notes which sends are announced: the first step of a round of the card. */
    void noteSends() {
        lock.lock();
        try {
            pairs.all().forEach(CardQueuePair::noteSends);
        } finally {
            lock.unlock();
        }
    }

    /** Takes all receives: the second step. Returns whether there were any. */
    boolean takeReceives() {
        lock.lock();
        try {
            boolean busy = false;
            if (!closed) {
                for (CardSharedReceiveQueue queue : sharedReceives.all()) {
                    busy |= queue.work();
                }
                for (CardQueuePair pair : pairs.all()) {
                    busy |= pair.takeReceives();
                }
            }
            return busy;
        } finally {
            lock.unlock();
        }
    }

    /** Executes the sends that were noted, and writes completions and events: the last step. */
    boolean sendAndComplete() {
        lock.lock();
        try {
            if (closed) {
                return false;
            }
            boolean busy = false;
            for (CardQueuePair pair : pairs.all()) {
                busy |= pair.executeSends();
            }
            for (CardCompletionQueue queue : completionQueues.all()) {
                busy |= queue.work();
            }
            return forwardAsyncEvent() || busy;
        } finally {
            lock.unlock();
        }
    }

    private boolean forwardAsyncEvent() {
        long event = scratch.address();
        if (soft.getAsyncEvent(event) != 1) {
            return false;
        }
        int type = Memory.getInt(event + ibv_async_event.event_type$offset());
        long object = Memory.getLong(event + ibv_async_event.element$offset());
        soft.ackAsyncEvent(event);
        if (hidden.contains(object)) {
            return true;
        }
        asyncEvents.asynchronous(type, userHandles.getOrDefault(object, object));
        return true;
    }

    /** Has the completions of a soft0 queue pair that no program knows count as those of another one. */
    void hide(long softPair, int number, CardQueuePair owner) {
        hidden.add(softPair);
        pairsByNumber.put(number, owner);
    }

    /** Forgets a soft0 queue pair that no program knows, and its completions. */
    void reveal(long softPair, int number) {
        hidden.remove(softPair);
        pairsByNumber.remove(number);
    }

    /** Moves a soft0 queue pair to the error state. */
    void fail(long softPair) {
        MemorySegment attributes = Native.struct(scratch.address(), ibv_qp_attr.layout());
        attributes.fill((byte) 0);
        ibv_qp_attr.qp_state(attributes, rdma_h.IBV_QPS_ERR());
        soft.modifyQueuePair(softPair, attributes.address(), rdma_h.IBV_QP_STATE());
    }

    /** Has the card fail the next send or receive of a queue pair. Returns false if it is not of this file. */
    boolean inject(int number, boolean receive, InjectedError error) {
        lock.lock();
        try {
            CardQueuePair pair = pair(number);
            if (pair == null) {
                return false;
            }
            pair.inject(receive, error);
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Returns what the card was given for a queue pair, or null if it is not of this file. */
    GivenToCard given(int number) {
        lock.lock();
        try {
            CardQueuePair pair = pair(number);
            return pair == null ? null : pair.given();
        } finally {
            lock.unlock();
        }
    }

    /** Returns how many sends of a queue pair the card has found in a register; or -1 if it is not of this file. */
    int takenFromRegister(int number) {
        lock.lock();
        try {
            CardQueuePair pair = pair(number);
            return pair == null ? -1 : pair.takenFromRegister();
        } finally {
            lock.unlock();
        }
    }

    /** A completion queue has overrun: its queue pairs fail with it, and the program is told of all. */
    void completionQueueFailed(CardCompletionQueue queue) {
        asyncEvents.asynchronous(rdma_h.IBV_EVENT_CQ_ERR(), queue.handle());
        for (CardQueuePair pair : pairs.all()) {
            if (pair.completesIn(queue)) {
                pair.fail();
                asyncEvents.asynchronous(rdma_h.IBV_EVENT_QP_FATAL(), userHandles.get(pair.softPair()));
            }
        }
    }

    // The device and its port.

    private void getContext(View in) {
        View out = Uverbs.GET_CONTEXT_OUT.at(in.get("response"));
        out.set("async_fd", asyncEvents.descriptor()).set("num_comp_vectors", 1);
        card.describeContext(out.end());
    }

    private void queryDevice(long response) throws CommandException {
        DeviceTranslation.device(soft, response);
        card.correctDevice(Uverbs.QUERY_DEVICE_OUT.at(response));
    }

    private void queryPort(View in) throws CommandException {
        DeviceTranslation.port(soft, in.getInt("port_num"), in.get("response"));
        card.correctPort(Uverbs.QUERY_PORT_OUT.at(in.get("response")));
    }

    // Memory.

    private void allocateDomain(View in) throws CommandException {
        long domain = check(soft.allocateProtectionDomain());
        int handle = domains.add(domain);
        View out = Uverbs.ALLOC_PD_OUT.at(in.get("response"));
        out.set("pd_handle", handle);
        card.describeProtectionDomain(handle, out.end());
    }

    private void deallocateDomain(View in) throws CommandException {
        check(soft.deallocateProtectionDomain(domains.get(in.get("pd_handle"))));
        domains.remove(in.get("pd_handle"));
    }

    private void register(View in) throws CommandException {
        long domain = domains.get(in.get("pd_handle"));
        long start = in.get("start");
        long length = in.get("length");
        long iova = in.get("hca_va");
        int access = in.getInt("access_flags");
        long region = check(soft.registerMemory(domain, start, length, iova, access));
        int handle = regions.add(new Region(region, domain, start, length, iova, access));
        MemorySegment struct = Native.struct(region, ibv_mr.layout());
        Uverbs.REG_MR_OUT
                .at(in.get("response"))
                .set("mr_handle", handle)
                .set("lkey", card.key(handle, ibv_mr.lkey(struct)))
                .set("rkey", card.key(handle, ibv_mr.rkey(struct)));
    }

    private void deregister(View in) throws CommandException {
        check(soft.deregisterMemory(regions.get(in.get("mr_handle")).soft()));
        regions.remove(in.get("mr_handle"));
    }

    private void allocateWindow(View in) throws CommandException {
        long window = check(soft.allocateMemoryWindow(domains.get(in.get("pd_handle")), in.getInt("mw_type")));
        int key = ibv_mw.rkey(Native.struct(window, ibv_mw.layout()));
        Uverbs.ALLOC_MW_OUT
                .at(in.get("response"))
                .set("mw_handle", windows.add(window))
                .set("rkey", key);
    }

    private void deallocateWindow(View in) throws CommandException {
        check(soft.deallocateMemoryWindow(windows.get(in.get("mw_handle"))));
        windows.remove(in.get("mw_handle"));
    }

    /** Returns the soft0 window that has a key, but for the bits that its owner may change; or 0. */
    long windowOf(int key) {
        for (long window : windows.all()) {
            if ((ibv_mw.rkey(Native.struct(window, ibv_mw.layout())) ^ key) >>> Byte.SIZE == 0) {
                return window;
            }
        }
        return 0;
    }

    /** Returns the soft0 region that has a local key, or 0. */
    long regionOf(int key) {
        for (Region region : regions.all()) {
            if (ibv_mr.lkey(Native.struct(region.soft(), ibv_mr.layout())) == key) {
                return region.soft();
            }
        }
        return 0;
    }

    /** Returns registered memory by its handle, or null. */
    Region region(int handle) {
        return regions.find(handle);
    }

    /** Returns an address handle by its number, or null. */
    Address address(int number) {
        return addresses.find(number);
    }

    /** Returns the number of an address handle of a protection domain for a GID, or null. */
    Integer addressOf(long domain, long prefix, long suffix) {
        return addresses.find(
                known -> known.domain() == domain && known.prefix() == prefix && known.suffix() == suffix);
    }

    /** Takes what soft0 tells of solicited completions. Returns whether a queue has had one since the last time. */
    boolean takeSolicited(long softQueue) {
        for (long queue = soft.getCompletionEvent(softChannel); queue > 0; ) {
            soft.ackCompletionEvent(softChannel, queue);
            solicited.add(queue);
            queue = soft.getCompletionEvent(softChannel);
        }
        return solicited.remove(softQueue);
    }

    // Completion queues.

    private void createChannel(View in) {
        CardEvents channel = CardEvents.ofCompletions();
        channels.add(channel);
        Uverbs.CREATE_COMP_CHANNEL_OUT.at(in.get("response")).set("fd", channel.descriptor());
    }

    private CardEvents channelOf(int descriptor) throws CommandException {
        if (descriptor < 0) {
            return null;
        }
        for (CardEvents channel : channels.all()) {
            if (channel.descriptor() == descriptor) {
                return channel;
            }
        }
        throw new CommandException(Errno.EINVAL);
    }

    private void createCompletionQueue(View in, long driverIn, View out, long driverOut) throws CommandException {
        CardEvents channel = channelOf(in.getInt("comp_channel"));
        int entries = in.getInt("cqe");
        long soft0 = check(soft.createCompletionQueue(Math.max(entries, SOFT_ENTRIES), 0, softChannel, 0));
        int number = Memory.getInt(soft0 + ibv_cq.handle$offset());
        CardCompletionQueue queue = card.createCompletionQueue(
                this,
                new CompletionQueueRequest(
                        number, soft0, entries, in.get("user_handle"), channel, driverIn, driverOut));
        out.set("cq_handle", completionQueues.add(queue)).set("cqe", entries);
    }

    private void resize(View in) throws CommandException {
        CardCompletionQueue queue = completionQueues.get(in.get("cq_handle"));
        int entries = in.getInt("cqe");
        check(soft.resizeCompletionQueue(queue.softQueue(), Math.max(entries, SOFT_ENTRIES)));
        long capacity = check(queue.resize(entries, in.end()));
        Uverbs.RESIZE_CQ_OUT.at(in.get("response")).set("cqe", capacity);
    }

    private void destroyCompletionQueue(View in) throws CommandException {
        CardCompletionQueue queue = completionQueues.get(in.get("cq_handle"));
        check(soft.destroyCompletionQueue(queue.softQueue()));
        completionQueues.remove(in.get("cq_handle"));
        queue.close();
        Uverbs.DESTROY_CQ_OUT
                .at(in.get("response"))
                .set("comp_events_reported", queue.withdrawEvents())
                .set("async_events_reported", asyncEvents.withdraw(queue.handle()));
    }

    // Queue pairs.

    private void createQueuePair(View in, long driverIn, View out, long driverOut) throws CommandException {
        card.checkQueuePair(in, driverIn);
        int type = in.getInt("qp_type");
        int sends = in.getInt("max_send_wr");
        CardSharedReceiveQueue shared = in.get("is_srq") == 0 ? null : sharedReceives.get(in.get("srq_handle"));
        long domain = domains.get(in.get("pd_handle"));

        MemorySegment init = Native.struct(scratch.address(), ibv_qp_init_attr.layout());
        init.fill((byte) 0);
        ibv_qp_init_attr.send_cq(init, completionQueueSegment(in.get("send_cq_handle")));
        ibv_qp_init_attr.recv_cq(init, completionQueueSegment(in.get("recv_cq_handle")));
        if (shared != null) {
            ibv_qp_init_attr.srq(init, MemorySegment.ofAddress(shared.softQueue()));
        }
        ibv_qp_init_attr.qp_type(init, card.softType(type));
        ibv_qp_init_attr.sq_sig_all(init, in.getInt("sq_sig_all"));
        MemorySegment cap = ibv_qp_init_attr.cap(init);
        ibv_qp_cap.max_send_wr(cap, sends);
        ibv_qp_cap.max_recv_wr(cap, in.getInt("max_recv_wr"));
        ibv_qp_cap.max_send_sge(cap, in.getInt("max_send_sge"));
        ibv_qp_cap.max_recv_sge(cap, in.getInt("max_recv_sge"));
        ibv_qp_cap.max_inline_data(cap, in.getInt("max_inline_data"));
        long pair = check(soft.createQueuePair(domain, init.address()));
        int number = ibv_qp.qp_num(Native.struct(pair, ibv_qp.layout()));
        CardQueuePair queuePair;
        try {
            queuePair = card.createQueuePair(
                    this,
                    new QueuePairRequest(
                            pair,
                            number,
                            type,
                            domain,
                            sends,
                            in.getInt("max_recv_wr"),
                            completionQueues.get(in.get("send_cq_handle")),
                            completionQueues.get(in.get("recv_cq_handle")),
                            shared,
                            driverIn,
                            driverOut));
        } catch (CommandException ex) {
            soft.destroyQueuePair(pair);
            throw ex;
        }
        userHandles.put(pair, in.get("user_handle"));
        pairsByNumber.put(queuePair.number(), queuePair);
        out.set("qp_handle", pairs.add(queuePair))
                .set("qpn", queuePair.numberWhenCreated())
                .set("max_send_wr", sends)
                .set("max_recv_wr", in.get("max_recv_wr"))
                .set("max_send_sge", in.get("max_send_sge"))
                .set("max_recv_sge", in.get("max_recv_sge"))
                .set("max_inline_data", in.get("max_inline_data"));
    }

    private MemorySegment completionQueueSegment(long handle) throws CommandException {
        return MemorySegment.ofAddress(completionQueues.get(handle).softQueue());
    }

    private long softPair(View request) throws CommandException {
        return pairs.get(request.get("qp_handle")).softPair();
    }

    private CardQueuePair modify(View in) throws CommandException {
        CardQueuePair pair = pairs.get(in.get("qp_handle"));
        // What the program posted before belongs to the state before.
        pair.noteSends();
        pair.takeReceives();
        pair.executeSends();
        MemorySegment attributes = Native.struct(scratch.address(), ibv_qp_attr.layout());
        QueuePairTranslation.read(in, attributes);
        int mask = in.getInt("attr_mask");
        int softMask = pair.softMask(attributes, card.softMask(mask));
        check(soft.modifyQueuePair(pair.softPair(), attributes.address(), softMask));
        pair.modified(attributes, mask);
        return pair;
    }

    private void query(View in) throws CommandException {
        CardQueuePair pair = pairs.get(in.get("qp_handle"));
        int mask = in.getInt("attr_mask");
        MemorySegment attributes = Native.struct(scratch.address(), ibv_qp_attr.layout());
        long init = attributes.address() + ibv_qp_attr.sizeof();
        check(soft.queryQueuePair(pair.softPair(), attributes.address(), mask, init));
        pair.correctQuery(mask, attributes);
        QueuePairTranslation.write(
                attributes, Native.struct(init, ibv_qp_init_attr.layout()), Uverbs.QUERY_QP_OUT.at(in.get("response")));
    }

    private void destroyQueuePair(View in) throws CommandException {
        CardQueuePair pair = pairs.get(in.get("qp_handle"));
        check(soft.destroyQueuePair(pair.softPair()));
        pairs.remove(in.get("qp_handle"));
        pairsByNumber.remove(pair.number());
        pair.close();
        int events = asyncEvents.withdraw(userHandles.remove(pair.softPair()));
        Uverbs.DESTROY_QP_OUT.at(in.get("response")).set("events_reported", events);
    }

    // Shared receive queues.

    private void createSharedReceiveQueue(View in) throws CommandException {
        int entries = in.getInt("max_wr");
        int segments = in.getInt("max_sge");
        MemorySegment init = Native.struct(scratch.address(), ibv_srq_init_attr.layout());
        init.fill((byte) 0);
        MemorySegment sizes = ibv_srq_init_attr.attr(init);
        ibv_srq_attr.max_wr(sizes, entries);
        ibv_srq_attr.max_sge(sizes, segments);
        ibv_srq_attr.srq_limit(sizes, in.getInt("srq_limit"));
        long queue = check(soft.createSharedReceiveQueue(domains.get(in.get("pd_handle")), init.address()));
        View out = Uverbs.CREATE_SRQ_OUT.at(in.get("response"));
        int handle = sharedReceives.add(null);
        CardSharedReceiveQueue shared = card.createSharedReceiveQueue(
                this, new SharedReceiveQueueRequest(queue, handle, entries, segments, in.end(), out.end()));
        sharedReceives.replace(handle, shared);
        userHandles.put(queue, in.get("user_handle"));
        out.set("srq_handle", handle)
                .set("max_wr", entries)
                .set("max_sge", segments)
                .set("srqn", handle);
    }

    private void modifyShared(View in) throws CommandException {
        MemorySegment attributes = Native.struct(scratch.address(), ibv_srq_attr.layout());
        ibv_srq_attr.max_wr(attributes, in.getInt("max_wr"));
        ibv_srq_attr.srq_limit(attributes, in.getInt("srq_limit"));
        CardSharedReceiveQueue queue = sharedReceives.get(in.get("srq_handle"));
        queue.work();
        check(soft.modifySharedReceiveQueue(queue.softQueue(), attributes.address(), in.getInt("attr_mask")));
    }

    private void queryShared(View in) throws CommandException {
        MemorySegment attributes = Native.struct(scratch.address(), ibv_srq_attr.layout());
        long queue = sharedReceives.get(in.get("srq_handle")).softQueue();
        check(soft.querySharedReceiveQueue(queue, attributes.address()));
        Uverbs.QUERY_SRQ_OUT
                .at(in.get("response"))
                .set("max_wr", ibv_srq_attr.max_wr(attributes))
                .set("max_sge", ibv_srq_attr.max_sge(attributes))
                .set("srq_limit", ibv_srq_attr.srq_limit(attributes));
    }

    private void destroyShared(View in) throws CommandException {
        CardSharedReceiveQueue queue = sharedReceives.get(in.get("srq_handle"));
        check(soft.destroySharedReceiveQueue(queue.softQueue()));
        sharedReceives.remove(in.get("srq_handle"));
        queue.close();
        int events = asyncEvents.withdraw(userHandles.remove(queue.softQueue()));
        Uverbs.DESTROY_SRQ_OUT.at(in.get("response")).set("events_reported", events);
    }

    // Addresses.

    private void createAddressHandle(View in) throws CommandException {
        MemorySegment attributes = Native.struct(scratch.address(), org.rdmapanama.ffm.verbs.ibv_ah_attr.layout());
        QueuePairTranslation.readAddress(in, attributes);
        long domain = domains.get(in.get("pd_handle"));
        long address = check(soft.createAddressHandle(domain, attributes.address()));
        long gid = in.addressOf("dgid");
        int handle = addresses.add(
                new Address(address, domain, Memory.getNetLong(gid), Memory.getNetLong(gid + Long.BYTES)));
        View out = Uverbs.CREATE_AH_OUT.at(in.get("response"));
        out.set("ah_handle", handle);
        card.describeAddressHandle(handle, out.end());
    }
}
