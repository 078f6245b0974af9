package org.rdmapanama.soft;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_ah;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_device;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ProviderException;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.wire.Bth;
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

    /** What a datagram has before its data, but for the header of IP, and behind it. */
    static final int TRANSPORT_BYTES = 8 + 12 + 8 + 4;

    private static final int PKEY_BASE = 0x7fff;
    private static final int PLACE_BITS = 14;
    private static final int KEY_BITS = 20;

    /** Of a key, those that the owner of a memory window chooses. */
    static final int KEY_OWNER_BITS = 8;

    private static final int HANDLE_BITS = 24;

    private static SoftDevice shared;

    private final SpinLock lock = new SpinLock();
    private final LocalAddresses addresses;
    private final Settings settings;
    private final Wire wire;

    /** The thread, and those who poll. */
    final Turns turns;

    private final RoutingHeaders headers;
    private final NativeBlock scratch;
    private final NativeBlock description;

    /** By number. */
    final Numbered<SoftQueuePair> queuePairs = new Numbered<>(PLACE_BITS, 0, 24 - PLACE_BITS - 1, PLACE_BITS);

    /** By local or remote key. */
    final Numbered<KeyedMemory> keys = new Numbered<>(KEY_BITS, KEY_OWNER_BITS, KEY_OWNER_BITS, 0);

    final Numbered<SoftCompletionQueue> completionQueues = new Numbered<>(HANDLE_BITS, 0, 0, 24);
    final Numbered<SoftCompletionChannel> channels = new Numbered<>(HANDLE_BITS, 0, 0, 24);
    final Numbered<SoftSharedReceiveQueue> sharedReceives = new Numbered<>(HANDLE_BITS, 0, 0, 24);
    final Numbered<SoftAddressHandle> addressHandles = new Numbered<>(HANDLE_BITS, 0, 0, 24);
    final Numbered<SoftProtectionDomain> protectionDomains = new Numbered<>(HANDLE_BITS, 0, 0, 24);
    final MulticastGroups groups = new MulticastGroups();
    final MemoryWindows windows = new MemoryWindows(keys);

    /** What takes the datagrams to queue pair 1, while there is something. */
    private SoftManagement management;

    private final Map<Long, SoftContext> contexts = new HashMap<>();

    private SoftDevice() throws IOException {
        settings = Settings.ofProperties();
        requireDescriptors(FreeDescriptors.TO_START);
        LocalAddresses all = LocalAddresses.query(settings.address());
        requireDescriptors(all.count() + FreeDescriptors.TO_START);
        wire = Wire.open(all, settings);
        addresses = all.atPort(wire.port());
        headers = new RoutingHeaders(addresses);
        scratch = new NativeBlock(Long.BYTES);
        description = new NativeBlock(ibv_device.sizeof());
        describe();
        turns = new Turns(NAME, lock, wire, settings.idle(), this::dispatch);
        turns.start();
    }

    /** An address that a socket cannot be had for would be left out. */
    private static void requireDescriptors(int count) {
        if (FreeDescriptors.check(count) < 0) {
            throw new ProviderException("ibv_open_device", Errno.EMFILE, FreeDescriptors.CURE);
        }
    }

    private void describe() {
        MemorySegment struct = Native.struct(description.address(), ibv_device.layout());
        ibv_device.node_type(struct, rdma_h.IBV_NODE_CA());
        ibv_device.transport_type(struct, rdma_h.IBV_TRANSPORT_IB());
        ibv_device.name(struct).setString(0, NAME);
    }

    /** The struct ibv_device, which all contexts share. */
    long description() {
        return description.address();
    }

    /** The device of this process, which is there as long as somebody has it open. */
    static synchronized SoftContext open() {
        if (shared == null) {
            try {
                shared = new SoftDevice();
            } catch (IOException e) {
                requireDescriptors(FreeDescriptors.TO_START);
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
        turns.end();
        wire.close();
        headers.free();
        scratch.free();
        description.free();
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
        int room = bytes - RoutingHeaders.BYTES - TRANSPORT_BYTES;
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

    Wire wire() {
        return wire;
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
        try {
            take(packet, bytes, from, index);
        } catch (RuntimeException | Error e) {
            // Such as memory of a file that has become shorter. Others have nothing to do with it.
            fail(Bth.destinationQueuePair(packet), e);
        }
    }

    private void take(long packet, int bytes, Peer from, int index) {
        if (bytes < Bth.BYTES || Bth.version(packet) != 0 || (Bth.pkey(packet) & PKEY_BASE) != PKEY_BASE) {
            return;
        }
        int opcode = Bth.opcode(packet);
        int before = Opcode.headerBytes(opcode);
        int payload = bytes - before - Bth.pad(packet);
        if (before == 0 || payload < 0 || (payload > 0 && !Opcode.hasPayload(opcode))) {
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
            queuePair.receiveDatagram(packet, opcode, payload, headers.of(from, index, bytes));
        } else if ((transport == Opcode.RC && queuePair.type == Verbs.RC)
                || (transport == Opcode.UC && queuePair.type == Verbs.UC)) {
            queuePair.receive(packet, opcode, payload, from);
        }
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
        if (!isHere) {
            turns.expectPackets();
        }
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

    /** The header before the data of a datagram to there; good until the next one is made. */
    long routingHeader(SoftAddressHandle to, long bytes) {
        return headers.of(to, bytes);
    }

    /** Keeps a number for {@link #scratch()}. */
    void scratch(long value) {
        Memory.putLong(scratch.address(), value);
    }

    /** Where the number is. */
    long scratch() {
        return scratch.address();
    }
}
