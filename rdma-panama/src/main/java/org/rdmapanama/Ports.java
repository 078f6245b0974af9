package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.address.GidType;
import org.rdmapanama.device.PortAttributes;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.verbs.ibv_gid;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.ffm.verbs.ibv_port_attr;
import org.rdmapanama.internal.AddressStructs;
import org.rdmapanama.internal.network.GidChoice;
import org.rdmapanama.internal.network.SystemNetwork;

/** The ports of an open device, with their tables of GIDs and partition keys. */
final class Ports {
    private final Context context;

    /** The number of ports, or 0 if it is not known yet. Threads that query it at the same time all find the same. */
    private int physicalPorts;

    Ports(Context context) {
        this.context = context;
    }

    PortAttributes query(int port) {
        check(port);
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_port_attr.layout());
            context.check(
                    "ibv_query_port",
                    context.call(() -> context.provider().queryPort(port, attributes.address())),
                    "port " + port);
            return PortAttributes.ofNative(port, attributes);
        }
    }

    /** Queried once, because the ports of an open device do not change. */
    private int physicalPorts() {
        context.checkOpen();
        if (physicalPorts == 0) {
            physicalPorts = context.queryDevice().physicalPorts();
        }
        return physicalPorts;
    }

    /** Returns how many there are, or 1 if it is not known yet. */
    int known() {
        return Math.max(1, physicalPorts);
    }

    void check(int port) {
        int ports = physicalPorts();
        if (port < 1 || port > ports) {
            throw new IllegalArgumentException("port of " + context + " must be between 1 and " + ports + ": " + port);
        }
    }

    List<GidEntry> queryGidTable() {
        int capacity = 0;
        int ports = physicalPorts();
        for (int port = 1; port <= ports; port++) {
            capacity += query(port).gidTableLength();
        }
        if (capacity == 0) {
            return List.of();
        }
        long entrySize = ibv_gid_entry.sizeof();
        int max = capacity;
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment entries = temporary.allocate(ibv_gid_entry.layout(), capacity);
            long count = context.check(
                    "ibv_query_gid_table",
                    context.call(() -> context.provider().queryGidTable(entries.address(), max)),
                    "");
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
                AddressStructs.readGid(entry, ibv_gid_entry.gid$offset()),
                GidType.of(ibv_gid_entry.gid_type(entry)),
                ibv_gid_entry.ndev_ifindex(entry));
    }

    Optional<Gid> queryGid(int port, int index) {
        checkGidIndex(port, index);
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment gid = temporary.allocate(ibv_gid.layout());
            context.check(
                    "ibv_query_gid",
                    context.call(() -> context.provider().queryGid(port, index, gid.address())),
                    "port " + port + ", GID index " + index);
            Gid read = AddressStructs.readGid(gid, 0);
            return read.equals(Gid.ZERO) ? Optional.empty() : Optional.of(read);
        }
    }

    Optional<GidEntry> queryGidEntry(int port, int index) {
        checkGidIndex(port, index);
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment entry = temporary.allocate(ibv_gid_entry.layout());
            int result = (int) context.call(() -> context.provider().queryGidEx(port, index, entry.address()));
            if (result == -Errno.ENODATA) {
                return Optional.empty();
            }
            context.check("ibv_query_gid_ex", result, "port " + port + ", GID index " + index);
            return Optional.of(read(entry));
        }
    }

    private void checkGidIndex(int port, int index) {
        int length = query(port).gidTableLength();
        if (index < 0 || index >= length) {
            throw new IndexOutOfBoundsException("index in the GID table of port " + port + " of " + context
                    + " must be at least 0 and below " + length + ": " + index);
        }
    }

    GidEntry gid(int port, int index) {
        check(port);
        List<GidEntry> table =
                queryGidTable().stream().filter(e -> e.port() == port).toList();
        return table.stream().filter(e -> e.index() == index).findFirst().orElseThrow(() -> {
            String filled = table.stream()
                    .map(e -> e.index() + " " + e.gid() + " " + e.type())
                    .collect(Collectors.joining(", "));
            return new IllegalArgumentException("GID index " + index + " of port " + port + " of " + context
                    + " has no GID; the indexes with one are " + (filled.isEmpty() ? "none" : filled));
        });
    }

    /** Chooses with the peer's address and endpoint, each of which may be null. */
    Optional<GidEntry> chooseGid(int port, @Nullable InetAddress peer, @Nullable Endpoint remote) {
        List<GidEntry> table =
                queryGidTable().stream().filter(e -> e.port() == port).toList();
        return GidChoice.best(table, peer, remote, SystemNetwork.INSTANCE);
    }

    int pkey(int port, int index) {
        int length = query(port).pkeyTableLength();
        if (index < 0 || index >= length) {
            throw new IndexOutOfBoundsException("index in the P_Key table of port " + port + " of " + context
                    + " must be at least 0 and below " + length + ": " + index);
        }
        return (int) context.check(
                "ibv_query_pkey",
                context.call(() -> context.provider().queryPkey(port, index)),
                "port " + port + ", index " + index);
    }

    OptionalInt pkeyIndex(int port, int pkey) {
        check(port);
        if (pkey < 0 || pkey > 0xffff) {
            throw new IllegalArgumentException("pkey must be between 0 and 0xffff: 0x" + Integer.toHexString(pkey));
        }
        int result = (int) context.call(() -> context.provider().pkeyIndex(port, pkey));
        // The library reads beyond the end of the table, where there is no such file.
        if (result == -Errno.ENOENT) {
            return OptionalInt.empty();
        }
        return OptionalInt.of((int)
                context.check("ibv_get_pkey_index", result, "port " + port + ", P_Key 0x" + Integer.toHexString(pkey)));
    }
}
