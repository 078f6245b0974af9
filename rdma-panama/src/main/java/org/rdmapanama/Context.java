package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.Waiting;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_async_event;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_gid;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.ffm.verbs.ibv_port_attr;
import org.rdmapanama.ffm.verbs.ibv_values_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.timespec;
import org.rdmapanama.internal.libibverbs.NativeProvider;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.ProviderException;

/**
 * An open device, {@code struct ibv_context}: its ports and tables, and the root of all objects made on it.
 *
 * <p>Threads: as its {@link VerbsArena} says. Closing it closes everything made on it, after draining the queue pairs;
 * see {@link VerbsArena#close()}.
 */
public final class Context extends VerbsObject {
    /** Where to see whether a device can share objects with other processes: nowhere but by trying. */
    static final String IMPORT_CAPABILITY =
            "a driver that imports objects, such as mlx5; there is no capability for it";

    /** Drivers that take the memory of a queue away before they ask the kernel to end it: twice, it is somebody else's. */
    private static final Set<String> UNMAP_FIRST = Set.of("siw", "ocrdma");

    private static final int MAX_VLAN = 0xfff;

    private final ProviderContext provider;
    private final String name;

    /** Changed with the arena's lock held, and read without it by who looks for the source of an event. */
    private final Map<Long, VerbsObject> objects = new ConcurrentHashMap<>();

    private final NodeType nodeType;
    private final TransportType transportType;
    private final int completionVectors;
    private final int asyncFileDescriptor;
    private int physicalPorts;

    /** Whether the queue pairs have been drained. Guarded by the arena's lock. */
    private boolean drained;

    private Context(VerbsArena arena, ProviderContext provider, Device device) {
        super(arena, provider.address());
        this.provider = provider;
        name = device.name();
        nodeType = device.nodeType();
        transportType = device.transportType();
        MemorySegment struct = Native.struct(provider.address(), ibv_context.layout());
        completionVectors = ibv_context.num_comp_vectors(struct);
        asyncFileDescriptor = ibv_context.async_fd(struct);
    }

    /**
     * Opens a device; see ibv_open_device(3).
     *
     * @param arena who owns the open device and everything made on it
     * @param device one of {@link DeviceList#query()}
     * @return the open device
     * @throws VerbsException when it cannot be opened; the message says which file or permission is missing
     * @throws IllegalStateException when the arena is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_open_device
     */
    public static Context open(VerbsArena arena, Device device) {
        Provider provider = device.providerDevice().provider();
        return open(arena, device, () -> provider.open(device.providerDevice()));
    }

    /**
     * Opens the device that {@link DeviceList#preferred()} chooses.
     *
     * @param arena who owns the open device and everything made on it
     * @return the open device
     * @throws VerbsException when there is no device or it cannot be opened
     * @throws IllegalStateException when the arena is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static Context open(VerbsArena arena) {
        return open(arena, DeviceList.findPreferred());
    }

    /**
     * Opens the device of a name.
     *
     * @param arena who owns the open device and everything made on it
     * @param deviceName kernel name, such as {@code mlx5_0}
     * @return the open device
     * @throws VerbsException when there is none of that name, listing those there are, or it cannot be opened
     * @throws IllegalStateException when the arena is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static Context open(VerbsArena arena, String deviceName) {
        Objects.requireNonNull(arena, "arena");
        return open(arena, DeviceList.find(deviceName));
    }

    /**
     * Makes a context for a device that other code of this process has opened. Its descriptor for asynchronous events
     * does not block from now on, and events go to whoever reads them first: only one of {@link #awaitAsyncEvent} and
     * the other code should wait for them.
     *
     * @param arena who owns everything made on it through this object
     * @param nativeAddress address of the {@code struct ibv_context}
     * @param ownership whether closing this object, or the arena, closes the device
     * @return the open device. When there is an exception instead, the device stays open, and the caller's
     * @throws IllegalArgumentException when the address is 0 or has an object in this arena already
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the arena is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static Context ofNativeAddress(VerbsArena arena, long nativeAddress, Ownership ownership) {
        if (nativeAddress == 0) {
            throw new IllegalArgumentException("address 0 is no object");
        }
        Objects.requireNonNull(arena, "arena");
        Objects.requireNonNull(ownership, "ownership");
        arena.lock().lock();
        try {
            arena.requireNoContextAt(nativeAddress);
            String name = NativeProvider.deviceNameOf(nativeAddress);
            Device device = DeviceList.query().byName(name);
            Provider provider = device.providerDevice().provider();
            return open(
                    arena, device, () -> provider.at(nativeAddress), opened -> add(arena, opened, device, ownership));
        } finally {
            arena.lock().unlock();
        }
    }

    /**
     * Makes a context of one that another process has open, through the descriptor of its command channel; see
     * ibv_import_device(3). Both then have the same objects, which {@link #importProtectionDomain},
     * {@link ProtectionDomain#importMemoryRegion} and {@link #importDeviceMemory} find by their handles.
     *
     * @param arena who owns everything made on it through this object
     * @param fileDescriptor a duplicate, such as one that came through a Unix domain socket, of what
     *     {@link #commandFileDescriptor} says there. It belongs to the context from then on, which closes it
     * @return the open device
     * @throws IllegalArgumentException when it is no descriptor of a device's command channel; it stays open then
     * @throws IllegalStateException when the arena is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the driver cannot do it; the descriptor stays open where the driver has no
     *     such function, and is closed where the kernel lacks it
     * @throws VerbsException when the verb fails; the descriptor is mostly closed then
     * @verb ibv_import_device
     */
    public static Context importFrom(VerbsArena arena, int fileDescriptor) {
        Objects.requireNonNull(arena, "arena");
        Device device = deviceOf(fileDescriptor);
        try {
            return open(arena, device, () -> NativeProvider.importDevice(fileDescriptor));
        } catch (VerbsException e) {
            if (e.errno() == Errno.EOPNOTSUPP.number || e.errno() == Errno.ENOSYS.number) {
                throw new UnsupportedVerbException(
                        e.verb(), e.errno(), device.name(), "descriptor " + fileDescriptor, IMPORT_CAPABILITY);
            }
            throw e;
        }
    }

