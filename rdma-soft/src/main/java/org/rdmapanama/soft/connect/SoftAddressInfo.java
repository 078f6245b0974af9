package org.rdmapanama.soft.connect;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.SocketAddresses;
import org.rdmapanama.ffm.verbs.rdma_addrinfo;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.soft.VerbsConstants;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.net.SocketStructs;

/**
 * Implements rdma_getaddrinfo(3): resolves names to lists of struct rdma_addrinfo. {@link SoftConnectionManager} calls
 * it on the thread of the program, without a lock, since a name service may take long.
 */
final class SoftAddressInfo {
    // Codes of getaddrinfo(3).
    private static final int NAME_UNKNOWN = -2;
    private static final int FAMILY_UNKNOWN = -6;
    private static final int SERVICE_UNKNOWN = -8;

    private static final int MAX_PORT = 65535;
    private static final int ADDRESS_BYTES = 128;
    private static final Path SERVICES = Path.of("/etc/services");

    /** The memory of each list, by the address of its first struct. */
    private final Map<Long, List<NativeBlock>> lists = new ConcurrentHashMap<>();

    int get(long node, long service, long hints, long result) {
        MemorySegment wanted = Native.struct(hints, rdma_addrinfo.layout());
        int flags = rdma_addrinfo.ai_flags(wanted);
        boolean passive = (flags & rdma_h.RAI_PASSIVE()) != 0;
        int family = (flags & rdma_h.RAI_FAMILY()) != 0 ? rdma_addrinfo.ai_family(wanted) : 0;
        if (family != 0 && family != SocketAddresses.AF_INET && family != SocketAddresses.AF_INET6) {
            return FAMILY_UNKNOWN - ConnectionManager.NAME_SERVICE;
        }
        int port = service == 0 ? 0 : port(string(service), portSpaceOf(wanted));
        if (port < 0) {
            return SERVICE_UNKNOWN - ConnectionManager.NAME_SERVICE;
        }
        List<InetAddress> found = new ArrayList<>();
        try {
            for (InetAddress each : addresses(node, passive, (flags & rdma_h.RAI_NUMERICHOST()) != 0)) {
                boolean version4 = each instanceof Inet4Address;
                if (family == 0 || family == (version4 ? SocketAddresses.AF_INET : SocketAddresses.AF_INET6)) {
                    found.add(each);
                }
            }
        } catch (UnknownHostException e) {
            found.clear();
        }
        if (found.isEmpty()) {
            return NAME_UNKNOWN - ConnectionManager.NAME_SERVICE;
        }
        write(found.stream().map(each -> new InetSocketAddress(each, port)).toList(), wanted, passive, result);
        return 0;
    }

    private static int portSpaceOf(MemorySegment hints) {
        int portSpace = rdma_addrinfo.ai_port_space(hints);
        if (portSpace != 0) {
            return portSpace;
        }
        return rdma_addrinfo.ai_qp_type(hints) == VerbsConstants.UD ? rdma_h.RDMA_PS_UDP() : rdma_h.RDMA_PS_TCP();
    }

    private static String string(long address) {
        return Native.struct(address, Integer.MAX_VALUE).getString(0);
    }

    private static InetAddress[] addresses(long node, boolean passive, boolean numeric) throws UnknownHostException {
        if (node == 0) {
            return passive
                    ? new InetAddress[] {SocketAddresses.host(new byte[Integer.BYTES])}
                    : new InetAddress[] {InetAddress.getByName("127.0.0.1")};
        }
        String name = string(node);
        boolean digits = name.matches("[0-9.]+") || name.indexOf(':') >= 0;
        if (name.isEmpty() || (numeric && !digits)) {
            throw new UnknownHostException(name);
        }
        return InetAddress.getAllByName(name);
    }

    /** Returns the port of a service, given as a number or a name; -1 if it is not known. */
    private static int port(String service, int portSpace) {
        if (service.matches("[0-9]{1,9}")) {
            int port = Integer.parseInt(service);
            return port <= MAX_PORT ? port : -1;
        }
        String protocol = portSpace == rdma_h.RDMA_PS_UDP() ? "/udp" : "/tcp";
        try {
            // Reads the whole file at once: an interrupt would end reading line by line.
            return Files.readAllLines(SERVICES).stream()
                    .map(line -> line.replaceFirst("#.*", "").trim().split("\\s+"))
                    .filter(words -> words.length > 1 && words[0].equals(service) && words[1].endsWith(protocol))
                    .mapToInt(words -> Integer.parseInt(words[1].substring(0, words[1].indexOf('/'))))
                    .findFirst()
                    .orElse(-1);
        } catch (IOException | NumberFormatException e) {
            return -1;
        }
    }

    private void write(List<InetSocketAddress> found, MemorySegment hints, boolean passive, long result) {
        List<NativeBlock> blocks = new ArrayList<>();
        long next = 0;
        for (InetSocketAddress each : found.reversed()) {
            NativeBlock block = new NativeBlock(rdma_addrinfo.sizeof() + 2L * ADDRESS_BYTES);
            blocks.add(block);
            MemorySegment info = Native.struct(block.address(), rdma_addrinfo.layout());
            int portSpace = portSpaceOf(hints);
            int type = rdma_addrinfo.ai_qp_type(hints);
            boolean datagrams = portSpace == rdma_h.RDMA_PS_UDP();
            rdma_addrinfo.ai_flags(info, passive ? rdma_h.RAI_PASSIVE() : 0);
            rdma_addrinfo.ai_family(
                    info,
                    each.getAddress() instanceof Inet4Address ? SocketAddresses.AF_INET : SocketAddresses.AF_INET6);
            rdma_addrinfo.ai_port_space(info, portSpace);
            rdma_addrinfo.ai_qp_type(info, type != 0 ? type : datagrams ? VerbsConstants.UD : VerbsConstants.RC);
            long first = block.address() + rdma_addrinfo.sizeof();
            SocketStructs.write(each, first);
            if (passive) {
                rdma_addrinfo.ai_src_addr(info, MemorySegment.ofAddress(first));
                rdma_addrinfo.ai_src_len(info, SocketAddresses.length(each));
            } else {
                rdma_addrinfo.ai_dst_addr(info, MemorySegment.ofAddress(first));
                rdma_addrinfo.ai_dst_len(info, SocketAddresses.length(each));
                int bytes = rdma_addrinfo.ai_src_len(hints);
                if (bytes > 0 && bytes <= ADDRESS_BYTES) {
                    long second = first + ADDRESS_BYTES;
                    Memory.copy(rdma_addrinfo.ai_src_addr(hints).address(), second, bytes);
                    rdma_addrinfo.ai_src_addr(info, MemorySegment.ofAddress(second));
                    rdma_addrinfo.ai_src_len(info, bytes);
                }
            }
            rdma_addrinfo.ai_next(info, MemorySegment.ofAddress(next));
            next = block.address();
        }
        lists.put(next, blocks);
        Memory.putLong(result, next);
    }

    void free(long first) {
        List<NativeBlock> blocks = lists.remove(first);
        if (blocks != null) {
            blocks.forEach(NativeBlock::free);
        }
    }
}
