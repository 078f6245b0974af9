package org.rdmapanama.samples.log;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.ConnectionRequest;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;

/** Waits for primaries that connect by RDMA. */
final class RdmaListener implements Listener {
    private static final Logger LOG = LogManager.getLogger(RdmaListener.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final LogFile file;
    private final Regions regions;
    private final RdmaServer server;

    RdmaListener(VerbsArena arena, LogFile file, InetSocketAddress address) {
        this.file = file;
        regions = new Regions(file.memory());
        server = RdmaServer.listen(arena, address);
    }

    @Override
    public InetSocketAddress localAddress() {
        return server.localAddress();
    }

    @Override
    public Optional<Caller> poll() throws InterruptedException {
        Optional<ConnectionRequest> request = server.awaitRequest(Duration.ZERO);
        if (request.isEmpty()) {
            return Optional.empty();
        }
        Optional<Greeting.Request> primary = Greeting.Request.of(request.get().privateData());
        if (primary.isEmpty()) {
            LOG.debug("{} is not from a primary", request.get());
            request.get().reject();
            return Optional.empty();
        }
        return Optional.of(new RdmaCaller(request.get(), primary.get()));
    }

    @Override
    public void pause(long nanos) {
        LockSupport.parkNanos(nanos);
    }

    @Override
    public void close() {
        server.close();
    }

    private final class RdmaCaller implements Caller {
        private final ConnectionRequest request;
        private final Greeting.Request primary;

        RdmaCaller(ConnectionRequest request, Greeting.Request primary) {
            this.request = request;
            this.primary = primary;
        }

        @Override
        public Greeting.Request request() {
            return primary;
        }

        @Override
        public void reject(Greeting.Rejection rejection) {
            request.reject(rejection.bytes());
        }

        @Override
        public Session accept() throws InterruptedException {
            Wire[] wire = new Wire[1];
            RdmaConnectionOptions options = new RdmaConnectionOptions()
                    .sendWorkRequests(2 * Wire.DEPTH)
                    .receiveWorkRequests(1)
                    .singleCompletionQueue(true)
                    .prepare(connection -> wire[0] = new Wire(connection))
                    .privateData(connection -> greet(regions.of(connection.protectionDomain())));
            request.accept(options, TIMEOUT);
            return new RdmaSession(file, regions, wire[0], primary);
        }

        private byte[] greet(MemoryRegion region) {
            return Greeting.Answer.of(file, region.address(), region.rkey()).bytes();
        }
    }
}
