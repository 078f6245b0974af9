package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.EthernetAddress;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.address.MacAddress;
import org.rdmapanama.counts.ContextCounts;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.device.NodeType;
import org.rdmapanama.device.PortAttributes;
import org.rdmapanama.device.RawClock;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.Waitable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.internal.ReadySources;
import org.rdmapanama.ffm.internal.Waiting;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_async_event;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_values_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.timespec;
import org.rdmapanama.flow.FlowActionEspOptions;
import org.rdmapanama.flow.FlowSpecification;
import org.rdmapanama.internal.AddressStructs;
import org.rdmapanama.internal.events.AsyncEventTaken;
import org.rdmapanama.internal.provider.Observed;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.queue.OpenFlag;

/**
 * An open device, {@code struct ibv_context}: its ports and tables, and the root of all objects created on it.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread. Closing it drains the queue pairs and closes everything created on it;
 * see {@link VerbsArena#close()}.
 */
public final class Context extends VerbsObject implements EventSource, Waitable {
    static {
        ReadySources.register(Context.class, context -> {
            context.checkOpen();
            return context.asyncEvents;
        });
    }

    /** Where to look for support of sharing objects with other processes. */
    static final String IMPORT_CAPABILITY = "a driver that imports objects, such as mlx5; no capability shows it";

    /**
     * Drivers that unmap the memory of a queue before they ask the kernel to destroy it. A second attempt would unmap
     * memory that has another owner by then.
     */
    private static final Set<String> UNMAP_FIRST = Set.of("siw", "ocrdma");

    private static final int MAX_VLAN = 0xfff;

    private final ProviderContext provider;
    private final String name;

    private final ContextObjects objects = new ContextObjects(this);
    private final Ports ports = new Ports(this);
    private final NodeType nodeType;
    private final TransportType transportType;
    private final int completionVectors;
    private final int asyncFileDescriptor;
    private final ReadySource asyncEvents;

    /** Whether the queue pairs have been drained. Guarded by the arena's lock. */
    private boolean drained;

    private volatile @Nullable DeviceAttributes attributes;

    /** For {@link ContextOpening}. The caller must hold the arena's lock. */
    Context(VerbsArena arena, ProviderContext provider, Device device) {
        super(arena, provider.address());
        this.provider = provider;
        name = device.name();
        nodeType = device.nodeType();
        transportType = device.transportType();
        MemorySegment struct = Native.struct(provider.address(), ibv_context.layout());
        completionVectors = ibv_context.num_comp_vectors(struct);
        asyncFileDescriptor = ibv_context.async_fd(struct);
        asyncEvents = provider.asyncEvents();
    }

    /**
     * Opens a device; see ibv_open_device(3).
     *
     * @param arena the owner of the open device and everything created on it
     * @param device one of {@link DeviceList#query()}
     * @return the open device
     * @throws VerbsException when it cannot be opened; the message says which file or permission is missing
     * @throws IllegalStateException when the arena is closed
     * @verb ibv_open_device
     */
    @CheckReturnValue
    public static Context open(VerbsArena arena, Device device) {
        return ContextOpening.open(arena, device);
    }

    /**
     * Opens the device that {@link DeviceList#preferred()} chooses.
     *
     * @param arena the owner of the open device and everything created on it
     * @return the open device
     * @throws VerbsException when there is no device or it cannot be opened
     * @throws IllegalStateException when the arena is closed
     */
    @CheckReturnValue
    public static Context open(VerbsArena arena) {
        return ContextOpening.open(arena, DeviceList.findPreferred());
    }

    /**
     * Opens the device with the given name.
     *
     * @param arena the owner of the open device and everything created on it
     * @param deviceName kernel name, such as {@code mlx5_0}
     * @return the open device
     * @throws VerbsException when there is no such device, in which case the message lists those present, or when it
     *     cannot be opened
     * @throws IllegalStateException when the arena is closed
     */
    @CheckReturnValue
    public static Context open(VerbsArena arena, String deviceName) {
        Objects.requireNonNull(arena, "arena");
        return ContextOpening.open(arena, DeviceList.find(deviceName));
    }

