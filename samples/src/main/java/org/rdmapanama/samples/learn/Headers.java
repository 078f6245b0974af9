package org.rdmapanama.samples.learn;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.rdmapanama.samples.CaptureFile;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.AtomicAckEth;
import org.rdmapanama.soft.wire.AtomicEth;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Deth;
import org.rdmapanama.soft.wire.Ieth;
import org.rdmapanama.soft.wire.ImmDt;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Reth;

/**
 * Shows the headers of the first packet of each kind, byte by byte, from IP on. On an Ethernet two MAC addresses and an EtherType
 * come before them.
 */
final class Headers {
    private static final int ROCE_PORT = 4791;
    private static final int CHECKSUM_BYTES = 4;

    /** So many bytes of data are shown. */
    private static final int MOST_DATA = 16;

    private static final HexFormat HEX = HexFormat.ofDelimiter(" ");

    private final Map<Integer, Board.End> ends;
    private final Set<Integer> shown = new TreeSet<>();
    private final StringBuilder text = new StringBuilder();

    /** Where the next field begins. */
    private long at;

    private Headers(Map<Integer, Board.End> ends) {
        this.ends = ends;
    }

    static String of(CaptureFile capture, Map<Integer, Board.End> ends) {
        Headers headers = new Headers(ends);
        capture.forEachInIp(headers::add);
        return headers.text.toString();
    }

    private void add(long ip, long packet, int bytes) {
        int opcode = Bth.opcode(packet);
        if (!ends.containsKey(Bth.destinationQueuePair(packet)) || !Opcode.isKnown(opcode) || !shown.add(opcode)) {
            return;
        }
        text.append('\n').append(Opcode.name(opcode)).append(", ").append(bytes).append(" bytes\n");
        at = ip;
        if (Memory.getByte(ip) >> 4 == 4) {
            ipv4();
        } else {
            ipv6();
        }
        udp();
        bth(opcode);
        if (Opcode.hasDeth(opcode)) {
            name("DETH, datagram extended transport header");
            long header = at;
            field(4, "Q_Key 0x%08x", Deth.qkey(header));
            field(1, "reserved");
            field(3, "from queue pair 0x%06x", Deth.sourceQueuePair(header));
        }
        if (Opcode.hasReth(opcode)) {
            name("RETH, RDMA extended transport header");
            long header = at;
            field(8, "address 0x%x in the memory of the peer", Reth.remoteAddress(header));
            field(4, "remote key 0x%08x", Reth.rkey(header));
            field(4, "%d bytes in all", Reth.length(header));
        }
        if (Opcode.hasAtomicEth(opcode)) {
            name("AtomicETH, atomic extended transport header");
            long header = at;
            field(8, "address 0x%x in the memory of the peer", AtomicEth.remoteAddress(header));
            field(4, "remote key 0x%08x", AtomicEth.rkey(header));
            field(8, "%d, to be added or stored", AtomicEth.swapOrAdd(header));
            field(8, "%d, to be compared", AtomicEth.compare(header));
        }
        if (Opcode.hasAeth(opcode)) {
            name("AETH, acknowledge extended transport header");
            long header = at;
            int syndrome = Aeth.syndrome(header);
            field(
                    1,
                    Aeth.isAck(syndrome) ? "acknowledged, credits code %d" : "not acknowledged, code %d",
                    Aeth.code(syndrome));
            field(3, "message number %d: so many requests were completed", Aeth.msn(header));
        }
        if (Opcode.hasAtomicAckEth(opcode)) {
            name("AtomicAckETH");
            field(8, "%d was there before", AtomicAckEth.original(at));
        }
        if (Opcode.hasImmediate(opcode)) {
            name("ImmDt");
            field(4, "immediate data %d", ImmDt.immediate(at));
        }
        if (Opcode.hasInvalidate(opcode)) {
            name("IETH, invalidate extended transport header");
            field(4, "remote key 0x%08x is invalid from now on", Ieth.rkey(at));
        }
        data((int) (ip + bytes - CHECKSUM_BYTES - at), Bth.pad(packet));
        name("ICRC, invariant CRC");
        field(CHECKSUM_BYTES, "CRC of all that routers do not change");
    }

