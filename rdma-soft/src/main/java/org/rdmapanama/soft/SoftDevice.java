package org.rdmapanama.soft;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ffm.verbs.ibv_ah;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ProviderException;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Flow;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Memory;
import org.rdmapanama.soft.wire.Opcode;

/**
 * The device of a process, for all that have it open: its objects by their numbers, and a thread that does what is due
 * when nobody calls. One lock guards everything but taking completions out.
 */
final class SoftDevice {
    private static final Logger LOG = LogManager.getLogger(SoftDevice.class);

    static final String NAME = "soft0";
    static final int MAX_READ_ATOMIC = 128;
    static final long MAX_MESSAGE = 1L << 31;

    private static final int GRH_BYTES = 40;
    private static final int IPV4_BYTES = 20;
    private static final int UDP = 17;
    private static final int TRANSPORT_BYTES = 8 + 12 + 8 + 4;

    private static final int UDP_BYTES = 8;
    private static final int HOPS = 64;

    /** Soft-RoCE and network cards send from these, whatever port they receive at. */
    static final int EPHEMERAL_PORTS = 0xc000;

    private static final int PKEY_BASE = 0x7fff;
    private static final int PACKETS_PER_TURN = 64;

    /** A nap is twice as long as the one before while somebody polls all the time. */
    private static final long NAP_NANOS = 50_000;

    private static final long LONGEST_NAP_NANOS = 500_000;

    /** Who polls so often between two packets had better not have the thread woken by each. */
    private static final int POLLS_TO_WAKE = 8;

    /** So many naps without a poll, and nobody polls. */
    private static final int NAPS_WITHOUT_POLL = 4;

    /** After so many turns in a row that had packets, time is looked at nevertheless. */
    private static final int MAX_TURNS_WITHOUT_TIME = 16;

    /** So many naps in a row are let pass because somebody else has the lock. */
    private static final int MISSED_NAPS = 10;

    /** No turns: nothing can wait. */
    static final int NOW = Integer.MAX_VALUE;

    /** Who polls looks at a socket that had nothing lately once in so many times. */
    private static final int TURNS_OF_BUSIEST = 16;

    private static final long NANOS_PER_MILLI = 1_000_000;

    private static final int PLACE_BITS = 14;
    private static final int KEY_BITS = 20;

    /** Of a key, those that the owner of a memory window chooses. */
    private static final int KEY_OWNER_BITS = 8;

    private static final int HANDLE_BITS = 24;

    private static SoftDevice shared;

    private final SpinLock lock = new SpinLock();
    private final LocalAddresses addresses;
    private final Settings settings;
    private final Wire wire;

    /** Made once: it is needed all the time. */
    private final Wire.Receiver receiver = this::receive;

    private final NativeBlock scratch;

    /** By number. */
    final Numbered<SoftQueuePair> queuePairs = new Numbered<>(PLACE_BITS, 0, 24 - PLACE_BITS - 1, PLACE_BITS);

    /** By local or remote key. */
    final Numbered<KeyedMemory> keys = new Numbered<>(KEY_BITS, KEY_OWNER_BITS, KEY_OWNER_BITS, 0);

    final Numbered<SoftCompletionQueue> completionQueues = new Numbered<>(HANDLE_BITS, 0, 0, 24);
    final Numbered<SoftCompletionChannel> channels = new Numbered<>(HANDLE_BITS, 0, 0, 24);
    final Numbered<SoftSharedReceiveQueue> sharedReceives = new Numbered<>(HANDLE_BITS, 0, 0, 24);
    final Numbered<SoftAddressHandle> addressHandles = new Numbered<>(HANDLE_BITS, 0, 0, 24);
    final Numbered<SoftProtectionDomain> protectionDomains = new Numbered<>(HANDLE_BITS, 0, 0, 24);
    private final List<MulticastMember> members = new ArrayList<>();

    /** Those that wait for a time. */
    private final List<Timed> waiting = new ArrayList<>();

    /** No deadline of these is before it. */
    private long earliest = Timed.NEVER;

    /** What takes the datagrams to queue pair 1, while there is something. */
    private SoftManagement management;

    private final Map<Long, SoftContext> contexts = new HashMap<>();
    private final Thread thread;
    private volatile boolean closed;

    /** Those that have something to send at the end of a turn. */
    private final ArrayDeque<Later> ending = new ArrayDeque<>();

