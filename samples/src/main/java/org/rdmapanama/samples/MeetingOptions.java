package org.rdmapanama.samples;

import java.io.PrintWriter;
import java.net.InetSocketAddress;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** The options of serve and transfer that say how the two sides meet. */
final class MeetingOptions {
    /** Exactly one of the two options. */
    static final class Way {
        @Option(
                names = "--cm",
                required = true,
                description =
                        "Connect by address, through the connection manager, which finds the device by its address (the"
                                + " default).")
        boolean connectionManager;

        @Option(
                names = "--tcp",
                required = true,
                description = "Meet over TCP instead; give it on both sides. -d, -i, -g and -l need this option.")
        boolean tcp;
    }

    @ArgGroup(multiplicity = "0..1")
    private Way way;

    private boolean tcp() {
        return way != null && way.tcp;
    }

    /** Returns the meeting of a server that listens at an address, or at all addresses if it is null. */
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

    /** Returns the meeting of a client that connects to a host from a local address, or from any if that is null. */
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
