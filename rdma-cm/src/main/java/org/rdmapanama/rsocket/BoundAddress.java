package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.CmId;
import org.rdmapanama.cm.EventChannel;
import org.rdmapanama.cm.PortSpace;

/** An address that a channel has bound and not used yet. Threads: one at a time. */
final class BoundAddress {
    private final @Nullable InetSocketAddress address;
    private final EventChannel channel;
    private final CmId id;

    private BoundAddress(EventChannel channel, CmId id) {
        this.channel = channel;
        this.id = id;
        address = id.localAddress();
    }

    /**
     * Reserves an address.
     *
     * @throws java.net.BindException when it is in use, or does not belong to this host
     */
    static BoundAddress bind(InetSocketAddress local) throws IOException {
        EventChannel channel = EventChannel.create();
        try {
            CmId id = channel.createId(PortSpace.TCP);
            id.bind(local);
            return new BoundAddress(channel, id);
        } catch (VerbsException e) {
            channel.close();
            throw SocketErrors.binding(e, local);
        } catch (RuntimeException | Error e) {
            channel.close();
            throw e;
        }
    }

    @Nullable
    InetSocketAddress address() {
        return address;
    }

    /** Gives the address up, so that a connection can use it; returns it. */
    @Nullable
    InetSocketAddress release() {
        id.close();
        channel.close();
        return address;
    }
}
