package org.rdmapanama.samples.log;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.rdmapanama.VerbsArena;

/** What carries records from a primary to its replicas: all nodes of a log need the same. */
enum LogTransport {
    RDMA {
        @Override
        Connector connector(VerbsArena arena, LogFile file) {
            return new RdmaConnector(arena, file);
        }

        @Override
        Listener listen(VerbsArena arena, LogFile file, InetSocketAddress address) {
            return new RdmaListener(arena, file, address);
        }
    },
    TCP {
        @Override
        Connector connector(VerbsArena arena, LogFile file) {
            return new TcpConnector(file);
        }

        @Override
        Listener listen(VerbsArena arena, LogFile file, InetSocketAddress address) throws IOException {
            return TcpListener.listen(file, address);
        }
    };

    /** For a primary. */
    abstract Connector connector(VerbsArena arena, LogFile file);

    /** For a replica. */
    abstract Listener listen(VerbsArena arena, LogFile file, InetSocketAddress address) throws IOException;

    static LogTransport of(boolean tcp) {
        return tcp ? TCP : RDMA;
    }
}
