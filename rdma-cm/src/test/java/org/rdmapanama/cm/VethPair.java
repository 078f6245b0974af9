package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.ffm.Program;

/**
 * A wire of a test's own, a pair of veth interfaces with a device at either end, to be taken down and away. Its addresses
 * are routed over it as lab/guest-net does; without a route they are unreachable, as if each were on another machine.
 */
final class VethPair implements AutoCloseable {
    private static final AtomicInteger COUNT = new AtomicInteger();

    private static final String ADD = """
            ip -batch - <<END
            link add $left address 02:00:0a:4f:$hex:01 type veth peer name $right address 02:00:0a:4f:$hex:02
            END
            for interface in $left $right; do
                conf=/proc/sys/net/ipv4/conf/$interface
                echo 1 >$conf/accept_local
                echo 0 >$conf/rp_filter
                echo 1 >$conf/arp_ignore
                echo 2 >$conf/arp_announce
                echo 1 >/proc/sys/net/ipv6/conf/$interface/disable_ipv6
            done
            ip -batch - <<END
            link set $left up
            link set $right up
            addr add $net.1/32 dev $left
            addr add $net.2/32 dev $right
            route add unreachable $net.2 metric 999 table 2$number
            route add unreachable $net.1 metric 999 table 3$number
            END
            """;

    private static final String RULES = """
            ip -batch - <<END
            rule $verb pref 60 iif $left lookup local
            rule $verb pref 60 iif $right lookup local
            rule $verb pref 70 oif $left lookup 2$number
            rule $verb pref 70 oif $right lookup 3$number
            rule $verb pref 80 from $net.1 to $net.2 lookup 2$number
            rule $verb pref 80 from $net.2 to $net.1 lookup 3$number
            END
            """;

    /** They go with an interface that goes down. */
    private static final String ROUTES = """
            ip -batch - <<END
            route replace $net.2 dev $left src $net.1 table 2$number
            route replace $net.1 dev $right src $net.2 table 3$number
            neigh replace $net.2 dev $left lladdr 02:00:0a:4f:$hex:02 nud permanent
            neigh replace $net.1 dev $right lladdr 02:00:0a:4f:$hex:01 nud permanent
            END
            """;

    private static final String AWAIT_ACTIVE = """
            for try in $(seq 100); do
                ready=yes
                for device in $names; do
                    port=/sys/class/infiniband/$device/ports/1
                    # Without other programs, which take their time to start.
                    read -r state <$port/state && [[ $state = *ACTIVE* ]] || ready=no
                    [[ $device = siw_* ]] && continue
                    gids=
                    for index in 0 1; do
                        read -r gid 2>/dev/null <$port/gids/$index && gids+=" $gid"
                    done
                    [[ $gids = *:ffff:* ]] || ready=no
                done
                [ $ready = no ] || exit 0
                sleep 0.1
            done
            grep . /sys/class/infiniband/*/ports/1/{state,gids/[01]}
            exit 1
            """;

    private final String leftType;
    private final String rightType;
    private final int number = COUNT.getAndIncrement();
    final String left;
    final String right;

    private VethPair(String leftType, String rightType) {
        this.leftType = leftType;
        this.rightType = rightType;
        left = "wire" + number + "a";
        right = "wire" + number + "b";
    }

    /** Both ends are up, and a device of this type, {@code rxe} or {@code siw}, is active at either. */
    static VethPair add(String type) throws IOException {
        return add(type, type);
    }

    /** The same with a device of another type at the right end. */
    static VethPair add(String leftType, String rightType) throws IOException {
        VethPair wire = new VethPair(leftType, rightType);
        try {
            wire.run(ADD
                    + RULES.replace("$verb", "add")
                    + ROUTES
                    + addDevice(leftType, wire.left)
                    + addDevice(rightType, wire.right)
                    + AWAIT_ACTIVE);
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
        Program.run(
                "bash",
                "-ec",
                script.replace("$names", leftDevice() + " " + rightDevice())
                        .replace("$left", left)
                        .replace("$right", right)
                        .replace("$net", "10.79." + number)
                        .replace("$hex", "%02x".formatted(number))
                        .replace("2$number", Integer.toString(200 + number))
                        .replace("3$number", Integer.toString(300 + number)));
    }

    private static String addDevice(String type, String interfaceName) {
        return "rdma link add " + type + "_" + interfaceName + " type " + type + " netdev " + interfaceName + "\n";
    }

    String leftDevice() {
        return leftType + "_" + left;
    }

    String rightDevice() {
        return rightType + "_" + right;
    }

    /** An address of the left end, from which the tests connect. */
    InetSocketAddress left(int port) {
        return new InetSocketAddress("10.79." + number + ".1", port);
    }

    InetSocketAddress right(int port) {
        return new InetSocketAddress("10.79." + number + ".2", port);
    }

    /** Takes the left end down; the right one loses its carrier. */
    void down() throws IOException {
        run("ip link set $left down");
    }

    void up() throws IOException {
        run("ip link set $left up\n" + ROUTES + AWAIT_ACTIVE);
    }

    /** Brings a device back that was taken away, the left or the right one. */
    void addAgain(String interfaceName) throws IOException {
        run(addDevice(interfaceName.equals(left) ? leftType : rightType, interfaceName) + AWAIT_ACTIVE);
    }

    /** Begins to take a device away: that lasts until nobody has it open. */
    static Process remove(String device) throws IOException {
        return new ProcessBuilder("rdma", "link", "delete", device)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    /** Waits until a device is gone. */
    static void assertRemoved(Process removal) throws InterruptedException {
        assertTrue(removal.waitFor(30, TimeUnit.SECONDS), "somebody has the device open");
    }

    @Override
    public void close() throws IOException {
        for (Process removal : List.of(remove(leftDevice()), remove(rightDevice()))) {
            try {
                // librdmacm looks only when it is asked.
                for (int tries = 0; tries < 100 && !removal.waitFor(100, TimeUnit.MILLISECONDS); tries++) {
                    RdmaDevices.names();
                }
                assertRemoved(removal);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        run(RULES.replace("$verb", "delete") + "ip link delete $left");
    }
}
