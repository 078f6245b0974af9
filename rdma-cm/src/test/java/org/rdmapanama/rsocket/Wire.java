package org.rdmapanama.rsocket;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.Program;

/**
 * A wire of a test's own, a pair of veth interfaces with an RDMA device at either end, to be taken down. What goes from
 * one end to the other, over IPv4 or IPv6, crosses it, as on the wires of lab/guest-net.
 */
final class Wire implements AutoCloseable {
    private static final AtomicInteger COUNT = new AtomicInteger();

    private static final MethodHandle GET_DEVICES =
            NativeLibrary.RDMACM.downcall("rdma_get_devices", FunctionDescriptor.of(ADDRESS, ADDRESS));
    private static final MethodHandle FREE_DEVICES =
            NativeLibrary.RDMACM.downcall("rdma_free_devices", FunctionDescriptor.ofVoid(ADDRESS));

    private static final String ADD = """
            ip link add $left address 02:00:0a:50:$hex:01 type veth peer name $right address 02:00:0a:50:$hex:02
            for interface in $left $right; do
                conf=/proc/sys/net/ipv4/conf/$interface
                echo 1 >$conf/accept_local
                echo 0 >$conf/rp_filter
                echo 1 >$conf/arp_ignore
                echo 2 >$conf/arp_announce
                # Addresses of IPv6 stay when an interface goes down.
                echo 1 >/proc/sys/net/ipv6/conf/$interface/keep_addr_on_down
            done
            ip -batch - <<END
            link set $left up
            link set $right up
            addr add $four.1/32 dev $left
            addr add $four.2/32 dev $right
            addr add $six::1/128 dev $left nodad
            addr add $six::2/128 dev $right nodad
            END
            # The local addresses come later, as lab/guest-net does for IPv4.
            ip -6 rule add pref 100 lookup local
            ip -6 rule del pref 0
            """;

    private static final String RULES = """
            for family in "-4 $four." "-6 $six::"; do
                set -- $family
                ip $1 -batch - <<END
            rule $verb pref 62 iif $left lookup local
            rule $verb pref 62 iif $right lookup local
            rule $verb pref 72 oif $left lookup 4$number
            rule $verb pref 72 oif $right lookup 5$number
            rule $verb pref 82 from $21 to $22 lookup 4$number
            rule $verb pref 82 from $22 to $21 lookup 5$number
            END
            done
            """;

    /** They go with an interface that goes down. */
    private static final String ROUTES = """
            for family in "-4 $four." "-6 $six::"; do
                set -- $family
                ip $1 -batch - <<END
            route replace $22 dev $left src $21 table 4$number
            route replace $21 dev $right src $22 table 5$number
            neigh replace $22 dev $left lladdr 02:00:0a:50:$hex:02 nud permanent
            neigh replace $21 dev $right lladdr 02:00:0a:50:$hex:01 nud permanent
            END
            done
            """;

    /** Both ports are active, and the table of a Soft-RoCE device has both of its addresses. */
    private static final String DEVICES = """
            rdma link add $type_$left type $type netdev $left
            rdma link add $type_$right type $type netdev $right
            for try in $(seq 100); do
                ready=yes
                for device in $type_$left $type_$right; do
                    port=/sys/class/infiniband/$device/ports/1
                    grep -q ACTIVE $port/state || ready=no
                    [ $type = siw ] || { cat $port/gids/* 2>&1 | grep -q 0000:ffff: || ready=no; }
                    [ $type = siw ] || { cat $port/gids/* 2>&1 | grep -q fd50: || ready=no; }
                done
                [ $ready = no ] || exit 0
                sleep 0.1
            done
            exit 1
            """;

    private final String type;
    private final int number = COUNT.getAndIncrement();

    private Wire(String type) {
        this.type = type;
    }

    /** A wire with a device of this type, {@code rxe} or {@code siw}, at either end. */
    static Wire add(String type) throws IOException {
        Wire wire = new Wire(type);
        try {
            wire.run(ADD + RULES.replace("$verb", "add") + ROUTES + DEVICES);
            return wire;
        } catch (IOException | RuntimeException | Error e) {
            try {
                wire.close();
            } catch (IOException | RuntimeException | Error second) {
                e.addSuppressed(second);
            }
            throw e;
        }
    }

    private void run(String script) throws IOException {
        String filled = script.replace("$type", type)
                .replace("$left", "sock" + number + "a")
                .replace("$right", "sock" + number + "b")
                .replace("$four", "10.80." + number)
                .replace("$six", "fd50:" + number)
                .replace("$hex", "%02x".formatted(number))
                .replace("$21", "${2}1")
                .replace("$22", "${2}2")
                .replace("4$number", Integer.toString(400 + number))
                .replace("5$number", Integer.toString(500 + number));
        Program.run("bash", "-ec", filled);
    }

    String left() {
        return "10.80." + number + ".1";
    }

    InetSocketAddress right() {
        return Lab.freeAddress("10.80." + number + ".2");
    }

    String left6() {
        return "fd50:" + number + "::1";
    }

    InetSocketAddress right6() {
        return Lab.freeAddress("fd50:" + number + "::2");
    }

    /** Takes the left end down; the right one has no carrier then. */
    void down() throws IOException {
        run("ip link set $left down");
    }

    void up() throws IOException {
        run("ip link set $left up\n" + ROUTES);
    }

    @Override
    public void close() throws IOException {
        run("ip link set $left down\nip link set $right down");
        for (String end : new String[] {"a", "b"}) {
            remove(type + "_sock" + number + end);
        }
        run(RULES.replace("$verb", "del") + """
                ip link delete $left
                ip -6 rule add pref 0 lookup local
                ip -6 rule del pref 100
                """);
    }

    /** Removing a device waits until nobody has it open, and librdmacm closes one that is gone only when it lists all. */
    private static void remove(String device) throws IOException {
        Process removal =
                new ProcessBuilder("rdma", "link", "delete", device).inheritIO().start();
        try {
            for (int tries = 0; !removal.waitFor(100, TimeUnit.MILLISECONDS); tries++) {
                assertTrue(tries < 10 * Lab.SECONDS, "somebody still has " + device + " open");
                MemorySegment devices = (MemorySegment) GET_DEVICES.invokeExact(MemorySegment.NULL);
                if (devices.address() != 0) {
                    FREE_DEVICES.invokeExact(devices);
                }
            }
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IOException(e);
        }
    }
}
