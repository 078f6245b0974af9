package org.rdmapanama.flow;

import java.net.Inet4Address;
import java.net.Inet6Address;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.rdmapanama.address.MacAddress;
import org.rdmapanama.ffm.verbs.ibv_flow_esp_filter;
import org.rdmapanama.ffm.verbs.ibv_flow_eth_filter;
import org.rdmapanama.ffm.verbs.ibv_flow_gre_filter;
import org.rdmapanama.ffm.verbs.ibv_flow_ipv4_ext_filter;
import org.rdmapanama.ffm.verbs.ibv_flow_ipv4_filter;
import org.rdmapanama.ffm.verbs.ibv_flow_ipv6_filter;
import org.rdmapanama.ffm.verbs.ibv_flow_mpls_filter;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_esp;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_eth;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_gre;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_ipv4;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_ipv4_ext;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_ipv6;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_mpls;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_tcp_udp;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_tunnel;
import org.rdmapanama.ffm.verbs.ibv_flow_tcp_udp_filter;
import org.rdmapanama.ffm.verbs.ibv_flow_tunnel_filter;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * A filter for one header of a packet, {@code struct ibv_flow_spec_eth} and similar structures; see ibv_create_flow(3).
 *
 * <p>{@snippet :
 * FlowRule rule = new FlowRule(1)
 *         .add(FlowFilter.ethernet().destination(MacAddress.parse("66:11:22:33:44:55")))
 *         .add(FlowFilter.ipv4().source(network, netmask))
 *         .add(FlowFilter.udp().destinationPort(4791));
 * }
 *
 * <p>A field that is not set matches any value. A field that is set is compared as a whole, or only in the bits of a
 * mask; many devices support only whole fields. Numbers are converted to network byte order.
 *
 * <p>Threads: one at a time.
 */
public abstract sealed class FlowFilter implements FlowSpecification.Match {
    private static final HexFormat HEX = HexFormat.of();

    private final String name;
    private final int type;
    private final int valueOffset;
    private final int maskOffset;
    private final int size;
    private final byte[] value;
    private final byte[] mask;
    private final Map<String, String> texts = new LinkedHashMap<>();
    private boolean inner;

    private FlowFilter(String name, int type, long filterSize, long valueOffset, long maskOffset, long size) {
        this.name = name;
        this.type = type;
        this.valueOffset = (int) valueOffset;
        this.maskOffset = (int) maskOffset;
        this.size = (int) size;
        value = new byte[(int) filterSize];
        mask = new byte[(int) filterSize];
    }

    /** {@return a new filter for the Ethernet header, which matches every packet until a field is set} */
    public static Ethernet ethernet() {
        return new Ethernet();
    }

    /** {@return a new filter for the IPv4 addresses, which matches every IPv4 packet until a field is set} */
    public static Ipv4 ipv4() {
        return new Ipv4();
    }

    /**
     * {@return a new filter for more IPv4 fields than the addresses, which matches every IPv4 packet until a field is
     * set}
     */
    public static Ipv4Extended ipv4Extended() {
        return new Ipv4Extended();
    }

    /** {@return a new filter for the IPv6 header, which matches every IPv6 packet until a field is set} */
    public static Ipv6 ipv6() {
        return new Ipv6();
    }

    /** {@return a new filter for TCP, which matches every TCP segment until a field is set} */
    public static Ports tcp() {
        return new Ports("TCP", rdma_h.IBV_FLOW_SPEC_TCP());
    }

    /** {@return a new filter for UDP, which matches every UDP datagram until a field is set} */
    public static Ports udp() {
        return new Ports("UDP", rdma_h.IBV_FLOW_SPEC_UDP());
    }

    /**
     * {@return a new filter for ESP, the encrypted packets of IPsec, which matches every ESP packet until a field is
     * set}
     */
    public static Esp esp() {
        return new Esp();
    }

    /** {@return a new filter for VXLAN tunnels, which matches every VXLAN packet until a field is set} */
    public static Vxlan vxlan() {
        return new Vxlan();
    }

    /** {@return a new filter for GRE tunnels, which matches every GRE packet until a field is set} */
    public static Gre gre() {
        return new Gre();
    }