    private void ipv4() {
        name("IPv4");
        int tos = Memory.getByte(at + 1) & 0xff;
        field(1, "version 4, header of 20 bytes");
        field(1, "DSCP %d, ECN %d (3: a router was congested)", tos >> 2, tos & 3);
        field(2, "%d bytes in all", unsigned(at));
        field(2, "identification %d", unsigned(at));
        field(2, unsigned(at) == 0x4000 ? "must not be fragmented" : "may be fragmented");
        field(1, "at most %d more routers", Memory.getByte(at) & 0xff);
        field(1, "protocol %d is UDP", Memory.getByte(at));
        field(2, "checksum of this header");
        field(4, "from %s", address(4));
        field(4, "to %s", address(4));
    }

    private void ipv6() {
        name("IPv6");
        field(4, "version 6, traffic class, flow label");
        field(2, "%d bytes follow this header", unsigned(at));
        field(1, "next header %d is UDP", Memory.getByte(at));
        field(1, "at most %d more routers", Memory.getByte(at) & 0xff);
        field(16, "from %s", address(16));
        field(16, "to %s", address(16));
    }

    private void udp() {
        name("UDP");
        field(2, "source port %d: routers with several paths choose one by it", unsigned(at));
        int port = unsigned(at);
        field(
                2,
                port == ROCE_PORT ? "destination port %d is RoCE v2" : "destination port %d: another soft0 has 4791",
                port);
        field(2, "%d bytes with this header", unsigned(at));
        field(2, unsigned(at) == 0 ? "no checksum: over IPv4, RoCE v2 has none" : "checksum");
    }

    private void bth(int opcode) {
        name("BTH, base transport header");
        long header = at;
        field(1, "operation %s", Opcode.name(opcode));
        field(
                1,
                "%ssolicited, %s, %d bytes of padding, version %d",
                Bth.solicited(header) ? "" : "not ",
                Bth.migrated(header) ? "path has migrated" : "path has not migrated",
                Bth.pad(header),
                Bth.version(header));
        field(2, "partition key 0x%04x", Bth.pkey(header));
        field(1, Bth.congested(header) ? "tells of congestion" : "tells of no congestion");
        field(3, "to queue pair 0x%06x", Bth.destinationQueuePair(header));
        field(1, Bth.ackRequest(header) ? "asks for an acknowledgement" : "asks for no acknowledgement");
        field(3, "packet sequence number 0x%06x", Bth.psn(header));
    }

    private void data(int bytes, int pad) {
        int data = bytes - pad;
        if (data > 0) {
            name("data");
            line(data, data + (data == 1 ? " byte" : " bytes"));
        }
        if (pad > 0) {
            field(pad, "padding to four bytes");
        }
    }

    private static int unsigned(long address) {
        return Memory.getNetShort(address) & 0xffff;
    }

    private String address(int bytes) {
        try {
            return InetAddress.getByAddress(bytes(bytes)).getHostAddress();
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    private byte[] bytes(int count) {
        byte[] bytes = new byte[count];
        for (int i = 0; i < count; i++) {
            bytes[i] = Memory.getByte(at + i);
        }
        return bytes;
    }

    private void name(String name) {
        text.append("  ").append(name).append('\n');
    }

    /** Adds the next field, with what it means. */
    private void field(int bytes, String meaning, Object... values) {
        line(bytes, String.format(Locale.ROOT, meaning, values));
    }

    private void line(int bytes, String meaning) {
        String shownBytes = HEX.formatHex(bytes(Math.min(bytes, MOST_DATA))) + (bytes > MOST_DATA ? " ..." : "");
        text.append(String.format(Locale.ROOT, "    %-24s  %s\n", shownBytes, meaning));
        at += bytes;
    }
}