    /** Whether a peer may be elsewhere, so that who polls looks for its packets. */
    private volatile boolean connected;

    /** How often somebody polled an empty queue; no more than a hint. */
    private int polls;

    /** Whether a completion was added, or an answer is due: more packets can wait. */
    private boolean urgent;

    /** When the thread will look again by itself, by System.nanoTime(); MAX_VALUE while it is at work. */
    private long planned = Long.MAX_VALUE;

    private boolean sleeping;

    /**
     * Whether somebody polls all the time, and so takes the packets: the thread looks from time to time only. Others wait
     * for memory to change, and need the thread at once.
     */
    private volatile boolean polled;

    /** Turns in a row of those who poll that found no packet. */
    private int emptyTurns;

    private int pollsSeen;
    private int napsWithoutPoll;
    private long nap = NAP_NANOS;
    private int missedNaps;
    private int turnsWithoutTime;

    private int pollsWhileSleeping;

    private SoftDevice() throws IOException {
        settings = Settings.ofProperties();
        LocalAddresses all = LocalAddresses.query(settings.address());
        wire = Wire.open(all, settings);
        addresses = all.atPort(wire.port());
        scratch = new NativeBlock(GRH_BYTES);
        thread = new Thread(this::work, NAME);
        thread.setDaemon(true);
        thread.start();
    }

    /** The device of this process, which is there as long as somebody has it open. */
    static synchronized SoftContext open() {
        if (shared == null) {
            try {
                shared = new SoftDevice();
            } catch (IOException e) {
                throw new ProviderException("ibv_open_device", Verbs.EIO, e.getMessage());
            } catch (IllegalArgumentException e) {
                throw new ProviderException("ibv_open_device", Verbs.EINVAL, e.getMessage());
            }
        }
        SoftContext context = new SoftContext(shared);
        shared.contexts.put(context.address(), context);
        return context;
    }

    /** One who has it open, by the address of the struct ibv_context. */
    static synchronized SoftContext contextAt(long address) {
        SoftContext context = shared == null ? null : shared.contexts.get(address);
        if (context == null) {
            throw new ProviderException("ibv_open_device", Verbs.EINVAL, "nobody has " + NAME + " open there");
        }
        return context;
    }

    /** Gives it up: the last one to do so ends its thread, and waits for that. */
    void close(SoftContext context) {
        // All of it: who opens it anew meanwhile is to find its port free.
        synchronized (SoftDevice.class) {
            contexts.remove(context.address());
            if (contexts.isEmpty()) {
                shared = null;
                end();
            }
        }
    }

    private void end() {
        closed = true;
        wake();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        wire.close();
        scratch.free();
    }

    void lock() {
        lock.lock();
    }

    void unlock() {
        lock.unlock();
    }

    LocalAddresses addresses() {
        return addresses;
    }

    Settings settings() {
        return settings;
    }

    /** With the lock held: who takes the datagrams to queue pair 1 from now on. */
    void startManagement(SoftManagement taker) {
        management = taker;
    }

    /** With the lock held: it no longer does, unless another one has taken its place already. */
    void stopManagement(SoftManagement taker) {
        if (management == taker) {
            management = null;
        }
    }

    /** The largest MTU of a path, of enum ibv_mtu. */
    int mtu() {
        return rdma_h.IBV_MTU_4096();
    }

    /** How much of a message a packet carries, by the MTU of the interfaces; of enum ibv_mtu. */
    int activeMtu() {
        return mtuWithin(addresses.mtu());
    }

    /** The same for packets of one of the own addresses. */
    int activeMtu(int index) {
        return mtuWithin(addresses.mtu(index));
    }

    private static int mtuWithin(int bytes) {
        int room = bytes - GRH_BYTES - TRANSPORT_BYTES;
        int code = rdma_h.IBV_MTU_256();
        while (code < rdma_h.IBV_MTU_4096() && bytesOfMtu(code + 1) <= room) {
            code++;
        }
        return code;
    }

    int mtuBytes() {
        return bytesOfMtu(activeMtu());
    }

    static int bytesOfMtu(int code) {
        return 128 << code;
    }

    // Time.

    /** The thread: takes packets, tries again what is due, and rests while there is nothing to do. */
    private void work() {
        while (!closed) {
            try {
                long next = workOnce();
                if (next > 0) {
                    rest(next);
                }
            } catch (RuntimeException | Error e) {
                // A fault of this device; without its thread everybody would wait for ever.
                LOG.error("{}: this should not happen", NAME, e);
                LockSupport.parkNanos(this, NANOS_PER_MILLI);
            }
        }
    }