    /**
     * {@return a new filter for MPLS, which matches every MPLS packet until a field is set} Its position among the
     * specifications of a rule is its position among the headers.
     */
    public static Mpls mpls() {
        return new Mpls();
    }

    /**
     * Applies this filter to the headers inside a tunnel: {@code IBV_FLOW_SPEC_INNER}.
     *
     * @return this
     */
    public final FlowFilter inner() {
        inner = true;
        return this;
    }

    private void put(String field, long offset, byte[] wanted, byte[] bits) {
        for (int i = 0; i < wanted.length; i++) {
            if ((wanted[i] & ~bits[i]) != 0) {
                throw new IllegalArgumentException(field + " must not have bits outside its mask " + HEX.formatHex(bits)
                        + ": " + HEX.formatHex(wanted));
            }
        }
        System.arraycopy(wanted, 0, value, (int) offset, wanted.length);
        System.arraycopy(bits, 0, mask, (int) offset, bits.length);
        texts.put(field, HEX.formatHex(wanted) + "/" + HEX.formatHex(bits));
    }

    private static byte[] bytes(String field, long number, int size) {
        long max = (1L << (size * Byte.SIZE)) - 1;
        if (number < 0 || number > max) {
            throw new IllegalArgumentException(field + " must be between 0 and " + max + ": " + number);
        }
        byte[] bytes = new byte[size];
        ByteBuffer.allocate(Long.BYTES).putLong(0, number).get(Long.BYTES - size, bytes);
        return bytes;
    }

    final void put8(String field, long offset, int number, int bits) {
        put(field, offset, bytes(field, number, Byte.BYTES), bytes("mask of " + field, bits, Byte.BYTES));
    }

    final void put16(String field, long offset, int number, int bits) {
        put(field, offset, bytes(field, number, Short.BYTES), bytes("mask of " + field, bits, Short.BYTES));
    }

    /** All values of an int are allowed. */
    final void put32(String field, long offset, int number, int bits) {
        put(
                field,
                offset,
                bytes(field, Integer.toUnsignedLong(number), Integer.BYTES),
                bytes(field, Integer.toUnsignedLong(bits), Integer.BYTES));
    }

    static int checked(String field, int number, int max) {
        if (number < 0 || number > max) {
            throw new IllegalArgumentException(field + " must be between 0 and " + max + ": " + number);
        }
        return number;
    }

    final void putBytes(String field, long offset, byte[] wanted, byte[] bits) {
        put(field, offset, wanted, bits);
    }

    private static byte[] allOf(byte[] bytes) {
        byte[] all = new byte[bytes.length];
        Arrays.fill(all, (byte) -1);
        return all;
    }

    /** The C constant of this kind of filter. */
    final int type() {
        return inner ? type | rdma_h.IBV_FLOW_SPEC_INNER() : type;
    }

    /** The structure with only the values, such as {@code struct ibv_flow_eth_filter}. */
    final byte[] value() {
        return value.clone();
    }

    /** Writes kind, size, values and masks, such as {@code struct ibv_flow_spec_eth}. */
    final void write(ByteBuffer specification) {
        FlowRule.header(specification, type(), size);
        specification.put(valueOffset, value).put(maskOffset, mask);
    }

    final int size() {
        return size;
    }

    /** The header and the fields that are compared, in hexadecimal digits, each with its mask. */
    @Override
    public final String toString() {
        StringBuilder text = new StringBuilder(inner ? "inner " : "").append(name);
        texts.forEach(
                (field, bytes) -> text.append(' ').append(field).append(' ').append(bytes));
        return text.toString();
    }

    /** Ethernet, {@code struct ibv_flow_eth_filter}. */
    public static final class Ethernet extends FlowFilter {
        private Ethernet() {
            super(
                    "Ethernet",
                    rdma_h.IBV_FLOW_SPEC_ETH(),
                    ibv_flow_eth_filter.sizeof(),
                    ibv_flow_spec_eth.val$offset(),
                    ibv_flow_spec_eth.mask$offset(),
                    ibv_flow_spec_eth.sizeof());
        }