    /**
     * Wraps a device that other code in this process has opened. Its descriptor for asynchronous events becomes
     * non-blocking. Only one of {@link #awaitAsyncEvent} and the other code should wait for events, because an event
     * goes to the first reader.
     *
     * @param arena the owner of everything created on it through this object
     * @param nativeAddress address of the {@code struct ibv_context}
     * @param ownership whether closing this object, or the arena, closes the device
     * @return the open device. If an exception is thrown, the device stays open and remains the caller's
     * @throws IllegalArgumentException when the address is 0 or already has a Java object in this arena
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the arena is closed
     */
    @CheckReturnValue
    public static Context ofNativeAddress(VerbsArena arena, long nativeAddress, Ownership ownership) {
        return ContextOpening.wrap(arena, nativeAddress, ownership);
    }

    /**
     * Imports a context that another process has open, through the descriptor of its command channel; see
     * ibv_import_device(3). Both processes then share its objects, which {@link #importProtectionDomain}, {@link
     * ProtectionDomain#importMemoryRegion} and {@link #importDeviceMemory} import by their handles.
     *
     * @param arena the owner of everything created on it through this object
     * @param fileDescriptor a duplicate of the other process's {@link #commandFileDescriptor}, received for example
     *     over a Unix domain socket. From then on the context owns it and closes it
     * @return the open device
     * @throws IllegalArgumentException when it is not the descriptor of a device's command channel; it stays open then
     * @throws IllegalStateException when the arena is closed
     * @throws UnsupportedVerbException when importing is not supported; the descriptor stays open if the driver lacks
     *     the function, and is closed if the kernel lacks it
     * @throws VerbsException when the verb fails; the descriptor is usually closed then
     * @verb ibv_import_device
     */
    @CheckReturnValue
    public static Context importFrom(VerbsArena arena, int fileDescriptor) {
        return ContextOpening.importFrom(arena, fileDescriptor);
    }

    /**
     * Returns the descriptor of the command channel, {@code cmd_fd}. Another process that receives a duplicate of it
     * can {@link #importFrom import} this context. This context keeps owning it.
     *
     * @return a file descriptor
     * @throws UnsupportedOperationException when the device exists in this process only, like {@code soft0}, and has
     *     none
     * @throws IllegalStateException when this is closed
     */
    public int commandFileDescriptor() {
        long descriptor = call(() -> ibv_context.cmd_fd(Native.struct(address, ibv_context.layout())));
        return requireDescriptor(
                (int) descriptor, "of a command channel", "other processes cannot import what is made on it");
    }

    /** Throws rather than returning -1, which programs would take for a descriptor. */
    int requireDescriptor(int descriptor, String what, String cure) {
        if (descriptor < 0) {
            throw new UnsupportedOperationException(
                    name + " exists in this process only and has no file descriptor " + what + "; " + cure);
        }
        return descriptor;
    }

    /**
     * Imports a protection domain that another process created on the same {@link #importFrom imported} device; see
     * ibv_import_pd(3). Closing it releases it in this process only. The other process must keep it until all importers
     * have released it.
     *
     * @param handle the {@link ProtectionDomain#handle()} in the other process
     * @return the protection domain
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedVerbException when the device does not support it
     * @throws VerbsException when the verb fails
     * @verb ibv_import_pd
     * @verb ibv_unimport_pd
     */
    @CheckReturnValue
    public ProtectionDomain importProtectionDomain(int handle) {
        return ProtectionDomain.importFrom(this, handle);
    }

    /**
     * Imports device memory that another process created on the same {@link #importFrom imported} device; see
     * ibv_import_dm(3). Closing it releases it in this process only. The other process must keep it until all importers
     * have released it.
     *
     * @param handle the {@link DeviceMemory#handle()} in the other process
     * @param byteSize the {@link DeviceMemory#byteSize()} in the other process
     * @return the device memory
     * @throws IllegalArgumentException when the size is not positive
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedVerbException when the device does not support it
     * @throws VerbsException when the verb fails
     * @verb ibv_import_dm
     * @verb ibv_unimport_dm
     */
    @CheckReturnValue
    public DeviceMemory importDeviceMemory(int handle, long byteSize) {
        return DeviceMemory.importFrom(this, handle, byteSize);
    }

    /**
     * Allocates memory of the device; see ibv_alloc_dm(3).
     *
     * @param byteSize the size in bytes
     * @param logAlignment base 2 logarithm of the alignment of its address in the device: 3 for atomics, 0 for no
     *     requirement
     * @return the device memory
     * @throws IllegalArgumentException when the size is not positive, or the logarithm is not between 0 and 63
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedVerbException when the device has none
     * @throws VerbsException when the verb fails, usually because there is not enough left
     * @verb ibv_alloc_dm
     * @verb ibv_free_dm
     */
    @CheckReturnValue
    public DeviceMemory allocateDeviceMemory(long byteSize, int logAlignment) {
        return DeviceMemory.create(this, byteSize, logAlignment);
    }