    /** How long there is nothing to do, in nanoseconds. */
    private long workOnce() {
        if (!lockOrNap()) {
            return nap;
        }
        try {
            sleeping = false;
            boolean moved = sendAnswers(NOW);
            moved |= wire.receive(PACKETS_PER_TURN, receiver);
            long now = System.nanoTime();
            // What has arrived counts before time does; but time goes on, too, while packets come without end.
            turnsWithoutTime = moved ? turnsWithoutTime + 1 : MAX_TURNS_WITHOUT_TIME;
            if (turnsWithoutTime < MAX_TURNS_WITHOUT_TIME) {
                return 0;
            }
            turnsWithoutTime = 0;
            long due = expire(now);
            long next = moved ? 0 : due;
            if (next > 0 && (isPolled() || wire.isHolding())) {
                next = Math.min(next, nap);
            }
            if (next > 0) {
                sleeping = true;
                pollsWhileSleeping = 0;
                planned = next == Long.MAX_VALUE ? next : now + next;
            }
            return next;
        } finally {
            unlock();
        }
    }

    /** Whoever polls and has the lock does what is to be done: that can wait, but not for ever. */
    private boolean lockOrNap() {
        boolean patient = polled && missedNaps < MISSED_NAPS;
        if (!patient) {
            lock.lockAfterOthers();
        } else if (!lock.tryLock()) {
            missedNaps++;
            return false;
        }
        missedNaps = 0;
        return true;
    }

    private boolean isPolled() {
        if (polls != pollsSeen) {
            pollsSeen = polls;
            napsWithoutPoll = 0;
            nap = polled ? Math.min(2 * nap, LONGEST_NAP_NANOS) : NAP_NANOS;
            return polled;
        }
        nap = NAP_NANOS;
        if (polled && ++napsWithoutPoll == NAPS_WITHOUT_POLL) {
            polled = false;
        }
        return polled;
    }

    private void rest(long nanos) {
        if (settings.idle() == Settings.Idle.BUSY) {
            Thread.onSpinWait();
        } else if (settings.idle() == Settings.Idle.YIELD) {
            giveWay();
        } else if (nanos < 2 * NANOS_PER_MILLI) {
            LockSupport.parkNanos(this, nanos);
        } else {
            wire.await(nanos == Long.MAX_VALUE ? 0 : nanos / NANOS_PER_MILLI);
        }
    }

    // Only a hint: it does not matter to whom the processor goes.
    @SuppressWarnings("ThreadPriorityCheck")
    private static void giveWay() {
        Thread.yield();
    }

    private void wake() {
        LockSupport.unpark(thread);
        wire.wakeUp();
    }