        /**
         * Compares the destination address of frames.
         *
         * @param wanted the address
         * @return this
         * @throws NullPointerException when it is null
         */
        public Ethernet destination(MacAddress wanted) {
            return destination(wanted, MacAddress.BROADCAST);
        }

        /**
         * Compares the destination address of frames. Compares only the bits of the mask.
         *
         * @param wanted the address
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         * @throws NullPointerException when one of them is null
         */
        public Ethernet destination(MacAddress wanted, MacAddress mask) {
            putBytes("destination", ibv_flow_eth_filter.dst_mac$offset(), wanted.toBytes(), mask.toBytes());
            return this;
        }

        /**
         * Compares the source address of frames.
         *
         * @param wanted the address
         * @return this
         * @throws NullPointerException when it is null
         */
        public Ethernet source(MacAddress wanted) {
            return source(wanted, MacAddress.BROADCAST);
        }

        /**
         * Compares the source address of frames. Compares only the bits of the mask.
         *
         * @param wanted the address
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         * @throws NullPointerException when one of them is null
         */
        public Ethernet source(MacAddress wanted, MacAddress mask) {
            putBytes("source", ibv_flow_eth_filter.src_mac$offset(), wanted.toBytes(), mask.toBytes());
            return this;
        }

        /**
         * Compares the EtherType after the last tag.
         *
         * @param wanted 16 bits, such as 0x0800 for IPv4
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ethernet etherType(int wanted) {
            return etherType(wanted, 0xffff);
        }

        /**
         * Compares the EtherType after the last tag. Compares only the bits of the mask.
         *
         * @param wanted 16 bits, such as 0x0800 for IPv4
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ethernet etherType(int wanted, int mask) {
            put16("etherType", ibv_flow_eth_filter.ether_type$offset(), wanted, mask);
            return this;
        }

        /**
         * Compares the tag of the virtual LAN.
         *
         * @param wanted 16 bits: priority 3, drop eligible 1, identifier 12
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ethernet vlanTag(int wanted) {
            return vlanTag(wanted, 0xffff);
        }

        /**
         * Compares the tag of the virtual LAN. Compares only the bits of the mask.
         *
         * @param wanted 16 bits: priority 3, drop eligible 1, identifier 12
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ethernet vlanTag(int wanted, int mask) {
            put16("vlanTag", ibv_flow_eth_filter.vlan_tag$offset(), wanted, mask);
            return this;
        }
    }

    /** The addresses of IPv4, {@code struct ibv_flow_ipv4_filter}. */
    public static final class Ipv4 extends FlowFilter {
        private Ipv4() {
            super(
                    "IPv4",
                    rdma_h.IBV_FLOW_SPEC_IPV4(),
                    ibv_flow_ipv4_filter.sizeof(),
                    ibv_flow_spec_ipv4.val$offset(),
                    ibv_flow_spec_ipv4.mask$offset(),
                    ibv_flow_spec_ipv4.sizeof());
        }

        /**
         * Compares the source address.
         *
         * @param wanted the address
         * @return this
         * @throws NullPointerException when it is null
         */
        public Ipv4 source(Inet4Address wanted) {
            byte[] address = wanted.getAddress();
            putBytes("source", ibv_flow_ipv4_filter.src_ip$offset(), address, allOf(address));
            return this;
        }

        /**
         * Compares the source address. Compares only the bits of the mask.
         *
         * @param wanted the address
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         * @throws NullPointerException when one of them is null
         */
        public Ipv4 source(Inet4Address wanted, Inet4Address mask) {
            putBytes("source", ibv_flow_ipv4_filter.src_ip$offset(), wanted.getAddress(), mask.getAddress());
            return this;
        }

        /**
         * Compares the destination address.
         *
         * @param wanted the address
         * @return this
         * @throws NullPointerException when it is null
         */
        public Ipv4 destination(Inet4Address wanted) {
            byte[] address = wanted.getAddress();
            putBytes("destination", ibv_flow_ipv4_filter.dst_ip$offset(), address, allOf(address));
            return this;
        }