    /** The device whose command channel a descriptor is. */
    private static Device deviceOf(int fileDescriptor) {
        String file;
        try {
            file = Files.readSymbolicLink(Path.of("/proc/self/fd/" + fileDescriptor))
                    .getFileName()
                    .toString();
        } catch (IOException notOpen) {
            throw new IllegalArgumentException(fileDescriptor + " is no open descriptor", notOpen);
        }
        return DeviceList.query().stream()
                .filter(device -> file.equals(device.providerDevice().deviceFile()))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("descriptor " + fileDescriptor + " is " + file
                        + ", which is the command channel of no RDMA device"));
    }

    /**
     * The descriptor of the command channel, {@code cmd_fd}: a duplicate of it, handed to another process, lets that one
     * {@link #importFrom import} this context. It stays this one's own.
     *
     * @return a file descriptor
     * @throws UnsupportedOperationException when the device has none, because it is in this process only, as {@code
     *     soft0}
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public int commandFileDescriptor() {
        long descriptor = call(() -> ibv_context.cmd_fd(Native.struct(address, ibv_context.layout())));
        return requireDescriptor(
                (int) descriptor, "of a command channel", "other processes cannot import what is made on it");
    }

    /** Programs would take -1 for a descriptor. */
    int requireDescriptor(int descriptor, String what, String cure) {
        if (descriptor < 0) {
            throw new UnsupportedOperationException(
                    name + " has no file descriptor " + what + ", because it is in this process only: " + cure);
        }
        return descriptor;
    }

    /**
     * Makes a protection domain of one that another process made on the same {@link #importFrom imported} device; see
     * ibv_import_pd(3). Closing it gives it up here and leaves it to the other process, which is to keep it until
     * everybody has given it up.
     *
     * @param handle what {@link ProtectionDomain#handle()} says there
     * @return the protection domain
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have it
     * @throws VerbsException when the verb fails
     * @verb ibv_import_pd
     * @verb ibv_unimport_pd
     */
    public ProtectionDomain importProtectionDomain(int handle) {
        return ProtectionDomain.importFrom(this, handle);
    }

    /**
     * Makes a device memory of one that another process made on the same {@link #importFrom imported} device; see
     * ibv_import_dm(3). Closing it gives it up here and leaves it to the other process, which is to keep it until
     * everybody has given it up.
     *
     * @param handle what {@link DeviceMemory#handle()} says there
     * @param byteSize what {@link DeviceMemory#byteSize()} says there
     * @return the device memory
     * @throws IllegalArgumentException when the size is not positive
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have it
     * @throws VerbsException when the verb fails
     * @verb ibv_import_dm
     * @verb ibv_unimport_dm
     */
    public DeviceMemory importDeviceMemory(int handle, long byteSize) {
        return DeviceMemory.importFrom(this, handle, byteSize);
    }

    /**
     * Takes memory of the device; see ibv_alloc_dm(3).
     *
     * @param byteSize how much, in bytes
     * @param logAlignment logarithm to base 2 of the alignment that its address is to have in the device: 3 when atomics
     *     will work on it, 0 when it does not matter
     * @return the device memory
     * @throws IllegalArgumentException when the size is not positive, or the logarithm is not 0 to 63
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device has none
     * @throws VerbsException when the verb fails, mostly because there is not so much left
     * @verb ibv_alloc_dm
     * @verb ibv_free_dm
     */
    public DeviceMemory allocateDeviceMemory(long byteSize, int logAlignment) {
        return DeviceMemory.create(this, byteSize, logAlignment);
    }

    static Context open(VerbsArena arena, Device device, Supplier<ProviderContext> opener) {
        return open(arena, device, opener, provider -> adopted(arena, provider, device));
    }

    private static Context open(
            VerbsArena arena,
            Device device,
            Supplier<ProviderContext> opener,
            Function<ProviderContext, Context> adopter) {
        arena.lock().lock();
        try {
            arena.checkOpen();
            return adopter.apply(opener.get());
        } catch (ProviderException e) {
            throw new VerbsException(e.verb(), e.errno(), "device " + device.name(), e.getMessage());
        } finally {
            arena.lock().unlock();
        }
    }

    /** What was opened here and has no object would never be closed. */
    private static Context adopted(VerbsArena arena, ProviderContext provider, Device device) {
        try {
            return add(arena, provider, device, Ownership.OWNED);
        } catch (Throwable e) {
            int result = provider.close();
            if (result < 0) {
                e.addSuppressed(new VerbsException("ibv_close_device", -result, "device " + device.name(), null));
            }
            throw e;
        }
    }

    private static Context add(VerbsArena arena, ProviderContext provider, Device device, Ownership ownership) {
        Context context = new Context(arena, provider, device);
        if (ownership == Ownership.BORROWED) {
            context.borrow();
        }
        arena.add(context);
        return context;
    }

    ProviderContext provider() {
        return provider;
    }

    /**
     * Name of the device.
     *
     * @return its kernel name, such as {@code mlx5_0}
     */
    public String deviceName() {
        return name;
    }

    /**
     * Name of the driver in libibverbs that runs the device.
     *
     * @return such as {@code mlx5}, {@code efa}, {@code rxe} or {@code siw}; {@code unknown} when it cannot be told
     */
    public String driverName() {
        return provider.driver();
    }

    /**
     * What kind of node the device is.
     *
     * @return the kind
     */
    public NodeType nodeType() {
        return nodeType;
    }

    /**
     * Which family of transports the device has.
     *
     * @return the family
     */
    public TransportType transportType() {
        return transportType;
    }

    /**
     * Asks what the device can do; see ibv_query_device_ex(3).
     *
     * @return a snapshot
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_query_device_ex
     * @verb ibv_query_device
     */
    public DeviceAttributes queryDevice() {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_device_attr_ex.layout());
            check("ibv_query_device_ex", call(() -> provider.queryDevice(attributes.address())), "");
            return new DeviceAttributes(attributes);
        }
    }

    /**
     * Asks for the state of a port; see ibv_query_port(3).
     *
     * @param port its number, from 1
     * @return a snapshot
     * @throws IllegalArgumentException when there is no such port
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_query_port
     */
    public PortAttributes queryPort(int port) {
        checkPort(port);
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_port_attr.layout());
            check("ibv_query_port", call(() -> provider.queryPort(port, attributes.address())), "port " + port);
            return new PortAttributes(port, attributes);
        }
    }

    /** Asked once: a device has the same ports as long as it is open. */
    private int physicalPorts() {
        checkOpen();
        if (physicalPorts == 0) {
            physicalPorts = queryDevice().physicalPorts();
        }
        return physicalPorts;
    }

    void checkPort(int port) {
        int ports = physicalPorts();
        if (port < 1 || port > ports) {
            throw new IllegalArgumentException(
                    this + " has no port " + port + ": it has " + ports + ", counted from 1");
        }
    }

    /**
     * The filled places of the GID tables of all ports; see ibv_query_gid_table(3).
     *
     * @return the entries, by port and index
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_query_gid_table
     */
    public List<GidEntry> gidTable() {
        int capacity = 0;
        int ports = physicalPorts();
        for (int port = 1; port <= ports; port++) {
            capacity += queryPort(port).gidTableLength();
        }
        if (capacity == 0) {
            return List.of();
        }
        long entrySize = ibv_gid_entry.sizeof();
        int max = capacity;
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment entries = temporary.allocate(ibv_gid_entry.layout(), capacity);
            long count = check("ibv_query_gid_table", call(() -> provider.queryGidTable(entries.address(), max)), "");
            List<GidEntry> table = new ArrayList<>();
            for (long i = 0; i < count; i++) {
                table.add(read(entries.asSlice(i * entrySize, entrySize)));
            }
            return table;
        }
    }

    private static GidEntry read(MemorySegment entry) {
        return new GidEntry(
                ibv_gid_entry.port_num(entry),
                ibv_gid_entry.gid_index(entry),
                Gid.read(entry, ibv_gid_entry.gid$offset()),
                GidType.of(ibv_gid_entry.gid_type(entry)),
                ibv_gid_entry.ndev_ifindex(entry));
    }

    /**
     * The address in one place of a port's GID table; see ibv_query_gid(3).
     *
     * @param port its number, from 1
     * @param index place in the table, from 0
     * @return the address, {@link Gid#ZERO} when that place is empty
     * @throws IllegalArgumentException when there is no such port
     * @throws IndexOutOfBoundsException when the table has no such place
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_query_gid
     */
    public Gid queryGid(int port, int index) {
        checkGidIndex(port, index);
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment gid = temporary.allocate(ibv_gid.layout());
            check(
                    "ibv_query_gid",
                    call(() -> provider.queryGid(port, index, gid.address())),
                    "port " + port + ", GID index " + index);
            return Gid.read(gid, 0);
        }
    }

    /**
     * One place of a port's GID table, without reading the others; see ibv_query_gid_ex(3).
     *
     * @param port its number, from 1
     * @param index place in the table, from 0
     * @return the entry, or empty when that place is
     * @throws IllegalArgumentException when there is no such port
     * @throws IndexOutOfBoundsException when the table has no such place
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_query_gid_ex
     */
    public Optional<GidEntry> queryGidEntry(int port, int index) {
        checkGidIndex(port, index);
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment entry = temporary.allocate(ibv_gid_entry.layout());
            int result = (int) call(() -> provider.queryGidEx(port, index, entry.address()));
            if (result == -Errno.ENODATA.number) {
                return Optional.empty();
            }
            check("ibv_query_gid_ex", result, "port " + port + ", GID index " + index);
            return Optional.of(read(entry));
        }
    }

    private void checkGidIndex(int port, int index) {
        int length = queryPort(port).gidTableLength();
        if (index < 0 || index >= length) {
            throw new IndexOutOfBoundsException("the GID table of port " + port + " of " + this + " has " + length
                    + " places, and no place " + index);
        }
    }

    /**
     * One place of a port's GID table.
     *
     * @param port its number, from 1
     * @param index place in the table, from 0
     * @return the entry
     * @throws IllegalArgumentException when there is no such port, or that place is empty; the message lists the places
     *     that are not
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public GidEntry gid(int port, int index) {
        checkPort(port);
        List<GidEntry> table = gidTable().stream().filter(e -> e.port() == port).toList();
        return table.stream().filter(e -> e.index() == index).findFirst().orElseThrow(() -> {
            String filled = table.stream()
                    .map(e -> e.index() + " " + e.gid() + " " + e.type())
                    .collect(Collectors.joining(", "));
            return new IllegalArgumentException("GID index " + index + " of port " + port + " of " + this
                    + " is empty; the filled ones are " + (filled.isEmpty() ? "none" : filled));
        });
    }

    /**
     * The GID that suits most connections through a port: RoCE version 2 before version 1, and within a version IPv4
     * before routable IPv6 before link-local. Addresses of network interfaces that this process's network namespace does
     * not have, such as those of containers, come behind all others. On InfiniBand it is the first of the table.
     *
     * @param port its number, from 1
     * @return the entry, or empty when the table of the port is empty or there is no such port
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public Optional<GidEntry> preferredGid(int port) {
        return chooseGid(port, null, null);
    }

    /**
     * The GID that suits connections to a peer through a port: an address in whose subnet the peer is, the one with the
     * longest prefix first; else the address that the system would send packets to the peer from, and then those of the
     * same network interface. So of several VLANs the right one is used. Where this leaves a choice, or says nothing, and on
     * InfiniBand, it is as in {@link #preferredGid(int)}; so it is for a loopback address, which only tells that the peer
     * is on this machine. Sends nothing.
     *
     * @param port its number, from 1
     * @param peer an address of the peer, such as the other end of a TCP connection with it
     * @return the entry, or empty when the table of the port is empty or there is no such port
     * @throws NullPointerException when the peer is null
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public Optional<GidEntry> preferredGid(int port, InetAddress peer) {
        return chooseGid(port, Objects.requireNonNull(peer, "peer"), null);
    }

    /** With the peer's address and what it has told, each of which may be null. */
    Optional<GidEntry> chooseGid(int port, InetAddress peer, Endpoint remote) {
        List<GidEntry> table = gidTable().stream().filter(e -> e.port() == port).toList();
        return GidChoice.best(table, peer, remote, SystemNetwork.INSTANCE);
    }

    /**
     * One place of a port's P_Key table; see ibv_query_pkey(3).
     *
     * @param port its number, from 1
     * @param index place in the table, from 0
     * @return the partition key, 16 bits; 0xffff is the default partition, 0 an empty place
     * @throws IllegalArgumentException when there is no such port
     * @throws IndexOutOfBoundsException when the table has no such place
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_query_pkey
     */
    public int pkey(int port, int index) {
        int length = queryPort(port).pkeyTableLength();
        if (index < 0 || index >= length) {
            throw new IndexOutOfBoundsException("the P_Key table of port " + port + " of " + this + " has " + length
                    + " places, and no place " + index);
        }
        return (int) check(
                "ibv_query_pkey", call(() -> provider.queryPkey(port, index)), "port " + port + ", index " + index);
    }

    /**
     * The place of a partition key in a port's P_Key table; see ibv_get_pkey_index(3).
     *
     * @param port its number, from 1
     * @param pkey the partition key, 0 to 0xffff; its highest bit says full member and counts in the comparison
     * @return the place, from 0, or empty when the table has no such key
     * @throws IllegalArgumentException when there is no such port, or the key has more than 16 bits
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_get_pkey_index
     */
    public OptionalInt pkeyIndex(int port, int pkey) {
        checkPort(port);
        if (pkey < 0 || pkey > 0xffff) {
            throw new IllegalArgumentException("a partition key has 16 bits, unlike 0x" + Integer.toHexString(pkey));
        }
        int result = (int) call(() -> provider.pkeyIndex(port, pkey));
        // The library reads on until it is past the end of the table, where no such file is.
        if (result == -Errno.ENOENT.number) {
            return OptionalInt.empty();
        }
        return OptionalInt.of(
                (int) check("ibv_get_pkey_index", result, "port " + port + ", P_Key 0x" + Integer.toHexString(pkey)));
    }

    /**
     * Reads the clock that the device stamps completions with; see ibv_query_rt_values_ex(3).
     *
     * @return the reading
     * @throws UnsupportedVerbException when the device has no such clock, or its driver does not read it
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_query_rt_values_ex
     */
    public RawClock realTimeClock() {
        String capability = "DeviceAttributes.coreClockKilohertz and DeviceAttributes.completionTimestampMask";
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment values = temporary.allocate(ibv_values_ex.layout());
            ibv_values_ex.comp_mask(values, rdma_h.IBV_VALUES_MASK_RAW_CLOCK());
            check("ibv_query_rt_values_ex", call(() -> provider.queryRealTime(values.address())), "", capability);
            if ((ibv_values_ex.comp_mask(values) & rdma_h.IBV_VALUES_MASK_RAW_CLOCK()) == 0) {
                throw failure("ibv_query_rt_values_ex", Errno.EOPNOTSUPP.number, "", null, capability);
            }
            MemorySegment clock = ibv_values_ex.raw_clock(values);
            return new RawClock(timespec.tv_sec(clock), timespec.tv_nsec(clock));
        }
    }

    /**
     * The way back to who sent a datagram; see ibv_init_ah_from_wc(3).
     *
     * <p>Only completions of datagram queue pairs tell who sent, which their other fields do not show: this is for the
     * caller to know. In front of a datagram the device writes 40 bytes, {@link AddressHandle#GRH_BYTES}, to the memory
     * that the receive was posted with. Over RoCE on IPv4 the first 20 of them mean nothing, and the IPv4 header is in
     * the last 20.
     *
     * @param completions in which the datagram's completion is
     * @param index which completion
     * @param routingHeader what the device put in front of the datagram; 40 bytes of it count
     * @param port where the datagram came in, from 1
     * @return the way, for {@link ProtectionDomain#createAddressHandle(AddressVector)}
     * @throws IndexOutOfBoundsException when the index is not below {@link WorkCompletions#count()}
     * @throws NullPointerException when the completions or the routing header are null
     * @throws IllegalArgumentException when the completion is of no datagram that arrived well, there are less than 40
     *     bytes, there is no such port, or the completions belong to another arena
     * @throws VerbsException when the verb fails, for example with EINVAL when the datagram was sent to a multicast
     *     group
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_init_ah_from_wc
     */
    public AddressVector addressVectorOf(
            WorkCompletions completions, int index, MemorySegment routingHeader, int port) {
        Objects.requireNonNull(routingHeader, "routingHeader");
        checkPort(port);
        long completion = completions.addressOfDatagram(arena, index);
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment header = AddressHandle.copyOfHeader(temporary, routingHeader);
            MemorySegment attributes = temporary.allocate(ibv_ah_attr.layout());
            int result = (int) call(
                    () -> provider.initAddressFromCompletion(port, completion, header.address(), attributes.address()));
            if (result < 0) {
                throw new VerbsException(
                        "ibv_init_ah_from_wc",
                        -result,
                        describe("port " + port + ", " + completions.describe(index)),
                        "the datagram must have been sent to an address of this port, not to a group, and the first "
                                + AddressHandle.GRH_BYTES + " bytes of its buffer must be as they arrived");
            }
            return AddressVector.read(attributes);
        }
    }

    /**
     * How many completion vectors (interrupts) completion queues can be spread over.
     *
     * @return the number, at least 1; {@link #createCompletionQueue(int, CompletionChannel, int)} counts them from 0
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public int completionVectors() {
        checkOpen();
        return completionVectors;
    }

    /**
     * The file descriptor that becomes readable when there is something for {@link #awaitAsyncEvent}, for an event loop
     * of the caller's own. Call {@code awaitAsyncEvent(Duration.ZERO)} then until it gives nothing.
     *
     * @return the descriptor, which this context owns; it never blocks
     * @throws UnsupportedOperationException when the device has none, because it is in this process only, as {@code
     *     soft0}
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public int asyncFileDescriptor() {
        checkOpen();
        return requireDescriptor(asyncFileDescriptor, "for asynchronous events", "wait for them with awaitAsyncEvent");
    }

    /**
     * Finds out to which Ethernet address frames of a way go, asking the network when it must; see
     * {@code ibv_resolve_eth_l2_from_gid}. Takes up to three seconds when nobody answers.
     *
     * @param way to a peer, by GID
     * @return the address of the peer, or of the router on the way to it
     * @throws IllegalArgumentException when the way has no GID, or there is no such port
     * @throws VerbsException when the verb fails; EHOSTUNREACH means that nobody answers
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_resolve_eth_l2_from_gid
     */
    public EthernetAddress resolveEthernetAddress(AddressVector way) {
        if (!way.global()) {
            throw new IllegalArgumentException("only a way by GID has an Ethernet address, not " + way);
        }
        checkPort(way.port());
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_ah_attr.layout());
            way.write(attributes);
            MemorySegment mac = temporary.allocate(MacAddress.BYTES);
            MemorySegment vlan = temporary.allocate(JAVA_SHORT);
            int result = (int)
                    call(() -> provider.resolveEthernetAddress(attributes.address(), mac.address(), vlan.address()));
            if (result < 0) {
                throw new VerbsException(
                        "ibv_resolve_eth_l2_from_gid",
                        -result,
                        describe(way.toString()),
                        "check the address, the route to it and the GID index of the way, and whether the process has no"
                                + " file descriptor left, for which libibverbs reports the same");
            }
            int tag = Short.toUnsignedInt(vlan.get(JAVA_SHORT, 0));
            return new EthernetAddress(MacAddress.of(mac.toArray(JAVA_BYTE)), tag > MAX_VLAN ? -1 : tag);
        }
    }

    /**
     * Waits for something to happen to the device, a port or an object; see ibv_get_async_event(3). A virtual
     * thread sleeps meanwhile.
     *
     * @param timeout how long to wait at most; zero looks once
     * @return the event, or empty when none came in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed, also while waiting
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_get_async_event
     * @verb ibv_ack_async_event
     */
    public Optional<AsyncEvent> awaitAsyncEvent(Duration timeout) throws InterruptedException {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment event = temporary.allocate(ibv_async_event.layout());
            return Optional.ofNullable(Waiting.await(timeout, millis -> {
                long count =
                        check("ibv_get_async_event", call(() -> provider.getAsyncEvent(event.address(), millis)), "");
                return count == 0 ? null : received(event);
            }));
        }
    }

    /** Reads an event and acknowledges it, so that what it is about can be destroyed. */
    private AsyncEvent received(MemorySegment event) {
        AsyncEventType type = AsyncEventType.of(ibv_async_event.event_type(event));
        MemorySegment element = ibv_async_event.element(event);
        int port = 0;
        VerbsObject source = null;
        switch (type) {
            case PORT_ACTIVE, PORT_ERR, LID_CHANGE, PKEY_CHANGE, SM_CHANGE, CLIENT_REREGISTER, GID_CHANGE ->
                port = ibv_async_event.element.port_num(element);
            case DEVICE_FATAL, UNKNOWN -> {}
            default -> source = find(ibv_async_event.element.qp(element).address());
        }
        provider.ackAsyncEvent(event.address());
        return new AsyncEvent(
                type,
                port,
                source instanceof QueuePair queuePair ? queuePair : null,
                source instanceof CompletionQueue completionQueue ? completionQueue : null,
                source instanceof SharedReceiveQueue sharedReceiveQueue ? sharedReceiveQueue : null,
                source instanceof WorkQueue workQueue ? workQueue : null);
    }

    /**
     * Takes no lock: who closes an object holds the arena's, and waits until its events are acknowledged, which comes
     * after this.
     */
    VerbsObject find(long nativeAddress) {
        return objects.get(nativeAddress);
    }

    /**
     * Makes a protection domain; see ibv_alloc_pd(3).
     *
     * @return a new one
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_alloc_pd
     * @verb ibv_dealloc_pd
     */
    public ProtectionDomain allocateProtectionDomain() {
        return create(
                "ibv_alloc_pd",
                ProtectionDomain.ENDING,
                "",
                null,
                provider::allocateProtectionDomain,
                pd -> new ProtectionDomain(this, pd));
    }

    /**
     * Makes a thread domain; see ibv_alloc_td(3).
     *
     * @return a new one, for {@link ParentDomainOptions#threadDomain}
     * @throws UnsupportedVerbException when the driver has none
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_alloc_td
     */
    public ThreadDomain allocateThreadDomain() {
        return ThreadDomain.create(this);
    }

    /**
     * Makes counters of packets and bytes; see ibv_create_counters(3).
     *
     * @return new ones, to which nothing is attached
     * @throws UnsupportedVerbException when the device has none
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_create_counters
     */
    public Counters createCounters() {
        return Counters.create(this);
    }

    /**
     * Makes an action that encrypts or decrypts packets of IPsec; the verb is {@code ibv_create_flow_action_esp}.
     *
     * @param options what it does
     * @return a new one, for {@link FlowSpecification.Apply}
     * @throws NullPointerException when the options are null
     * @throws UnsupportedVerbException when the device has none
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_create_flow_action_esp
     */
    public FlowActionEsp createFlowActionEsp(FlowActionEspOptions options) {
        return FlowActionEsp.create(this, options);
    }

    /**
     * Makes a completion channel, through which completion queues tell that something completed; see
     * ibv_create_comp_channel(3).
     *
     * @return a new one
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_create_comp_channel
     * @verb ibv_destroy_comp_channel
     */
    public CompletionChannel createCompletionChannel() {
        return create(
                "ibv_create_comp_channel",
                CompletionChannel.ENDING,
                "",
                null,
                provider::createCompletionChannel,
                channel -> new CompletionChannel(this, channel));
    }

    /**
     * Makes a completion queue that is polled; see ibv_create_cq(3).
     *
     * @param entries how many completions it must hold at least; the device may round up
     * @return a new one
     * @throws IllegalArgumentException when the number is not positive
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_create_cq
     * @verb ibv_destroy_cq
     */
    public CompletionQueue createCompletionQueue(int entries) {
        return createCompletionQueue(entries, null, 0);
    }

    /**
     * Makes a completion queue that can tell through a channel that something completed; see ibv_create_cq(3).
     *
     * @param entries how many completions it must hold at least; the device may round up
     * @param channel where it tells, or null
     * @param completionVector which of the device's completion vectors (interrupts) to use, from 0
     * @return a new one
     * @throws IllegalArgumentException when the number of entries is not positive, the vector is negative, or the
     *     channel belongs to another context
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this or the channel is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_create_cq
     * @verb ibv_destroy_cq
     */
    public CompletionQueue createCompletionQueue(int entries, CompletionChannel channel, int completionVector) {
        return CompletionQueue.create(this, entries, channel, completionVector);
    }

    /**
     * Makes a completion queue whose completions are read in place, and of which more can be read; see
     * ibv_create_cq_ex(3).
     *
     * @param options size, fields and channel
     * @return a new one
     * @throws IllegalArgumentException when the channel or the parent domain belongs to another context
     * @throws UnsupportedVerbException when the device has no such queues, or not with these fields
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this, the channel or the parent domain is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_create_cq_ex
     */
    public ExtendedCompletionQueue createCompletionQueue(CompletionQueueOptions options) {
        return ExtendedCompletionQueue.create(this, options);
    }

    /**
     * Opens an XRC domain that no file stands for, so that only this process can use it; see ibv_open_xrcd(3).
     *
     * @return a new one
     * @throws UnsupportedVerbException when the device has no extended reliable connections
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_open_xrcd
     */
    public XrcDomain openXrcDomain() {
        return XrcDomain.open(this, -1, Set.of(OpenFlag.CREAT));
    }

    /**
     * Opens the XRC domain that a file stands for, which processes share that open it for the same file; see
     * ibv_open_xrcd(3).
     *
     * @param fileDescriptor of any file, as open(2) gave it; it may be closed afterwards
     * @param flags {@link OpenFlag#CREAT} to make the domain when there is none yet
     * @return the domain
     * @throws IllegalArgumentException when the file descriptor is negative
     * @throws UnsupportedVerbException when the device has no extended reliable connections
     * @throws VerbsException when the verb fails: with ENOENT when there is no such domain, with EEXIST when there is
     *     one that EXCL refuses
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_open_xrcd
     */
    public XrcDomain openXrcDomain(int fileDescriptor, OpenFlag... flags) {
        if (fileDescriptor < 0) {
            throw new IllegalArgumentException("no file descriptor is negative: " + fileDescriptor);
        }
        Set<OpenFlag> set = EnumSet.noneOf(OpenFlag.class);
        set.addAll(Arrays.asList(flags));
        return XrcDomain.open(this, fileDescriptor, set);
    }

    /**
     * Makes a table of work queues, among which a queue pair spreads what it receives; see ibv_create_rwq_ind_table(3).
     *
     * @param workQueues 1, 2, 4 or another power of two; one may be named several times
     * @return a new one
     * @throws IllegalArgumentException when the number of work queues is no power of two, or one belongs to another
     *     context
     * @throws NullPointerException when one is null
     * @throws UnsupportedVerbException when the device has no such tables
     * @throws VerbsException when the verb fails, for example because the table is too large
     * @throws IllegalStateException when this or a work queue is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_create_rwq_ind_table
     */
    public ReceiveIndirectionTable createReceiveIndirectionTable(List<WorkQueue> workQueues) {
        return ReceiveIndirectionTable.create(this, workQueues);
    }

    /** Makes an object of this context: a failed verb throws, and the object is found in events by its address. */
    <T extends ContextObject> T create(
            String verb,
            Ending ending,
            String arguments,
            Cures cures,
            LongSupplier nativeCreate,
            LongMapper<T> wrapper) {
        return create(verb, ending, arguments, cures, null, nativeCreate, wrapper);
    }

    /**
     * Makes an object of this context.
     *
     * @param ending how the native object ends when there will be no object for it
     * @param capability where to see whether a device has this verb, or null when every device has it
     * @throws UnsupportedVerbException when the device does not have it
     */
    <T extends ContextObject> T create(
            String verb,
            Ending ending,
            String arguments,
            Cures cures,
            String capability,
            LongSupplier nativeCreate,
            LongMapper<T> wrapper) {
        return create(verb, ending, arguments, cures, capability, nativeCreate, wrapper, () -> {});
    }

    /**
     * Makes an object of this context.
     *
     * @param lost called when there is neither an object nor an end for the native one, with the arena's lock held
     */
    <T extends ContextObject> T create(
            String verb,
            Ending ending,
            String arguments,
            Cures cures,
            String capability,
            LongSupplier nativeCreate,
            LongMapper<T> wrapper,
            Runnable lost) {
        arena.lock().lock();
        try {
            checkOpen();
            long result = nativeCreate.getAsLong();
            if (result < 0) {
                throw failure(verb, (int) -result, arguments, cures, capability);
            }
            return adopted(ending, result, wrapper, lost);
        } finally {
            arena.lock().unlock();
        }
    }

    /** Makes a Java object for a native one that exists already. */
    <T extends VerbsObject> T wrap(long nativeAddress, Ownership ownership, LongMapper<T> wrapper) {
        if (nativeAddress == 0) {
            throw new IllegalArgumentException("address 0 is no object");
        }
        Objects.requireNonNull(ownership, "ownership");
        arena.lock().lock();
        try {
            checkOpen();
            VerbsObject known = objects.get(nativeAddress);
            if (known != null) {
                throw new IllegalArgumentException("there is an object for this address already: " + known);
            }
            T object = wrapper.apply(nativeAddress);
            if (ownership == Ownership.BORROWED) {
                object.borrow();
            }
            adopt(object);
            return object;
        } finally {
            arena.lock().unlock();
        }
    }

    /** What is native and has no object would never end. */
    private <T extends ContextObject> T adopted(Ending ending, long address, LongMapper<T> wrapper, Runnable lost) {
        try {
            T object = wrapper.apply(address);
            assert object.ending().equals(ending) : object;
            adopt(object);
            return object;
        } catch (Throwable e) {
            int result = ending.call().end(provider, address);
            if (result < 0) {
                lost.run();
                e.addSuppressed(new VerbsException(ending.verb(), -result, toString(), null));
            }
            throw e;
        }
    }

    private void adopt(VerbsObject object) {
        try {
            object.join();
            objects.put(object.address, object);
        } catch (Throwable e) {
            object.leave();
            throw e;
        }
    }

    /**
     * What to throw for a verb that failed.
     *
     * @param capability where to see whether a device has this verb, or null when every device has it
     */
    RuntimeException failure(String verb, int errno, String arguments, Cures cures, String capability) {
        if (capability != null && (errno == Errno.EOPNOTSUPP.number || errno == Errno.ENOSYS.number)) {
            return new UnsupportedVerbException(verb, errno, name, arguments, capability);
        }
        String cure = cures == null ? null : cure(cures, errno);
        if (cure == null && errno == Errno.EMFILE.number) {
            cure = FreeDescriptors.CURE;
        }
        return new VerbsException(verb, errno, describe(arguments), cure);
    }

    /** Some ask the device. When it does not answer either, what failed first is the thing to report. */
    private static String cure(Cures cures, int errno) {
        try {
            return cures.of(errno);
        } catch (VerbsException | IllegalStateException noAnswer) {
            return null;
        }
    }

    /** Throws when a verb failed. */
    long check(String verb, long result, String arguments, String capability) {
        if (result < 0) {
            throw failure(verb, (int) -result, arguments, null, capability);
        }
        return result;
    }

    void forget(VerbsObject object) {
        objects.remove(object.address, object);
    }

    /** What to do about an errno, or null. */
    @FunctionalInterface
    interface Cures {
        String of(int errno);
    }

    /** Makes an object of an address. */
    @FunctionalInterface
    interface LongMapper<T> {
        T apply(long address);
    }

    private long call(LongSupplier verb) {
        enter();
        try {
            return verb.getAsLong();
        } finally {
            exit();
        }
    }

    private long check(String verb, long result, String arguments) {
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
        // Nobody else may poll while this drains: completions would be lost.
        if (!drained) {
            drained = true;
            QueuePairDrain.drain(this);
        }
        // All of one kind before the next: the tree alone would end a queue before the regions of its neighbours.
        for (VerbsObject object : inClosingOrder(objects.values())) {
            object.closeTree(closing);
        }
        super.closeTree(closing);
    }

    /** All objects of this but itself. Takes no lock. */
    void forEachObject(Consumer<ContextObject> visitor) {
        for (VerbsObject object : objects.values()) {
            visitor.accept((ContextObject) object);
        }
    }

    @Override
    void forEachInTree(Consumer<VerbsObject> visitor) {
        objects.values().forEach(visitor);
        visitor.accept(this);
    }

    /** All queue pairs that are open and end here. */
    List<QueuePair> queuePairs() {
        return objects.values().stream()
                .filter(QueuePair.class::isInstance)
                .map(QueuePair.class::cast)
                .filter(queuePair -> !queuePair.isBorrowed() && !queuePair.isRefused())
                .toList();
    }

    @Override
    int destroy() {
        return provider.close();
    }

    @Override
    boolean endsWithWhatIsLeft() {
        return true;
    }

    @Override
    void ended() {
        objects.values().forEach(VerbsObject::lose);
        objects.clear();
        arena.remove(this);
    }

    /** Whether the driver's verbs that end something can be called again when they failed. */
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
