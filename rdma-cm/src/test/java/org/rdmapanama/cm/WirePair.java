package org.rdmapanama.cm;

import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * Two more Soft-RoCE devices, rxe7 with 10.78.0.1 and rxe8 with 10.78.0.2, on a wire of their own, to be taken down and
 * away. The routes are as in lab/guest-net.
 */
final class WirePair implements AutoCloseable {
    private WirePair() {}

    static WirePair add() throws IOException {
        WirePair pair = new WirePair();
        try {
            bash("""
                    ip link add wire7 address 02:00:0a:4e:00:01 type veth peer name wire8 address 02:00:0a:4e:00:02
                    for interface in wire7 wire8; do
                        conf=/proc/sys/net/ipv4/conf/$interface
                        echo 1 >$conf/accept_local
                        echo 0 >$conf/rp_filter
                        echo 1 >$conf/arp_ignore
                        echo 2 >$conf/arp_announce
                        ip link set $interface up
                    done
                    ip addr add 10.78.0.1/24 dev wire7
                    ip addr add 10.78.0.2/24 dev wire8
                    ip route del 10.78.0.0/24 dev wire8
                    ip rule add pref 12 iif wire7 lookup local
                    ip rule add pref 13 iif wire8 lookup local
                    ip rule add pref 24 oif wire7 lookup 107
                    ip rule add pref 25 oif wire8 lookup 108
                    ip rule add pref 26 from 10.78.0.1 to 10.78.0.2 lookup 107
                    ip rule add pref 27 from 10.78.0.2 to 10.78.0.1 lookup 108
                    """);
            routes();
            bash("""
                    rdma link add rxe7 type rxe netdev wire7
                    rdma link add rxe8 type rxe netdev wire8
                    for try in $(seq 100); do
                        grep -q :ffff: /sys/class/infiniband/rxe7/ports/1/gids/1 &&
                            grep -q :ffff: /sys/class/infiniband/rxe8/ports/1/gids/1 &&
                            exit 0
                        sleep 0.1
                    done
                    exit 1
                    """);
            return pair;
        } catch (IOException | RuntimeException | Error e) {
            pair.close();
            throw e;
        }
    }

    private static void bash(String script) throws IOException {
        Rping.run("bash", "-ec", script);
    }

    /** They go with a link that is down. */
    private static void routes() throws IOException {
        bash("""
                ip route replace 10.78.0.2 dev wire7 src 10.78.0.1 table 107
                ip route replace 10.78.0.1 dev wire8 src 10.78.0.2 table 108
                ip neigh replace 10.78.0.2 dev wire7 lladdr 02:00:0a:4e:00:02 nud permanent
                ip neigh replace 10.78.0.1 dev wire8 lladdr 02:00:0a:4e:00:01 nud permanent
                """);
    }

    static InetSocketAddress first(int port) {
        return new InetSocketAddress("10.78.0.1", port);
    }

    static InetSocketAddress second(int port) {
        return new InetSocketAddress("10.78.0.2", port);
    }

    void down() throws IOException {
        bash("ip link set wire7 down");
    }

    void up() throws IOException {
        bash("ip link set wire7 up");
        routes();
    }

    /** Takes rxe7 away, which lasts until nobody has it open. */
    Process remove() throws IOException {
        return new ProcessBuilder("rdma", "link", "delete", "rxe7").inheritIO().start();
    }

    @Override
    public void close() throws IOException {
        bash("""
                set +e
                for name in rxe7 rxe8; do
                    timeout -s KILL 20 rdma link delete $name
                done
                ip link delete wire7
                for pref in 12 13 24 25 26 27; do
                    ip rule del pref $pref
                done
                exit 0
                """);
    }
}