        /**
         * Compares the destination address. Compares only the bits of the mask.
         *
         * @param wanted the address
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         * @throws NullPointerException when one of them is null
         */
        public Ipv4 destination(Inet4Address wanted, Inet4Address mask) {
            putBytes("destination", ibv_flow_ipv4_filter.dst_ip$offset(), wanted.getAddress(), mask.getAddress());
            return this;
        }
    }

    /** IPv4, {@code struct ibv_flow_ipv4_ext_filter}. */
    public static final class Ipv4Extended extends FlowFilter {
        private Ipv4Extended() {
            super(
                    "IPv4",
                    rdma_h.IBV_FLOW_SPEC_IPV4_EXT(),
                    ibv_flow_ipv4_ext_filter.sizeof(),
                    ibv_flow_spec_ipv4_ext.val$offset(),
                    ibv_flow_spec_ipv4_ext.mask$offset(),
                    ibv_flow_spec_ipv4_ext.sizeof());
        }

        /**
         * Compares the source address.
         *
         * @param wanted the address
         * @return this
         * @throws NullPointerException when it is null
         */
        public Ipv4Extended source(Inet4Address wanted) {
            byte[] address = wanted.getAddress();
            putBytes("source", ibv_flow_ipv4_ext_filter.src_ip$offset(), address, allOf(address));
            return this;
        }

        /**
         * Compares the source address. Compares only the bits of the mask.
         *
         * @param wanted the address
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         * @throws NullPointerException when one of them is null
         */
        public Ipv4Extended source(Inet4Address wanted, Inet4Address mask) {
            putBytes("source", ibv_flow_ipv4_ext_filter.src_ip$offset(), wanted.getAddress(), mask.getAddress());
            return this;
        }

        /**
         * Compares the destination address.
         *
         * @param wanted the address
         * @return this
         * @throws NullPointerException when it is null
         */
        public Ipv4Extended destination(Inet4Address wanted) {
            byte[] address = wanted.getAddress();
            putBytes("destination", ibv_flow_ipv4_ext_filter.dst_ip$offset(), address, allOf(address));
            return this;
        }

        /**
         * Compares the destination address. Compares only the bits of the mask.
         *
         * @param wanted the address
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         * @throws NullPointerException when one of them is null
         */
        public Ipv4Extended destination(Inet4Address wanted, Inet4Address mask) {
            putBytes("destination", ibv_flow_ipv4_ext_filter.dst_ip$offset(), wanted.getAddress(), mask.getAddress());
            return this;
        }

        /**
         * Compares the protocol of the payload.
         *
         * @param wanted 8 bits, such as 17 for UDP
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ipv4Extended protocol(int wanted) {
            return protocol(wanted, 0xff);
        }

        /**
         * Compares the protocol of the payload. Compares only the bits of the mask.
         *
         * @param wanted 8 bits, such as 17 for UDP
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ipv4Extended protocol(int wanted, int mask) {
            put8("protocol", ibv_flow_ipv4_ext_filter.proto$offset(), wanted, mask);
            return this;
        }

        /**
         * Compares the type of service: DSCP and ECN.
         *
         * @param wanted 8 bits
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ipv4Extended typeOfService(int wanted) {
            return typeOfService(wanted, 0xff);
        }

        /**
         * Compares the type of service: DSCP and ECN. Compares only the bits of the mask.
         *
         * @param wanted 8 bits
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ipv4Extended typeOfService(int wanted, int mask) {
            put8("typeOfService", ibv_flow_ipv4_ext_filter.tos$offset(), wanted, mask);
            return this;
        }

        /**
         * Compares the number of routers that packets may still pass.
         *
         * @param wanted 8 bits
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ipv4Extended timeToLive(int wanted) {
            return timeToLive(wanted, 0xff);
        }

        /**
         * Compares the number of routers that packets may still pass. Compares only the bits of the mask.
         *
         * @param wanted 8 bits
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ipv4Extended timeToLive(int wanted, int mask) {
            put8("timeToLive", ibv_flow_ipv4_ext_filter.ttl$offset(), wanted, mask);
            return this;
        }

        /**
         * Compares the fragmentation flags.
         *
         * @param wanted 2 for packets that must not be fragmented, 4 if more fragments follow
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ipv4Extended flags(int wanted) {
            return flags(wanted, 0xff);
        }

        /**
         * Compares the fragmentation flags. Compares only the bits of the mask.
         *
         * @param wanted 2 for packets that must not be fragmented, 4 if more fragments follow
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ipv4Extended flags(int wanted, int mask) {
            put8("flags", ibv_flow_ipv4_ext_filter.flags$offset(), wanted, mask);
            return this;
        }
    }

    /** IPv6, {@code struct ibv_flow_ipv6_filter}. */
    public static final class Ipv6 extends FlowFilter {
        private Ipv6() {
            super(
                    "IPv6",
                    rdma_h.IBV_FLOW_SPEC_IPV6(),
                    ibv_flow_ipv6_filter.sizeof(),
                    ibv_flow_spec_ipv6.val$offset(),
                    ibv_flow_spec_ipv6.mask$offset(),
                    ibv_flow_spec_ipv6.sizeof());
        }

