package org.rdmapanama.samples.table;

import java.net.InetSocketAddress;
import org.rdmapanama.samples.Sockets;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** Reads where a server is. */
final class ServerAddress {
    private ServerAddress() {}

    /** Returns the address of {@code HOST[:PORT]}. */
    static InetSocketAddress of(String text, String defaultPort, CommandSpec spec) {
        int colon = Sockets.portColon(text);
        String host = colon > 0 ? text.substring(0, colon) : text;
        String port = colon > 0 ? text.substring(colon + 1) : defaultPort;
        if (!port.matches("\\d{1,5}") || !Sockets.isPort(Integer.parseInt(port))) {
            throw new ParameterException(
                    spec.commandLine(),
                    "the port of '" + text + "' must be between 1 and 65535: write HOST:PORT or [ADDRESS]:PORT");
        }
        return Sockets.resolve(host, Integer.parseInt(port));
    }
}