    /**
     * Who polls an empty queue looks for packets, unless somebody does already, and sends the answers to them. Where a
     * reply is to be expected the acknowledgement is put off until that has gone out, and a little more, for the next
     * message may come first, and then one acknowledgement does for both.
     */
    void progress() {
        if (!connected) {
            return;
        }
        polls++;
        if (lock.tryLock()) {
            try {
                if (sleeping && !polled && ++pollsWhileSleeping == POLLS_TO_WAKE) {
                    polled = true;
                    wake();
                }
                sendAnswers(emptyTurns);
                boolean any = polls % TURNS_OF_BUSIEST == 0
                        ? wire.receive(1, receiver)
                        : wire.receiveAtBusiest(PACKETS_PER_TURN, receiver);
                emptyTurns = any ? 0 : emptyTurns + 1;
                if (!polled) {
                    // Nobody else would.
                    sendAnswers(NOW);
                } else if (any) {
                    sendAnswers(0);
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /** Sends what is due to peers, but for what can wait longer than that many turns; whether there was something. */
    private boolean sendAnswers(int turns) {
        boolean any = !ending.isEmpty();
        for (int left = ending.size(); left > 0; left--) {
            Later each = ending.poll();
            if (each.canWait(turns)) {
                ending.add(each);
            } else {
                each.queued = false;
                each.endTurn();
            }
        }
        return any;
    }

    /** It has something to send at the end of this turn. */
    void atEndOfTurn(Later half) {
        urgent = true;
        if (!half.queued) {
            half.queued = true;
            ending.add(half);
        }
    }

    /** The same, outside of a turn, too: there will be one soon. */
    void goOnLater(Later half) {
        atEndOfTurn(half);
        if (sleeping && !polled) {
            wake();
        }
    }

    /** There is a completion. */
    void completed() {
        urgent = true;
    }

    void forget(Later half) {
        if (half.queued) {
            half.queued = false;
            ending.remove(half);
        }
    }

    Wire wire() {
        return wire;
    }

    /** Whether more packets may be taken at once. */
    private boolean receive(long packet, int bytes, Peer from, int index) {
        urgent = false;
        try {
            dispatch(packet, bytes, from, index);
        } catch (RuntimeException | Error e) {
            // Such as memory of a file that has become shorter. Others have nothing to do with it.
            fail(Bth.destinationQueuePair(packet), e);
        }
        return !urgent;
    }

    /** Tells of memory that turned out not to be there. */
    void tellFault(int number, Throwable cause) {
        LOG.error("{}: queue pair {} fails, because of what follows", NAME, number, cause);
    }

    private void fail(int number, Throwable cause) {
        tellFault(number, cause);
        SoftQueuePair queuePair = queuePairs.get(number);
        if (queuePair != null) {
            queuePair.fail();
        }
    }

    private void dispatch(long packet, int bytes, Peer from, int index) {
        if (bytes < Bth.BYTES || Bth.version(packet) != 0 || (Bth.pkey(packet) & PKEY_BASE) != PKEY_BASE) {
            return;
        }
        int opcode = Bth.opcode(packet);
        int headers = Opcode.headerBytes(opcode);
        int payload = bytes - headers - Bth.pad(packet);
        if (headers == 0 || payload < 0 || (payload > 0 && !Opcode.hasPayload(opcode))) {
            return;
        }
        int number = Bth.destinationQueuePair(packet);
        if (number == Mad.QUEUE_PAIR) {
            if (opcode == Opcode.UD_SEND_ONLY) {
                SoftManagement.receive(this, management, packet, payload, from, index);
            }
            return;
        }
        SoftQueuePair queuePair = queuePairs.get(number);
        if (queuePair == null) {
            return;
        }
        int transport = Opcode.transport(opcode);
        if (transport == Opcode.UD) {
            queuePair.receiveDatagram(packet, opcode, payload, routingHeader(from, index, bytes));
        } else if ((transport == Opcode.RC && queuePair.type == Verbs.RC)
                || (transport == Opcode.UC && queuePair.type == Verbs.UC)) {
            queuePair.receive(packet, opcode, payload, from);
        }
    }

    /** Lets all go on whose time has come; how long until that of the next one, in nanoseconds. */
    private long expire(long now) {
        if (earliest - now > 0) {
            return earliest == Timed.NEVER ? Timed.NEVER : earliest - now;
        }
        earliest = Timed.NEVER;
        for (int i = waiting.size() - 1; i >= 0; i--) {
            Timed each = waiting.get(i);
            long deadline = each.deadline();
            if (deadline != Timed.NEVER && deadline - now > 0) {
                hurry(deadline);
                continue;
            }
            // In no order, so that nothing needs to be moved.
            waiting.set(i, waiting.getLast());
            waiting.removeLast();
            expire(each);
            // Others may have been taken out, or have come.
            i = waiting.size();
        }
        return earliest == Timed.NEVER ? Timed.NEVER : Math.max(1, earliest - now);
    }

    private void expire(Timed each) {
        try {
            each.expired();
        } catch (RuntimeException | Error e) {
            // A fault of this device; without its thread everybody would wait for ever.
            LOG.error("{}: this should not happen", NAME, e);
        }
    }

    private void hurry(long deadline) {
        if (earliest == Timed.NEVER || deadline - earliest < 0) {
            earliest = deadline;
        }
    }

    /** It waits for its deadline, which may be another one than before. */
    void wakeAt(Timed timed, boolean already) {
        if (!already) {
            waiting.add(timed);
        }
        hurry(timed.deadline());
        if (sleeping && timed.deadline() - planned < 0) {
            planned = timed.deadline();
            wake();
        }
    }

    void forget(Timed timed) {
        waiting.remove(timed);
    }

    // Addresses.

    /** Where an address vector leads. */
    SoftAddressHandle route(NativeBlock struct, int number, int protectionDomain, MemorySegment attributes) {
        MemorySegment grh = ibv_ah_attr.grh(attributes);
        long gid = ibv_global_route.dgid(grh).address();
        long high = Memory.getNetLong(gid);
        long low = Memory.getNetLong(gid + Long.BYTES);
        boolean isGroup = LocalAddresses.isGroup(high, low);
        boolean isHere = addresses.indexOf(high, low) >= 0 && !settings.wire();
        connected |= !isHere;
        return new SoftAddressHandle(
                struct,
                number,
                protectionDomain,
                high,
                low,
                Byte.toUnsignedInt(ibv_global_route.sgid_index(grh)),
                Byte.toUnsignedInt(ibv_global_route.hop_limit(grh)),
                Byte.toUnsignedInt(ibv_global_route.traffic_class(grh)),
                isHere,
                isHere || isGroup ? null : wire.peer(LocalAddresses.socketOf(high, low)));
    }

    /** The number of an address handle, of a struct ibv_ah. */
    int handleOf(long addressHandle) {
        return Memory.getInt(addressHandle + ibv_ah.handle$offset());
    }

    /** The header before the data of a datagram: of IPv4 in its last 20 bytes, of IPv6 in all 40. */
    long routingHeader(SoftAddressHandle to, long bytes) {
        int length = (int) (TRANSPORT_BYTES + bytes);
        long sourceHigh = addresses.high(to.sourceIndex);
        long sourceLow = addresses.low(to.sourceIndex);
        return routingHeader(sourceHigh, sourceLow, to.gidHigh, to.gidLow, to.trafficClass, to.hopLimit, length);
    }

    /** Whether a port that a packet came from is one that its device receives at. */
    static boolean receivesWhereItSends(int port) {
        return port < EPHEMERAL_PORTS;
    }

    /** The same for a datagram from elsewhere: of what its header said the system tells the addresses only. */
    private long routingHeader(Peer from, int index, int bytes) {
        int port = from.address.getPort();
        boolean tells = receivesWhereItSends(port) && port != Flow.ROCE_PORT;
        return routingHeader(
                tells && LocalAddresses.isVersion4(from.gidHigh, from.gidLow) ? port : from.gidHigh,
                from.gidLow,
                addresses.high(index),
                addresses.low(index),
                0,
                HOPS,
                UDP_BYTES + bytes + InvariantCrc.BYTES);
    }

    private long routingHeader(
            long sourceHigh, long sourceLow, long high, long low, int trafficClass, int hopLimit, int length) {
        long at = scratch.address();
        Memory.zero(at, GRH_BYTES);
        if (LocalAddresses.isVersion4(high, low)) {
            long ip = at + GRH_BYTES - IPV4_BYTES;
            // Where nothing else is, for who answers: the port, if it is not that of RoCEv2.
            Memory.putNetShort(ip - Short.BYTES, (short) sourceHigh);
            Memory.putNetInt(ip, 0x4500_0000 | trafficClass << 16 | (length + IPV4_BYTES));
            Memory.putNetInt(ip + 4, 0x4000);
            Memory.putNetInt(ip + 8, hopLimit << 24 | UDP << 16);
            Memory.putNetInt(ip + 12, (int) sourceLow);
            Memory.putNetInt(ip + 16, (int) low);
        } else {
            Memory.putNetInt(at, 6 << 28 | trafficClass << 20);
            Memory.putNetInt(at + 4, length << 16 | UDP << 8 | hopLimit);
            Memory.putNetLong(at + 8, sourceHigh);
            Memory.putNetLong(at + 16, sourceLow);
            Memory.putNetLong(at + 24, high);
            Memory.putNetLong(at + 32, low);
        }
        return at;
    }

    /** Keeps a number for {@link #scratch()}. */
    void scratch(long value) {
        Memory.putLong(scratch.address(), value);
    }

    /** Where the number is. */
    long scratch() {
        return scratch.address();
    }

    // Groups.

    private record MulticastMember(SoftQueuePair queuePair, long gidHigh, long gidLow) {}

    int attach(SoftQueuePair queuePair, long gid) {
        if (queuePair.type != Verbs.UD) {
            return Verbs.EINVAL;
        }
        MulticastMember member = member(queuePair, gid);
        if (!members.contains(member)) {
            members.add(member);
        }
        return 0;
    }

    int detach(SoftQueuePair queuePair, long gid) {
        return members.remove(member(queuePair, gid)) ? 0 : Verbs.EINVAL;
    }

    private static MulticastMember member(SoftQueuePair queuePair, long gid) {
        return new MulticastMember(queuePair, Memory.getNetLong(gid), Memory.getNetLong(gid + Long.BYTES));
    }

    boolean isMember(SoftQueuePair queuePair) {
        for (MulticastMember member : members) {
            if (member.queuePair == queuePair) {
                return true;
            }
        }
        return false;
    }

    /** It is a member of no group from now on. */
    void leaveGroups(SoftQueuePair queuePair) {
        members.removeIf(member -> member.queuePair == queuePair);
    }

    /** Gives a datagram to all members of a group on this device, but the sender. */
    void toGroup(SoftQueuePair from, long slot, SoftAddressHandle to, int key, Segments segments) {
        for (int i = 0; i < members.size(); i++) {
            MulticastMember member = members.get(i);
            if (member.queuePair != from && member.gidHigh == to.gidHigh && member.gidLow == to.gidLow) {
                from.deliverDatagram(member.queuePair, slot, to, key, segments);
            }
        }
    }

    // Memory windows.

    /** Binds a memory window as a work request says; the status of that. */
    int bind(SoftQueuePair queuePair, long slot) {
        int handle = Memory.getInt(slot + SendQueue.WINDOW);
        KeyedMemory window = keys.atPlaceOf(handle);
        long length = Memory.getLong(slot + SendQueue.WINDOW_LENGTH);
        // Since the request was posted, the window may have gone, and something else have come to its place.
        if (window == null
                || !window.window
                || SoftContext.handleOfWindow(window.struct.address()) != handle
                || window.protectionDomain != queuePair.protectionDomain) {
            return Verbs.MW_BIND_ERR;
        }
        int newKey = Memory.getInt(slot + SendQueue.RKEY);
        boolean type2 = window.windowType == Verbs.MW_TYPE_2;
        boolean changesOthers = (newKey ^ window.key) >>> KEY_OWNER_BITS != 0;
        if (changesOthers || (type2 && (window.valid || length == 0))) {
            return Verbs.MW_BIND_ERR;
        }
        KeyedMemory region = keys.get(Memory.getInt(slot + SendQueue.WINDOW_REGION));
        if (length == 0) {
            unbind(window);
        } else if (!canBind(window, region, slot)) {
            return Verbs.MW_BIND_ERR;
        } else {
            unbind(window);
            bind(window, region, slot);
            window.boundTo = type2 ? queuePair : null;
        }
        keys.renumber(window.key, newKey);
        window.key = newKey;
        return Verbs.SUCCESS;
    }

    private boolean canBind(KeyedMemory window, KeyedMemory region, long slot) {
        int access = Memory.getInt(slot + SendQueue.WINDOW_ACCESS);
        boolean writes = (access & (Verbs.REMOTE_WRITE | Verbs.REMOTE_ATOMIC)) != 0;
        return region != null
                && region.valid
                && !region.window
                && region.protectionDomain == window.protectionDomain
                && region.allows(Verbs.MW_BIND)
                && (region.access & Verbs.ZERO_BASED) == 0
                && (!writes || region.allows(Verbs.LOCAL_WRITE))
                && region.covers(
                        Memory.getLong(slot + SendQueue.WINDOW_START), Memory.getLong(slot + SendQueue.WINDOW_LENGTH));
    }

    private static void bind(KeyedMemory window, KeyedMemory region, long slot) {
        long start = Memory.getLong(slot + SendQueue.WINDOW_START);
        window.access = Memory.getInt(slot + SendQueue.WINDOW_ACCESS);
        window.length = Memory.getLong(slot + SendQueue.WINDOW_LENGTH);
        boolean fromZero = (window.access & Verbs.ZERO_BASED) != 0;
        window.start = fromZero ? 0 : start;
        window.shift = region.shift + (fromZero ? start : 0);
        window.region = region;
        window.valid = true;
        region.windows++;
    }

    KeyedMemory windowOf(long memoryWindow) {
        return keys.atPlaceOf(SoftContext.handleOfWindow(memoryWindow));
    }

    /** No window stays bound to a queue pair that ends. */
    void unbindAllOf(SoftQueuePair queuePair) {
        keys.forEach(memory -> {
            if (memory.boundTo == queuePair) {
                unbind(memory);
            }
        });
    }

    /** A window's key leads nowhere from now on. */
    void unbind(KeyedMemory window) {
        if (window.region != null) {
            window.region.windows--;
            window.region = null;
        }
        window.boundTo = null;
        window.valid = false;
    }
}
