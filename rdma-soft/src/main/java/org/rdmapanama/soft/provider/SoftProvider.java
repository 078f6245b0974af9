package org.rdmapanama.soft.provider;

import java.util.List;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.ProviderDevice;
import org.rdmapanama.soft.SoftDevice;
import org.rdmapanama.soft.connect.SoftConnectionManager;

/**
 * The provider of the device {@code soft0}, of which every process has its own: it joins the device with its connection
 * manager. The service loader of rdma-panama and
 * rdma-cm creates it; all methods may be called from any thread.
 */
public final class SoftProvider extends Provider {
    private static final ConnectionManager MANAGER = new SoftConnectionManager();

    /** Creates the provider, for the service loader. */
    public SoftProvider() {}

    @Override
    public List<ProviderDevice> devices() {
        return List.of(new ProviderDevice(
                this, SoftDevice.NAME, rdma_h.IBV_NODE_CA(), rdma_h.IBV_TRANSPORT_IB(), SoftDevice.GUID, -1, ""));
    }

    @Override
    public ProviderContext open(ProviderDevice device) {
        return SoftDevice.open();
    }

    @Override
    public ProviderContext at(long context) {
        return SoftDevice.contextAt(context);
    }

    @Override
    public ConnectionManager connectionManager() {
        return MANAGER;
    }
}