        /**
         * Compares the source address.
         *
         * @param wanted the address
         * @return this
         * @throws NullPointerException when it is null
         */
        public Ipv6 source(Inet6Address wanted) {
            byte[] address = wanted.getAddress();
            putBytes("source", ibv_flow_ipv6_filter.src_ip$offset(), address, allOf(address));
            return this;
        }

        /**
         * Compares the source address. Compares only the bits of the mask.
         *
         * @param wanted the address
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         * @throws NullPointerException when one of them is null
         */
        public Ipv6 source(Inet6Address wanted, Inet6Address mask) {
            putBytes("source", ibv_flow_ipv6_filter.src_ip$offset(), wanted.getAddress(), mask.getAddress());
            return this;
        }

        /**
         * Compares the destination address.
         *
         * @param wanted the address
         * @return this
         * @throws NullPointerException when it is null
         */
        public Ipv6 destination(Inet6Address wanted) {
            byte[] address = wanted.getAddress();
            putBytes("destination", ibv_flow_ipv6_filter.dst_ip$offset(), address, allOf(address));
            return this;
        }

        /**
         * Compares the destination address. Compares only the bits of the mask.
         *
         * @param wanted the address
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         * @throws NullPointerException when one of them is null
         */
        public Ipv6 destination(Inet6Address wanted, Inet6Address mask) {
            putBytes("destination", ibv_flow_ipv6_filter.dst_ip$offset(), wanted.getAddress(), mask.getAddress());
            return this;
        }

        /**
         * Compares the flow label.
         *
         * @param wanted 20 bits
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ipv6 flowLabel(int wanted) {
            return flowLabel(wanted, 0xf_ffff);
        }

        /**
         * Compares the flow label. Compares only the bits of the mask.
         *
         * @param wanted 20 bits
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ipv6 flowLabel(int wanted, int mask) {
            put32(
                    "flowLabel",
                    ibv_flow_ipv6_filter.flow_label$offset(),
                    checked("flowLabel", wanted, 0xf_ffff),
                    checked("mask of flowLabel", mask, 0xf_ffff));
            return this;
        }

        /**
         * Compares the protocol of the payload.
         *
         * @param wanted 8 bits, such as 17 for UDP
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ipv6 nextHeader(int wanted) {
            return nextHeader(wanted, 0xff);
        }

        /**
         * Compares the protocol of the payload. Compares only the bits of the mask.
         *
         * @param wanted 8 bits, such as 17 for UDP
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ipv6 nextHeader(int wanted, int mask) {
            put8("nextHeader", ibv_flow_ipv6_filter.next_hdr$offset(), wanted, mask);
            return this;
        }

        /**
         * Compares the traffic class: DSCP and ECN.
         *
         * @param wanted 8 bits
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ipv6 trafficClass(int wanted) {
            return trafficClass(wanted, 0xff);
        }

        /**
         * Compares the traffic class: DSCP and ECN. Compares only the bits of the mask.
         *
         * @param wanted 8 bits
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ipv6 trafficClass(int wanted, int mask) {
            put8("trafficClass", ibv_flow_ipv6_filter.traffic_class$offset(), wanted, mask);
            return this;
        }

        /**
         * Compares the number of routers that packets may still pass.
         *
         * @param wanted 8 bits
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ipv6 hopLimit(int wanted) {
            return hopLimit(wanted, 0xff);
        }

        /**
         * Compares the number of routers that packets may still pass. Compares only the bits of the mask.
         *
         * @param wanted 8 bits
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ipv6 hopLimit(int wanted, int mask) {
            put8("hopLimit", ibv_flow_ipv6_filter.hop_limit$offset(), wanted, mask);
            return this;
        }
    }

    /** TCP or UDP, {@code struct ibv_flow_tcp_udp_filter}. */
    public static final class Ports extends FlowFilter {
        private Ports(String name, int type) {
            super(
                    name,
                    type,
                    ibv_flow_tcp_udp_filter.sizeof(),
                    ibv_flow_spec_tcp_udp.val$offset(),
                    ibv_flow_spec_tcp_udp.mask$offset(),
                    ibv_flow_spec_tcp_udp.sizeof());
        }

