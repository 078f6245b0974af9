package org.rdmapanama.samples;

import java.io.PrintWriter;
import java.net.InetSocketAddress;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** How the two sides of a transfer meet: what serve and transfer have in common. */
final class MeetingOptions {
    /** One of the two. */
    static final class Way {
        @Option(
                names = "--cm",
                required = true,
                description =
                        "Connect by address, through the connection manager: the address tells the device (this is"
                                + " the way unless --tcp is given).")
        boolean connectionManager;

        @Option(
                names = "--tcp",
                required = true,
                description = "Meet over TCP instead; both sides must say so. Only then -d, -i, -g and -l count.")
        boolean tcp;
    }

    @ArgGroup(multiplicity = "0..1")
    private Way way;

    private boolean tcp() {
        return way != null && way.tcp;
    }

    /** A server's, that listens at an address; null for all. */
    Meeting server(LinkOptions link, String address, PrintWriter out) {
        link.check();
        if (tcp()) {
            if (address != null) {
                throw link.wrong("with --tcp a server listens at all addresses: leave out '" + address + "'");
            }
            return new TcpMeeting(link, null, out);
        }
        return byAddress(link, address == null ? Addresses.WILDCARD : address, null, out);
    }

    /** A client's, that connects to a host from an address of this machine; null for any. */
    Meeting client(LinkOptions link, String host, String source, PrintWriter out) {
        link.check();
        if (tcp()) {
            if (source != null) {
                throw link.wrong("--source is for the connection manager: leave out --tcp, or give --device");
            }
            return new TcpMeeting(link, host, out);
        }
        return byAddress(link, host, source, out);
    }

    private static Meeting byAddress(LinkOptions link, String address, String source, PrintWriter out) {
        link.noDevice();
        InetSocketAddress local = source == null ? null : Addresses.resolve(source, 0);
        return new CmMeeting(Addresses.resolve(address, link.port()), local, link.timeout(), out, link::note);
    }
}