    /** Opens a device by other means than its provider, for tests. */
    static Context open(VerbsArena arena, Device device, Supplier<ProviderContext> opener) {
        return ContextOpening.open(arena, device, opener);
    }

    ProviderContext provider() {
        return provider;
    }

    /** {@return the kernel name of the device, such as {@code mlx5_0}} */
    public String deviceName() {
        return name;
    }

    /**
     * {@return the name of the libibverbs driver of the device, such as {@code mlx5}, {@code efa}, {@code rxe} or
     * {@code siw}; {@code unknown} if it cannot be determined}
     */
    public String driverName() {
        return provider.driver();
    }

    /** {@return the kind of node that the device is} */
    public NodeType nodeType() {
        return nodeType;
    }

    /** {@return the family of transports that the device has} */
    public TransportType transportType() {
        return transportType;
    }

    /**
     * Queries what the device can do; see ibv_query_device_ex(3).
     *
     * @return a snapshot
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_query_device_ex
     * @verb ibv_query_device
     */
    public DeviceAttributes queryDevice() {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_device_attr_ex.layout());
            check("ibv_query_device_ex", call(() -> provider.queryDevice(attributes.address())), "");
            return DeviceAttributes.ofNative(attributes);
        }
    }

    /** Returns what {@link #queryDevice} returned first: the limits of a device do not change while it is open. */
    DeviceAttributes attributes() {
        DeviceAttributes known = attributes;
        if (known == null) {
            known = queryDevice();
            attributes = known;
        }
        return known;
    }

    /**
     * Queries the state of a port; see ibv_query_port(3).
     *
     * @param port its number, from 1
     * @return a snapshot
     * @throws IllegalArgumentException when there is no such port
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_query_port
     */
    public PortAttributes queryPort(int port) {
        return ports.query(port);
    }

    void checkPort(int port) {
        ports.check(port);
    }

    /**
     * Returns the entries of the GID tables of all ports; see ibv_query_gid_table(3).
     *
     * @return the entries, by port and index
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_query_gid_table
     */
    public List<GidEntry> queryGidTable() {
        return ports.queryGidTable();
    }

    /**
     * Returns the address at an index of a port's GID table; see ibv_query_gid(3).
     *
     * @param port its number, from 1
     * @param index the index in the table, from 0
     * @return the address, or empty if there is none at that index
     * @throws IllegalArgumentException when there is no such port
     * @throws IndexOutOfBoundsException when the table has no such index
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_query_gid
     */
    public Optional<Gid> queryGid(int port, int index) {
        return ports.queryGid(port, index);
    }

    /**
     * Returns one entry of a port's GID table, without reading the others; see ibv_query_gid_ex(3).
     *
     * @param port its number, from 1
     * @param index the index in the table, from 0
     * @return the entry, or empty if there is none at that index
     * @throws IllegalArgumentException when there is no such port
     * @throws IndexOutOfBoundsException when the table has no such index
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_query_gid_ex
     */
    public Optional<GidEntry> queryGidEntry(int port, int index) {
        return ports.queryGidEntry(port, index);
    }

    /**
     * Returns one entry of a port's GID table.
     *
     * @throws IllegalArgumentException when there is no such port, or no GID at that index; the message lists the
     *     indexes that have one
     */
    GidEntry gid(int port, int index) {
        return ports.gid(port, index);
    }

    /**
     * Returns the GID that suits most connections through a port: RoCE version 2 before version 1, and within a version
     * IPv4 before routable IPv6 before link-local. Addresses of network interfaces outside this process's network
     * namespace, such as those of containers, come last. On InfiniBand it is the first one in the table.
     *
     * @param port its number, from 1
     * @return the entry, or empty if the table of the port is empty or there is no such port
     * @throws VerbsException when the verb fails, or too many files are open to look at the network interfaces (EMFILE)
     * @throws IllegalStateException when this is closed
     */
    public Optional<GidEntry> preferredGid(int port) {
        return chooseGid(port, null, null);
    }

    /**
     * Returns the GID that suits connections to a peer through a port. An address in the subnet of the peer comes
     * first, the one with the longest prefix before others; then the address from which the system would send packets
     * to the peer, and then those of the same network interface. So the right one of several VLANs is used. If this is
     * not decisive, on InfiniBand, and for a loopback address, which only means that the peer is on this machine, the
     * choice is that of {@link #preferredGid(int)}. Sends nothing.
     *
     * @param port its number, from 1
     * @param peer an address of the peer, such as the other end of a TCP connection with it
     * @return the entry, or empty if the table of the port is empty or there is no such port
     * @throws NullPointerException when the peer is null
     * @throws VerbsException when the verb fails, or too many files are open to look at the network interfaces (EMFILE)
     * @throws IllegalStateException when this is closed
     */
    public Optional<GidEntry> preferredGid(int port, InetAddress peer) {
        return chooseGid(port, Objects.requireNonNull(peer, "peer"), null);
    }

    /** Chooses with the peer's address and endpoint, each of which may be null. */
    Optional<GidEntry> chooseGid(int port, @Nullable InetAddress peer, @Nullable Endpoint remote) {
        return ports.chooseGid(port, peer, remote);
    }

    /**
     * Returns the entry at an index of a port's P_Key table; see ibv_query_pkey(3).
     *
     * @param port its number, from 1
     * @param index the index in the table, from 0
     * @return the partition key, 16 bits; 0xffff is the default partition, 0 means that there is none
     * @throws IllegalArgumentException when there is no such port
     * @throws IndexOutOfBoundsException when the table has no such index
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_query_pkey
     */
    public int pkey(int port, int index) {
        return ports.pkey(port, index);
    }

    /**
     * Returns the index of a partition key in a port's P_Key table; see ibv_get_pkey_index(3).
     *
     * @param port its number, from 1
     * @param pkey the partition key, 0 to 0xffff; its highest bit means full membership and takes part in the
     *     comparison
     * @return the index, from 0, or empty if the table has no such key
     * @throws IllegalArgumentException when there is no such port, or the key has more than 16 bits
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_get_pkey_index
     */
    public OptionalInt pkeyIndex(int port, int pkey) {
        return ports.pkeyIndex(port, pkey);
    }

    /**
     * Reads the clock that the device uses for the timestamps of completions; see ibv_query_rt_values_ex(3).
     *
     * @return the reading
     * @throws UnsupportedVerbException when the device has no such clock, or its driver cannot read it
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_query_rt_values_ex
     */
    public RawClock realTimeClock() {
        String capability = "DeviceAttributes.coreClockKilohertz and DeviceAttributes.completionTimestampMask";
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment values = temporary.allocate(ibv_values_ex.layout());
            ibv_values_ex.comp_mask(values, rdma_h.IBV_VALUES_MASK_RAW_CLOCK());
            check("ibv_query_rt_values_ex", call(() -> provider.queryRealTime(values.address())), "", capability);
            if ((ibv_values_ex.comp_mask(values) & rdma_h.IBV_VALUES_MASK_RAW_CLOCK()) == 0) {
                throw failure("ibv_query_rt_values_ex", Errno.EOPNOTSUPP, "", Cures.NONE, capability);
            }
            MemorySegment clock = ibv_values_ex.raw_clock(values);
            return new RawClock(timespec.tv_sec(clock), timespec.tv_nsec(clock));
        }
    }

    /**
     * Returns the path to the sender of a datagram; see ibv_init_ah_from_wc(3).
     *
     * <p>Only completions of datagram queue pairs name the sender, and the caller must know that this is one. In front
     * of a datagram the device writes 40 bytes, {@link AddressHandle#GRH_BYTES}, to the memory that the receive was
     * posted with. Over RoCE on IPv4 the first 20 of them are undefined, and the last 20 are the IPv4 header.
     *
     * @param completions the completions that contain that of the datagram
     * @param index the index of the completion
     * @param routingHeader the memory that the device wrote in front of the datagram; its first 40 bytes are used
     * @param port the port that received the datagram, from 1
     * @return the path, for {@link ProtectionDomain#createAddressHandle(AddressVector)}
     * @throws IndexOutOfBoundsException when the index is not below {@link WorkCompletions#count()}
     * @throws NullPointerException when the completions or the routing header are null
     * @throws IllegalArgumentException when the completion is not that of a datagram received without error, the header
     *     has fewer than 40 bytes, there is no such port, or the completions belong to another arena
     * @throws VerbsException when the verb fails, for example with EINVAL when the datagram was sent to a multicast
     *     group
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_init_ah_from_wc
     */
    public AddressVector addressVectorOf(
            WorkCompletions completions, int index, MemorySegment routingHeader, int port) {
        Objects.requireNonNull(routingHeader, "routingHeader");
        checkPort(port);
        try (Arena temporary = KnownMemory.ofConfined()) {
            long completion =
                    completions.copyOfDatagram(arena, index, temporary).address();
            MemorySegment header = AddressHandle.copyOfHeader(temporary, routingHeader);
            MemorySegment attributes = temporary.allocate(ibv_ah_attr.layout());
            int result = (int) call(
                    () -> provider.initAddressFromCompletion(port, completion, header.address(), attributes.address()));
            if (result < 0) {
                throw new VerbsException(
                        "ibv_init_ah_from_wc",
                        -result,
                        describe("port " + port + ", " + completions.describe(index)),
                        "the datagram must have been sent to an address of this port, not to a multicast group, and the"
                                + " first " + AddressHandle.GRH_BYTES + " bytes of its buffer must be unchanged");
            }
            return AddressStructs.readVector(attributes);
        }
    }

    /**
     * Returns the number of completion vectors (interrupts) over which completion queues can be spread.
     *
     * @return the number, at least 1; {@link #createCompletionQueue(int, CompletionChannel, int)} counts them from 0
     * @throws IllegalStateException when this is closed
     */
    public int completionVectors() {
        checkOpen();
        return completionVectors;
    }

    /**
     * Returns the file descriptor that becomes readable when there is an event for {@link #awaitAsyncEvent}, for the
     * caller's own event loop. Then call {@code awaitAsyncEvent(Duration.ZERO)} until it returns nothing.
     *
     * @return the non-blocking descriptor, which this context owns
     * @throws UnsupportedOperationException when the device exists in this process only, like {@code soft0}, and has
     *     none
     * @throws IllegalStateException when this is closed
     */
    public int asyncFileDescriptor() {
        checkOpen();
        return requireDescriptor(asyncFileDescriptor, "for asynchronous events", "wait for them with awaitAsyncEvent");
    }

    /**
     * Resolves the Ethernet address to which frames on a path go, asking the network if necessary; see {@code
     * ibv_resolve_eth_l2_from_gid}. This takes up to three seconds if no host answers.
     *
     * @param way the path to a peer, by GID
     * @return the address of the peer, or of the router on the path to it
     * @throws IllegalArgumentException when the path has no GID, or there is no such port
     * @throws VerbsException when the verb fails; EHOSTUNREACH means that no host answers
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_resolve_eth_l2_from_gid
     */
    public EthernetAddress resolveEthernetAddress(AddressVector way) {
        if (!way.global()) {
            throw new IllegalArgumentException(
                    "way must be a path by GID: " + way + "; a path by LID has no Ethernet address");
        }
        checkPort(way.port());
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_ah_attr.layout());
            AddressStructs.writeVector(way, attributes);
            MemorySegment mac = temporary.allocate(MacAddress.BYTES);
            MemorySegment vlan = temporary.allocate(JAVA_SHORT);
            int result = (int)
                    call(() -> provider.resolveEthernetAddress(attributes.address(), mac.address(), vlan.address()));
            if (result < 0) {
                throw new VerbsException(
                        "ibv_resolve_eth_l2_from_gid",
                        -result,
                        describe(way.toString()),
                        "check the address, the route to it and the GID index of the path; libibverbs reports the same"
                                + " when the process has no file descriptor left");
            }
            int tag = Short.toUnsignedInt(vlan.get(JAVA_SHORT, 0));
            return new EthernetAddress(MacAddress.of(mac.toArray(JAVA_BYTE)), tag > MAX_VLAN ? -1 : tag);
        }
    }

    /**
     * Waits for an event of the device, a port or an object; see ibv_get_async_event(3). A virtual thread does not
     * block its carrier.
     *
     * @param timeout the maximum time to wait; zero checks once
     * @return the event, or empty if there was none in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed, also during the wait
     * @verb ibv_get_async_event
     * @verb ibv_ack_async_event
     */
    @CheckReturnValue
    public Optional<AsyncEvent> awaitAsyncEvent(Duration timeout) throws InterruptedException {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment event = temporary.allocate(ibv_async_event.layout());
            return Optional.ofNullable(Waiting.await(asyncEvents, timeout, () -> {
                long count = check("ibv_get_async_event", call(() -> provider.getAsyncEvent(event.address())), "");
                return count == 0 ? null : received(event);
            }));
        }
    }

    /** Reads an event and acknowledges it in any case, because destroying its object waits for that. */
    private AsyncEvent received(MemorySegment event) {
        try {
            // The object is found before: afterwards it may be destroyed and another one created at its address.
            AsyncEvent read = objects.readEvent(event);
            AsyncEventTaken.tell(name, read.type(), read.source());
            return read;
        } finally {
            provider.ackAsyncEvent(event.address());
        }
    }

    /** Returns an open queue pair that completes requests on a queue, or null. Takes no lock. */
    @Nullable
    QueuePair queuePair(CompletionQueue queue, int number) {
        return objects.find(queue, number);
    }

    /** For {@link QueuePair#takeNumber}. */
    void renumber(QueuePair queuePair, Runnable change) {
        objects.renumber(queuePair, change);
    }

    /** Returns the only open queue pair that completes requests on a queue; null if there is none, or several. */
    @Nullable
    QueuePair onlyQueuePair(CompletionQueue queue) {
        return objects.findOnly(queue);
    }

    /** Returns the object at an address, or null. Takes no lock. */
    @Nullable
    VerbsObject find(long nativeAddress) {
        return objects.find(nativeAddress);
    }

    /**
     * Creates a protection domain; see ibv_alloc_pd(3).
     *
     * @return the new object
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_alloc_pd
     * @verb ibv_dealloc_pd
     */
    @CheckReturnValue
    public ProtectionDomain allocateProtectionDomain() {
        return create(
                new Creation("ibv_alloc_pd", ProtectionDomain.ENDING),
                provider::allocateProtectionDomain,
                pd -> new ProtectionDomain(this, pd));
    }

    /**
     * Makes a thread domain; see ibv_alloc_td(3).
     *
     * @return the new thread domain, for {@link ParentDomainOptions#threadDomain}
     * @throws UnsupportedVerbException when the driver does not support it
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_alloc_td
     */
    @CheckReturnValue
    public ThreadDomain allocateThreadDomain() {
        return ThreadDomain.create(this);
    }

    /**
     * Creates counters of packets and bytes; see ibv_create_counters(3).
     *
     * @return the new counters, to which nothing is attached
     * @throws UnsupportedVerbException when the device has none
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_create_counters
     */
    @CheckReturnValue
    public Counters createCounters() {
        return Counters.create(this);
    }

    /**
     * Creates an action that encrypts or decrypts IPsec packets; the verb is {@code ibv_create_flow_action_esp}.
     *
     * @param options the options of the action
     * @return the new action, for {@link FlowSpecification.Apply}
     * @throws NullPointerException when the options are null
     * @throws UnsupportedVerbException when the device has none
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_create_flow_action_esp
     */
    @CheckReturnValue
    public FlowActionEsp createFlowActionEsp(FlowActionEspOptions options) {
        return FlowActionEsp.create(this, options);
    }

    /**
     * Creates a completion channel, to which completion queues send their events; see ibv_create_comp_channel(3).
     *
     * @return the new object
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_create_comp_channel
     * @verb ibv_destroy_comp_channel
     */
    @CheckReturnValue
    public CompletionChannel createCompletionChannel() {
        return create(
                new Creation("ibv_create_comp_channel", CompletionChannel.ENDING),
                provider::createCompletionChannel,
                channel -> new CompletionChannel(this, channel));
    }

    /**
     * Creates a completion queue for polling; see ibv_create_cq(3).
     *
     * @param entries the minimum number of completions; the device may round up
     * @return the new object
     * @throws IllegalArgumentException when the number is not positive
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_create_cq
     * @verb ibv_destroy_cq
     */
    @CheckReturnValue
    public CompletionQueue createCompletionQueue(int entries) {
        return createCompletionQueue(entries, null, 0);
    }

    /**
     * Creates a completion queue that can send events to a channel; see ibv_create_cq(3).
     *
     * @param entries the minimum number of completions; the device may round up
     * @param channel the channel of its events, or null
     * @param completionVector the completion vector (interrupt) of the device, from 0
     * @return the new object
     * @throws IllegalArgumentException when the number of entries is not positive, the vector is negative, or the
     *     channel belongs to another context
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this or the channel is closed
     * @verb ibv_create_cq
     * @verb ibv_destroy_cq
     */
    @CheckReturnValue
    public CompletionQueue createCompletionQueue(
            int entries, @Nullable CompletionChannel channel, int completionVector) {
        return CompletionQueueCreation.create(this, entries, channel, completionVector);
    }

    /**
     * Creates a completion queue whose completions are read in place and can have more fields; see ibv_create_cq_ex(3).
     *
     * @param options size, fields and channel
     * @return the new object
     * @throws IllegalArgumentException when the channel or the parent domain belongs to another context
     * @throws UnsupportedVerbException when the device does not support such queues, or not with these fields
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this, the channel or the parent domain is closed
     * @verb ibv_create_cq_ex
     */
    @CheckReturnValue
    public ExtendedCompletionQueue createCompletionQueue(CompletionQueueOptions options) {
        return CompletionQueueCreation.createExtended(this, options);
    }

    /**
     * Opens an XRC domain without a file, which only this process can use; see ibv_open_xrcd(3).
     *
     * @return the new object
     * @throws UnsupportedVerbException when the device does not support extended reliable connections
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_open_xrcd
     */
    @CheckReturnValue
    public XrcDomain openXrcDomain() {
        return XrcDomain.open(this, -1, Set.of(OpenFlag.CREAT));
    }

    /**
     * Opens the XRC domain of a file. Processes that open it for the same file share it; see ibv_open_xrcd(3).
     *
     * @param fileDescriptor the descriptor of any open file; it may be closed afterwards
     * @param flags {@link OpenFlag#CREAT} creates the domain if there is none yet
     * @return the domain
     * @throws IllegalArgumentException when the file descriptor is negative
     * @throws UnsupportedVerbException when the device does not support extended reliable connections
     * @throws VerbsException when the verb fails: with ENOENT if there is no such domain, with EEXIST if EXCL is given
     *     and there is one
     * @throws IllegalStateException when this is closed
     * @verb ibv_open_xrcd
     */
    @CheckReturnValue
    public XrcDomain openXrcDomain(int fileDescriptor, OpenFlag... flags) {
        if (fileDescriptor < 0) {
            throw new IllegalArgumentException("fileDescriptor must not be negative: " + fileDescriptor);
        }
        Set<OpenFlag> set = EnumSet.noneOf(OpenFlag.class);
        set.addAll(Arrays.asList(flags));
        return XrcDomain.open(this, fileDescriptor, set);
    }

    /**
     * Creates a table of work queues over which a queue pair spreads the packets it receives; see
     * ibv_create_rwq_ind_table(3).
     *
     * @param workQueues the queues, whose number must be a power of two; the same one may be named several times
     * @return the new object
     * @throws IllegalArgumentException when the number of work queues is not a power of two, or one of them belongs to
     *     another context
     * @throws NullPointerException when one is null
     * @throws UnsupportedVerbException when the device does not support such tables
     * @throws VerbsException when the verb fails, for example because the table is too large
     * @throws IllegalStateException when this or a work queue is closed
     * @verb ibv_create_rwq_ind_table
     */
    @CheckReturnValue
    public ReceiveIndirectionTable createReceiveIndirectionTable(List<WorkQueue> workQueues) {
        return ReceiveIndirectionTable.create(this, workQueues);
    }

    /**
     * Creates an object of this context, and registers it by its address so that events find it.
     *
     * @param nativeCreate calls the verb, with the arena's lock held; returns an address or a negated errno
     * @param wrapper creates the Java object for the address
     * @throws UnsupportedVerbException when the device does not support the verb
     * @throws VerbsException when the verb fails otherwise
     */
    <T extends ContextObject> T create(Creation creation, LongSupplier nativeCreate, LongFunction<T> wrapper) {
        return objects.create(creation, nativeCreate, wrapper);
    }

    /** Creates a Java object for a native one that exists already. */
    <T extends VerbsObject> T wrap(long nativeAddress, Ownership ownership, LongFunction<T> wrapper) {
        return objects.wrap(nativeAddress, ownership, wrapper);
    }

    /**
     * Returns the exception for a failed verb.
     *
     * @param capability where to look for support of this verb, or null when every device supports it
     */
    RuntimeException failure(String verb, int errno, String arguments, Cures cures, @Nullable String capability) {
        if (capability != null && (errno == Errno.EOPNOTSUPP || errno == Errno.ENOSYS)) {
            return new UnsupportedVerbException(verb, errno, name, arguments, capability);
        }
        String cure = cure(cures, errno);
        if (cure == null && errno == Errno.EMFILE) {
            cure = FreeDescriptors.CURE;
        }
        return new VerbsException(verb, errno, describe(arguments), cure);
    }

    /** Some cures query the device. If that fails too, the first failure is the one to report. */
    private static @Nullable String cure(Cures cures, int errno) {
        try {
            return cures.of(errno);
        } catch (VerbsException | IllegalStateException noAnswer) {
            return null;
        }
    }

    /** Throws if a verb failed. */
    long check(String verb, long result, String arguments, @Nullable String capability) {
        if (result < 0) {
            throw failure(verb, (int) -result, arguments, Cures.NONE, capability);
        }
        return result;
    }

    void forget(VerbsObject object) {
        objects.forget(object);
    }

    long call(LongSupplier verb) {
        enter();
        try {
            return verb.getAsLong();
        } finally {
            exit();
        }
    }

    long check(String verb, long result, String arguments) {
        if (result < 0) {
            throw new VerbsException(verb, (int) -result, describe(arguments), null);
        }
        return result;
    }

    private String describe(String arguments) {
        return arguments.isEmpty() ? toString() : this + ", " + arguments;
    }

    @Override
    void closeTree(Closing closing) {
        // No other thread may poll during the drain, or completions would be lost.
        if (!drained) {
            drained = true;
            QueuePairDrain.drain(this);
        }
        // Close all objects of one kind before the next: in the order of the tree a queue would be destroyed before the
        // regions of its siblings.
        for (VerbsObject object : inClosingOrder(objects.all())) {
            object.closeTree(closing);
        }
        super.closeTree(closing);
    }

    /**
     * Returns how many objects are open that were created through this, and how much memory is registered. It looks at each
     * object, and takes no lock. Any thread may call this at any time, also after closing, when nothing is open.
     *
     * @return the counts; objects that are created or closed meanwhile may or may not be among them
     */
    public ContextCounts counts() {
        return objects.counts();
    }

    /**
     * Returns what a port has counted since it exists. With a device of the kernel these are the counters of the hardware and
     * of its driver, which count for all processes; see {@link org.rdmapanama.counts.KernelCounters}. With {@code soft0} they
     * are those of this process, since it opened the device. Any thread may call this at any time, also after closing.
     *
     * @param port its number, from 1
     * @return the values by the names of the counters; empty if the driver has none. The map is the caller's
     * @throws IllegalArgumentException when there is no such port
     */
    public SortedMap<String, Long> portCounters(int port) {
        SortedMap<String, Long> counters = provider.portCounters(name, port);
        if (counters == null) {
            throw new IllegalArgumentException(this + " has no port " + port + "; ports are numbered from 1");
        }
        return counters;
    }

    /** Visits all objects of this context except itself. Takes no lock. */
    void forEachObject(Consumer<ContextObject> visitor) {
        for (VerbsObject object : objects.all()) {
            visitor.accept((ContextObject) object);
        }
    }

    @Override
    void forEachInTree(Consumer<VerbsObject> visitor) {
        objects.all().forEach(visitor);
        visitor.accept(this);
    }

    /** Any thread may call this, so it does not ask the device. */
    int knownPorts() {
        return ports.known();
    }

    /** Returns all open queue pairs that this process destroys. */
    List<QueuePair> queuePairs() {
        return objects.queuePairs();
    }

    @Override
    boolean shut() {
        boolean shut = super.shut();
        // Those that wait find it closed.
        asyncEvents.signal();
        return shut;
    }

    @Override
    int destroy() {
        asyncEvents.close();
        return provider.close();
    }

    @Override
    boolean endsWithWhatIsLeft() {
        return true;
    }

    @Override
    void ended() {
        asyncEvents.close();
        objects.loseAll();
        arena.remove(this);
        Observed.remove(this);
    }

    /** Whether the driver's destroying verbs can be called again after a failure. */
    boolean endsAgain() {
        return !UNMAP_FIRST.contains(driverName());
    }

    @Override
    String destroyVerb() {
        return "ibv_close_device";
    }

    @Override
    int closingOrder() {
        return 0;
    }

    /** Name of the device. */
    @Override
    public String toString() {
        return name;
    }
}