        /**
         * Compares the destination port.
         *
         * @param wanted 0 to 65535
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ports destinationPort(int wanted) {
            return destinationPort(wanted, 0xffff);
        }

        /**
         * Compares the destination port. Compares only the bits of the mask.
         *
         * @param wanted 0 to 65535
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ports destinationPort(int wanted, int mask) {
            put16("destinationPort", ibv_flow_tcp_udp_filter.dst_port$offset(), wanted, mask);
            return this;
        }

        /**
         * Compares the source port.
         *
         * @param wanted 0 to 65535
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Ports sourcePort(int wanted) {
            return sourcePort(wanted, 0xffff);
        }

        /**
         * Compares the source port. Compares only the bits of the mask.
         *
         * @param wanted 0 to 65535
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Ports sourcePort(int wanted, int mask) {
            put16("sourcePort", ibv_flow_tcp_udp_filter.src_port$offset(), wanted, mask);
            return this;
        }
    }

    /** ESP, {@code struct ibv_flow_esp_filter}. */
    public static final class Esp extends FlowFilter {
        private Esp() {
            super(
                    "ESP",
                    rdma_h.IBV_FLOW_SPEC_ESP(),
                    ibv_flow_esp_filter.sizeof(),
                    ibv_flow_spec_esp.val$offset(),
                    ibv_flow_spec_esp.mask$offset(),
                    ibv_flow_spec_esp.sizeof());
        }

        /**
         * Compares the index of security parameters.
         *
         * @param wanted 32 bits
         * @return this
         */
        public Esp securityParametersIndex(int wanted) {
            return securityParametersIndex(wanted, -1);
        }

        /**
         * Compares the index of security parameters. Compares only the bits of the mask.
         *
         * @param wanted 32 bits
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         */
        public Esp securityParametersIndex(int wanted, int mask) {
            put32("securityParametersIndex", ibv_flow_esp_filter.spi$offset(), wanted, mask);
            return this;
        }

        /**
         * Compares the sequence number.
         *
         * @param wanted 32 bits
         * @return this
         */
        public Esp sequence(int wanted) {
            return sequence(wanted, -1);
        }

        /**
         * Compares the sequence number. Compares only the bits of the mask.
         *
         * @param wanted 32 bits
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         */
        public Esp sequence(int wanted, int mask) {
            put32("sequence", ibv_flow_esp_filter.seq$offset(), wanted, mask);
            return this;
        }
    }

    /** VXLAN, {@code struct ibv_flow_tunnel_filter}. */
    public static final class Vxlan extends FlowFilter {
        private Vxlan() {
            super(
                    "VXLAN",
                    rdma_h.IBV_FLOW_SPEC_VXLAN_TUNNEL(),
                    ibv_flow_tunnel_filter.sizeof(),
                    ibv_flow_spec_tunnel.val$offset(),
                    ibv_flow_spec_tunnel.mask$offset(),
                    ibv_flow_spec_tunnel.sizeof());
        }

        /**
         * Compares the identifier of the virtual network.
         *
         * @param wanted 24 bits
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Vxlan networkIdentifier(int wanted) {
            return networkIdentifier(wanted, 0xff_ffff);
        }

        /**
         * Compares the identifier of the virtual network. Compares only the bits of the mask.
         *
         * @param wanted 24 bits
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Vxlan networkIdentifier(int wanted, int mask) {
            put32(
                    "networkIdentifier",
                    ibv_flow_tunnel_filter.tunnel_id$offset(),
                    checked("networkIdentifier", wanted, 0xff_ffff),
                    checked("mask of networkIdentifier", mask, 0xff_ffff));
            return this;
        }
    }

    /** GRE, {@code struct ibv_flow_gre_filter}. */
    public static final class Gre extends FlowFilter {
        private Gre() {
            super(
                    "GRE",
                    rdma_h.IBV_FLOW_SPEC_GRE(),
                    ibv_flow_gre_filter.sizeof(),
                    ibv_flow_spec_gre.val$offset(),
                    ibv_flow_spec_gre.mask$offset(),
                    ibv_flow_spec_gre.sizeof());
        }

        /**
         * Compares the first 16 bits of the header.
         *
         * @param wanted 0x8000 with a checksum, 0x2000 with a key, 0x1000 with a sequence number, and the version
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Gre flagsAndVersion(int wanted) {
            return flagsAndVersion(wanted, 0xffff);
        }

        /**
         * Compares the first 16 bits of the header. Compares only the bits of the mask.
         *
         * @param wanted 0x8000 with a checksum, 0x2000 with a key, 0x1000 with a sequence number, and the version
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Gre flagsAndVersion(int wanted, int mask) {
            put16("flagsAndVersion", ibv_flow_gre_filter.c_ks_res0_ver$offset(), wanted, mask);
            return this;
        }

        /**
         * Compares the protocol of the payload.
         *
         * @param wanted 16 bits, an EtherType such as 0x0800 for IPv4
         * @return this
         * @throws IllegalArgumentException when it is out of range
         */
        public Gre protocol(int wanted) {
            return protocol(wanted, 0xffff);
        }

        /**
         * Compares the protocol of the payload. Compares only the bits of the mask.
         *
         * @param wanted 16 bits, an EtherType such as 0x0800 for IPv4
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask, or one of them is out of range
         */
        public Gre protocol(int wanted, int mask) {
            put16("protocol", ibv_flow_gre_filter.protocol$offset(), wanted, mask);
            return this;
        }

        /**
         * Compares the key.
         *
         * @param wanted 32 bits
         * @return this
         */
        public Gre key(int wanted) {
            return key(wanted, -1);
        }

        /**
         * Compares the key. Compares only the bits of the mask.
         *
         * @param wanted 32 bits
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         */
        public Gre key(int wanted, int mask) {
            put32("key", ibv_flow_gre_filter.key$offset(), wanted, mask);
            return this;
        }
    }

    /** MPLS, {@code struct ibv_flow_mpls_filter}. */
    public static final class Mpls extends FlowFilter {
        private Mpls() {
            super(
                    "MPLS",
                    rdma_h.IBV_FLOW_SPEC_MPLS(),
                    ibv_flow_mpls_filter.sizeof(),
                    ibv_flow_spec_mpls.val$offset(),
                    ibv_flow_spec_mpls.mask$offset(),
                    ibv_flow_spec_mpls.sizeof());
        }

        /**
         * Compares the whole entry of the label stack.
         *
         * @param wanted 32 bits: label 20, traffic class 3, bottom of stack 1, time to live 8
         * @return this
         */
        public Mpls entry(int wanted) {
            return entry(wanted, -1);
        }

        /**
         * Compares the whole entry of the label stack. Compares only the bits of the mask.
         *
         * @param wanted 32 bits: label 20, traffic class 3, bottom of stack 1, time to live 8
         * @param mask the bits to compare
         * @return this
         * @throws IllegalArgumentException when the value has bits outside the mask
         */
        public Mpls entry(int wanted, int mask) {
            put32("entry", ibv_flow_mpls_filter.label$offset(), wanted, mask);
            return this;
        }
    }
}
